/* ucontext.c - the same two shapes with glibc's swapcontext, each context on a stack of 16 KiB. */
#include "cbody.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES ((size_t)16 << 10)

struct ring {
	ucontext_t home, *member;
	char *stacks;
	int64_t members, laps;
};

static struct ring ring;

/* Passes the turn to the next member; the last one of the last lap goes home. */
static void member_main(int index)
{
	ucontext_t *self = &ring.member[index];
	ucontext_t *next = &ring.member[(index + 1) % ring.members];

	for (int64_t lap = 1; lap < ring.laps; lap++)
		swapcontext(self, next);
	swapcontext(self, index + 1 < ring.members ? next : &ring.home);
}

static int ring_open(int64_t members, int64_t laps)
{
	ring.members = members;
	ring.laps = laps;
	ring.member = calloc((size_t)members, sizeof *ring.member);
	ring.stacks = mmap(NULL, (size_t)members * STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!ring.member || ring.stacks == MAP_FAILED)
		return CORO_ENOMEM;
	for (int64_t i = 0; i < members; i++) {
		ucontext_t *m = &ring.member[i];
		getcontext(m);
		m->uc_stack.ss_sp = ring.stacks + (size_t)i * STACK_BYTES;
		m->uc_stack.ss_size = STACK_BYTES;
		m->uc_link = &ring.home;
		makecontext(m, (void (*)(void))member_main, 1, (int)i);
	}
	return CORO_OK;
}

static void ring_close(void)
{
	munmap(ring.stacks, (size_t)ring.members * STACK_BYTES);
	free(ring.member);
}

int64_t cb_ucontext_ring(int64_t members, int64_t laps)
{
	int status = ring_open(members, laps);
	if (status != CORO_OK)
		return status;
	int64_t start = cb_now_ns();
	swapcontext(&ring.home, &ring.member[0]);
	int64_t ns = cb_now_ns() - start;
	ring_close();
	return ns;
}

/* A pair is the caller and one other that always answers. */
static ucontext_t caller, other;

static void answer(void)
{
	for (;;)
		swapcontext(&other, &caller);
}

int64_t cb_ucontext_pair(int64_t round_trips)
{
	char *stack = malloc(STACK_BYTES);
	if (!stack)
		return CORO_ENOMEM;
	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = STACK_BYTES;
	other.uc_link = NULL;
	makecontext(&other, answer, 0);

	int64_t start = cb_now_ns();
	for (int64_t i = 0; i < round_trips; i++)
		swapcontext(&caller, &other);
	int64_t ns = cb_now_ns() - start;
	free(stack);
	return ns;
}
