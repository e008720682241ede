/*
 * world.h - the explored copy of the core, and what scenarios are made of.
 */
#ifndef EXPLORE_WORLD_H
#define EXPLORE_WORLD_H

#include "engine.h"

#include "kernel/idle.h"
#include "kernel/inbox.h"
#include "border/lend.h"
#include "kernel/life.h"
#include "kernel/run.h"
#include "kernel/wait.h"

/* The scheduler, and its workers w0, w1, ... A worker whose bit is in the scenario's `raw` has no
 * thread of its own: a thread of the scenario plays its part, after world_be. */
extern struct coro_scheduler *sched;
struct coroi_worker *world_worker(unsigned id);
extern const char *const world_names[]; /* of the workers' threads */
void world_be(unsigned id);

/* world_alloc - memory of the arena. NULL: the arena is full, or world_refuses is set. */
extern bool world_refuses;
void *world_alloc(size_t bytes, size_t align);
unsigned world_worker_thread(void *(*fn)(void *), void *arg);

/* world_stack - a stack of the world, or of a thread, is watched from now on. world_stacks - the
 * live parts of all watched stacks, where the threads stand at the n contexts sp.
 * world_stacks_begin - no context is suspended on any of them. */
#define WORLD_CLEANED 4096 /* bytes of a stack that are cleared before a context begins there */
void world_stack(void *low, void *top);
void world_stacks(const void *const *sp, unsigned n, void (*add)(const void *sp, const void *top));
void world_stacks_begin(void);

/* world_region - memory of the scenario, which each schedule finds as setup left it. */
void world_region(void *p, size_t bytes);

/* world_record - a runnable record that w owns, whose handle is known. During setup. */
struct coroi_rec *world_record(struct coroi_worker *w);

/* world_record_of - the record of a runnable from a queue. NULL: the queue was empty. */
static inline struct coroi_rec *world_record_of(uint64_t runnable)
{
	return runnable ? coroi_runnable_record(runnable) : NULL;
}

/* world_steal - w steals from v, as steal.c does it. True: w has got something. world_nap - w
 * sleeps until it is claimed, as idle.c does it. */
bool world_steal(struct coroi_worker *w, struct coroi_worker *v);
void world_nap(struct coroi_worker *w);

/* world_run_raw - w, which has no thread of its own, runs what it has queued: each coroutine adds 1
 * to ran[n], n its argument, and ends. */
void world_run_raw(struct coroi_worker *w, unsigned *ran);

/* world_collect - collect the credit of w, as inspect.c does it. */
void world_collect(struct coroi_worker *w);

/* world_sleep - a worker counts as awake no longer, as idle.c does it: the last one reports the
 * rest. */
static inline void world_sleep(void)
{
	coroi_tokens_given_back(sched, coroi_awake_end(sched));
}

/* world_pushing - before (true) and after (false) everything that brings work from outside. What
 * lies in an inbox in between comes later than a rest. */
void world_pushing(bool begins);

/* world_spawn - a thread outside spawns a coroutine, which calls fn with n. */
static inline void world_spawn(coro_fn fn, uint64_t n)
{
	world_pushing(true);
	EX_CHECK(coro_scheduler_spawn(sched, NULL, fn, &n, sizeof n, NULL) == CORO_OK);
	world_pushing(false);
}

/* world_bell - 1: the bell has rung since the word was last 0. Its waiter sleeps on the word. */
extern uint32_t world_bell;

/* The kernel's side of descriptors (stand_io.c). Their numbers are 1 to WORLD_DESCRIPTORS. Each of
 * these calls is one step.
 * world_descriptor - the kernel gives the number to a new descriptor of that kind (sysio.h), to
 * which nothing has come, and which takes no more bytes.
 * world_comes - a peer sends n bytes, each of that value; and closes its end, or resets it. */
enum world_end { WORLD_OPEN, WORLD_FIN, WORLD_RESET };
#define WORLD_DESCRIPTORS 2
void world_descriptor(int fd, int kind);
void world_comes(int fd, unsigned n, char value, enum world_end end);

/* world_share - the number is given to another name of the open file description that `of` names.
 * Both are blocking. During setup. world_blocks - are they? Without a step. */
void world_share(int fd, int of);
bool world_blocks(int fd);

/* What is known of a descriptor, without a step: the bytes that nobody has read; the sets in which
 * the descriptor is; how often it was closed. world_await_close - wait for the first close. */
unsigned world_unread(int fd);
unsigned world_sets_of(int fd);
void world_await_close(int fd);

/* world_mode_regions - part of world_io_regions: the table of descriptors that were blocking. */
void world_mode_regions(void);

/* world_io_regions - all of this is put back before each schedule. To be called during setup. */
void world_io_regions(void);

/* Bits of ex_reached that stand_io.c reaches: a thread that slept in a set had an event, or was
 * woken by the bell alone; one that looked into a set without waiting had an event. */
enum { WORLD_SLEPT = 29, WORLD_RUNG = 30, WORLD_POLLED = 31 };

/* world_lend_regions - what lend.c keeps for a thread is put back before each schedule. All threads
 * share it: it is a hint. */
void world_lend_regions(void);

/* world_select_regions - the random numbers of select.c begin as setup left them. */
void world_select_regions(void);

/* world_ask_regions - there are WORLD_QUESTIONS questions for those who ask actors, and all that is
 * known of these is put back before each schedule. To be called during setup. */
#define WORLD_QUESTIONS 3
void world_ask_regions(void);

/* world_buffers - there are so many free buffers of the smallest class: some in hand of the first
 * worker, and the others in the depot, which is put back before each schedule. To be called during
 * setup. world_check_buffers - each descriptor lies in one list, or its buffer is not free, and the
 * counts are right. outside: a list of a thread's own; NULL: none. */
struct coroi_free_buffers;
void world_buffers(coro_scheduler *s, unsigned descriptors, unsigned in_hand);
void world_check_buffers(coro_scheduler *s, const struct coroi_free_buffers *outside);

/* world_chunks - what slab.c knows of the chunks that are there is put back before each schedule,
 * too. To be called during setup. */
void world_chunks(void);

/* world_asleep - during setup: all workers sleep. Each worker of the mask gets a thread that
 * sleeps, and then does what workers do, without spinning before it has found something. */
void world_asleep(unsigned mask);

extern const struct ex_scenario *const scenarios_door[];
extern const struct ex_scenario *const scenarios_idle[];
extern const struct ex_scenario *const scenarios_run[];
extern const struct ex_scenario *const scenarios_batch[];
extern const struct ex_scenario *const scenarios_wait[];
extern const struct ex_scenario *const scenarios_call[];
extern const struct ex_scenario *const scenarios_credit[];
extern const struct ex_scenario *const scenarios_lend[];
extern const struct ex_scenario *const scenarios_lent[];
extern const struct ex_scenario *const scenarios_fd[];
extern const struct ex_scenario *const scenarios_fd_select[];
extern const struct ex_scenario *const scenarios_stream[];
extern const struct ex_scenario *const scenarios_buffer[];
extern const struct ex_scenario *const scenarios_set[];
extern const struct ex_scenario *const scenarios_host[];
extern const struct ex_scenario *const scenarios_box[];
extern const struct ex_scenario *const scenarios_home[];
extern const struct ex_scenario *const scenarios_ask[];
extern const struct ex_scenario *const scenarios_later[];
extern const struct ex_scenario *const scenarios_many[];
extern const struct ex_scenario *const scenarios_fork[];

#endif
