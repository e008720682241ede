/*
 * t_sanitize.c - the sanitizers see inside coroutines: each finds a fault that is planted there.
 * Other builds have nothing to test.
 */
#include "test.h"

#include "base/atomics.h"
#include "base/sanitize.h"
#include "base/sys.h"

#include <string.h>
#include <unistd.h>

/* expect - wrong(), in a process of its own, makes a sanitizer print `what`. */
__attribute__((unused)) static void expect(void (*wrong)(void), const char *what)
{
	static char text[1 << 16];
	int fd;
	pid_t child = child_start(&fd);

	if (child == 0) {
		alarm(60);
		wrong();
		_exit(0);
	}
	child_end(child, fd, text, sizeof text);
	CHECK(strstr(text, what));
}

__attribute__((unused)) static void run_with(uint32_t workers, coro_fn a, coro_fn b)
{
	coro_scheduler *s = start_with(workers, 0);
	spawn(s, a, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	spawn(s, b, NULL, 0);
	finish(s);
}

#ifdef COROI_TSAN
static uint64_t raced, here;

/* Two coroutines on two threads at once, in no order: the flag is relaxed. */
static void races(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_add_fetch(&here, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&here, __ATOMIC_RELAXED) < 2)
		;
	for (int i = 0; i < 1000; i++) {
		raced++;
		__asm__ volatile("" ::: "memory");
	}
}

static void starts_races(void *arg, void *result)
{
	(void)arg;
	(void)result;
	spawn_in(races, NULL, 0);
	spawn_in(races, NULL, 0);
}

static void nothing(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

static void race(void)
{
	run_with(2, starts_races, nothing);
}

TEST(sanitize_sees_a_race_of_two_coroutines)
{
	expect(race, "data race");
}

/* The same on one worker is no race: the two take turns. */
static void takes_turns(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 1000; i++) {
		raced++;
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

static void starts_turns(void *arg, void *result)
{
	(void)arg;
	(void)result;
	spawn_in(takes_turns, NULL, 0);
	spawn_in(takes_turns, NULL, 0);
}

TEST(sanitize_sees_that_one_worker_has_no_races)
{
	run_with(1, starts_turns, takes_turns);
}
#endif

#ifdef COROI_ASAN
static void overruns(void *arg, void *result)
{
	char frame[32];
	char *volatile at = frame; /* so that no compiler sees where the pointer goes */

	(void)arg;
	(void)result;
	CHECK_EQ(coro_yield(), CORO_OK);
	at[sizeof frame] = 1;
}

static void overrun(void)
{
	run_with(1, overruns, overruns);
}

TEST(sanitize_sees_an_overrun_on_a_stack)
{
	expect(overrun, "stack-buffer-overflow");
}

static void overruns_arena(void *arg, void *result)
{
	size_t bytes = *(uint64_t *)arg;
	char *p = coro_malloc(bytes), *after = coro_malloc(bytes);

	(void)result;
	CHECK(p && after);
	memset(p, 1, bytes);
	memset(after, 1, bytes);
	at_store_rlx(&p[bytes], 1);
}

static uint64_t arena_bytes;

static void overrun_arena(void)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, overruns_arena, &arena_bytes, sizeof arena_bytes);
	finish(s);
}

/* Two pieces of one block, and large ones, which have blocks of their own. */
TEST(sanitize_sees_an_overrun_in_an_arena)
{
	for (arena_bytes = 16; arena_bytes <= 4096; arena_bytes *= 4)
		expect(overrun_arena, "use-after-poison");
}

/* What is mapped where a stack was has none of that stack's frames. */
TEST(sanitize_forgets_the_frames_of_what_is_unmapped)
{
	size_t bytes = 1 << 20;
	char *low = coroi_map(bytes, 0, "test");

	CHECK(low);
	__asan_poison_memory_region(low + 4096, 4096);
	CHECK(__asan_region_is_poisoned(low, bytes));
	coroi_unmap(low, bytes);
	CHECK(!__asan_region_is_poisoned(low, bytes));
}
#endif

#ifdef COROI_VALGRIND
static void fills(void *arg, void *result)
{
	volatile char frame[2048];

	(void)arg;
	(void)result;
	for (size_t i = 0; i < sizeof frame; i++)
		frame[i] = 1;
}

static unsigned char undefined; /* bits of one byte */

static void looks(void *arg, void *result)
{
	volatile char frame[2048];

	(void)arg;
	(void)result;
	VALGRIND_GET_VBITS(&frame[1024], &undefined, 1);
}

/* Bytes that the last user of a stack has left are undefined for the next. */
TEST(sanitize_sees_what_was_never_written)
{
	run_with(1, fills, looks);
	CHECK_EQ(undefined, 0xff);
}
#endif
