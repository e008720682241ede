/*
 * test.h - a small harness: tests register themselves, and each runs in a process of its own under
 * a time limit.
 *
 *   TEST(name)           a test; it passes if it returns and no CHECK failed
 *   CHECK(condition)     from any thread or coroutine: report where, and end the process
 *   CHECK_EQ(got, want)  the same for two integers; both are reported
 */
#ifndef TEST_H
#define TEST_H

#include "coro.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sanitize.h"

/* SANITIZED - frames are larger, and everything takes longer. */
#if defined(COROI_ASAN) || defined(COROI_TSAN)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
/* FIBERS - every suspended coroutine is a fiber of ThreadSanitizer. Many at once are very slow. */
#ifdef COROI_TSAN
#define FIBERS 1
#else
#define FIBERS 0
#endif

struct test {
	const char *name;
	void (*run)(void);
	unsigned seconds; /* time limit; 0: the default */
	struct test *next;
};

/* test_context - what the test is trying, for the message of a failure; or NULL. */
extern const char *test_context;

void test_register(struct test *t);
void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

#define TEST_LIMIT(id, limit)                                                      \
	static void id(void);                                                      \
	__attribute__((constructor)) static void register_##id(void)               \
	{                                                                          \
		static struct test t = {.name = #id, .run = id, .seconds = limit}; \
		test_register(&t);                                                 \
	}                                                                          \
	static void id(void)
#define TEST(id) TEST_LIMIT(id, 0)

#define CHECK(condition) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_EQ(got, want)                                                                    \
	do {                                                                                   \
		long long got_ = (long long)(got), want_ = (long long)(want);                  \
		if (got_ != want_)                                                             \
			test_fail(__FILE__, __LINE__, "%s is %lld, not %s (%lld)", #got, got_, \
				  #want, want_);                                               \
	} while (0)

/* scaled - the size of a stress test: n times CORO_TEST_SCALE, an eighth of that under a sanitizer;
 * at least 1. */
uint64_t scaled(uint64_t n);

/* delays - in the build for stress tests: the mean number of the core's atomic operations between
 * two random delays. DELAYED - this is that build. */
void delays(uint32_t every);
#ifdef COROI_STRESS
#define DELAYED 1
#else
#define DELAYED 0
#endif
#define DELAYS_USUAL 2000

/* report - print a line of figures. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* rnd - the next random number (xorshift64*). *state is the seed, not 0. */
uint64_t rnd(uint64_t *state);

/* child_start - fork; *fd reads what the child (0) writes to stderr. child_end - wait for the
 * child's end; its text, and its status. */
pid_t child_start(int *fd);
int child_end(pid_t pid, int fd, char *text, size_t bytes);

/* add_to - add; any thread; returns the sum. add_one - add 1. seen - the sum by now. */
uint64_t add_to(uint64_t *n, uint64_t by);
uint64_t add_one(uint64_t *n);
uint64_t seen(const uint64_t *n);

/* sleep_until_seen - put the thread to sleep, again and again, until *n has come to `least`. */
void sleep_until_seen(const uint64_t *n, uint64_t least);

uint64_t now_ns(void);
void sleep_us(unsigned us);
void thread_start(pthread_t *t, void *(*fn)(void *), void *arg);
void thread_join(pthread_t t);

/* pattern_across - call wait over n words of the stack with a pattern, and check the pattern
 * afterwards. Returns what wait returned. */
int pattern_across(unsigned words, uint64_t seed, int (*wait)(void));

#define MS UINT64_C(1000000)

/* -------------------------------------------------------------------- schedulers and coroutines */

/* STACK - bytes of a stack for a body of ordinary depth. Frames of a sanitizer's build are
 * larger. */
#define STACK ((size_t)(SANITIZED ? 128 << 10 : 16 << 10))

/* options - n workers, flags, and stacks of STACK bytes. */
coro_options options(uint32_t workers, uint32_t flags);

/* options_capped - options with a cap of n stacks: each costs its class and a guard page. */
coro_options options_capped(uint32_t workers, size_t stacks);
coro_scheduler *start(const coro_options *o);
coro_scheduler *start_with(uint32_t workers, uint32_t flags);

/* start_on_this_cpu - one worker, on the CPU that the caller's thread is on, and stays on from now
 * on. */
coro_scheduler *start_on_this_cpu(void);

/* JOINABLE - attributes of a joinable coroutine with a result of n bytes. */
#define JOINABLE(bytes) \
	(&(coro_attr){.size = sizeof(coro_attr), .flags = CORO_JOINABLE, .result_bytes = (bytes)})

/* spawn - from outside; it succeeds. spawn_in - the same from inside. */
void spawn(coro_scheduler *s, coro_fn fn, const void *arg, size_t arg_bytes);
void spawn_in(coro_fn fn, const void *arg, size_t arg_bytes);

/* never - the function of a coroutine that must not start. */
void never(void *arg, void *result);

/* run_alone - spawn fn in s, wait until nothing is left to do, and finish s. */
void run_alone(coro_scheduler *s, const coro_attr *attr, coro_fn fn);

/* channel - a channel of values of n bytes; it succeeds. */
coro_chan *channel(size_t bytes, size_t capacity);

/* on - attributes of a pinned coroutine: worker number + 1, CORO_HERE or CORO_ANYWHERE. */
coro_attr on(uint32_t worker);

/* until_waiting - return when n coroutines of s wait. */
void until_waiting(coro_scheduler *s, size_t n);

coro_stats stats(coro_scheduler *s);

/* finish - s comes to its end (in service mode: wait for it). As many coroutines have ended as were
 * spawned, and nobody holds a record or a stack. Then destroy s. */
void finish(coro_scheduler *s);

/* ------------------------------------------------------------------ faults (linked with --wrap) */

/* How many calls succeed before one fails, once; negative: none fails. */
extern _Thread_local int fail_alloc, fail_map, fail_guard;
/* Where the next chunk is mapped; NULL: anywhere. */
extern _Thread_local void *map_at;
extern int fail_thread;

/* The blocks for dense coroutines: fail_block of them are granted, then fail_blocks are refused.
 * fail_meanwhile, unless NULL, is called at each refusal. */
extern _Thread_local int fail_block, fail_blocks;
extern _Thread_local void (*fail_meanwhile)(void);

/* look_up_instead - unless NULL, what a look-up of a name does in the place of getaddrinfo, whose
 * result it returns. */
extern int (*look_up_instead)(const char *node);

/* meanwhile, unless NULL, is called when a coroutine spins before it waits. */
extern void (*meanwhile)(void);

#endif
