/*
 * bti.c - the arm64 switch where indirect jumps must land on pads. The program uses no library: an
 * executable is guarded only if all objects in it are marked, and those of C libraries seldom are.
 */
#include "base/switch.h"

#define ROUNDS 1000

static char stack[16384] __attribute__((aligned(16)));
static void *outside, *inside;
static intptr_t sum;

/* The core's public calls look like this: they end in a tail call of the switch. */
static COROI_NOINLINE int give(intptr_t value)
{
	return coroi_swap(&inside, outside, value);
}

static COROI_NOINLINE int take(intptr_t value)
{
	return coroi_swap(&outside, inside, value);
}

static void body(intptr_t value)
{
	uint32_t door = 1;

	for (int i = 0; i < ROUNDS; i++)
		value = give(value + 1);
	coroi_jump(outside, door + 6, &door);
}

static void again(intptr_t value)
{
	coroi_restart(coroi_context(stack + sizeof stack, body), value);
}

static __attribute__((noreturn)) void leave(long status)
{
	register long x0 __asm__("x0") = status;
	register long x8 __asm__("x8") = 93; /* exit */
	__asm__ volatile("svc #0" : : "r"(x0), "r"(x8));
	__builtin_unreachable();
}

void *memset(void *p, int c, size_t n);
void *memset(void *p, int c, size_t n)
{
	for (char *at = p; n--;)
		*at++ = (char)c;
	return p;
}

void _start(void);
void _start(void)
{
	inside = coroi_context(stack + sizeof stack, again);
	for (int i = 0; i < ROUNDS; i++)
		sum += take(i);
	leave(sum == (intptr_t)ROUNDS * (ROUNDS + 1) / 2 && take(0) == 7 ? 0 : 1);
}
