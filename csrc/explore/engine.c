/*
 * engine.c - runs one schedule: decides which thread goes on.
 *
 * Each modelled thread is a manual coroutine of the ordinary library, not of the explored copy.
 * Before each operation that others can notice, the thread asks point() whether it may go on.
 * Before it waits, it asks give_way() which thread goes on instead. The answer is given by the path
 * of choices (depth first), or drawn by lot (random).
 *
 * The bound. Each of these events costs one. A schedule has at most `bound` of them:
 *
 *   1  a thread is left that could go on. Which of its stores stay in its buffer is part of the
 *      same event
 *   2  stores that a thread left in its buffer reach memory while another thread runs
 *   3  a thread that waits, or ends, keeps stores in its buffer
 *   4  a time-out ends while another thread can go on
 *
 * Everything else is free: which thread goes on when one waits or ends, and whether a spinning
 * thread gives way or spins to the end of its loop. Kept stores reach memory without cost when no
 * thread could go on otherwise.
 *
 * A random schedule is of one of two kinds. By lot: a thread is left at a step with a probability
 * drawn for the schedule. By rank (after Burckhardt et al., "A Randomized Scheduler with
 * Probabilistic Guarantees of Finding Bugs", ASPLOS 2010): each thread has a rank, and the thread
 * of the highest rank that can go on does. At up to four steps the running thread becomes the last,
 * and then stays away for long.
 */
#include "schedule.h"

#include "states.h"

#include "base/manual.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MOST     4000 /* of one schedule */
#define OPTIONS_MOST   250
#define OVERTAKEN_MOST 2
#define FALLS_MOST     4
#define FALL_STEPS     256
#define BEGIN_CLEANED  4096 /* bytes of each stack, at the beginning of a schedule */

static const char *const state_names[] = {
	"ready", "spins",    "sleeps", "waits for a lock", "waits for a condition",
	"joins", "has ended"};

/* What may happen next. */
struct option {
	enum { GO_ON, SWITCH, FLUSH, SPIN } kind;
	uint8_t thread, mask, cost;
};

int ex_mutant;
struct outcome *outcome;

const struct plan *plan;
struct thread threads[EX_THREADS];
unsigned thread_count;
struct thread *cur;
bool active;
unsigned steps;

static bool over, failed;
static bool keeps_states; /* the states that the search comes to are noted */
static bool seen;         /* everything from here on has been explored */
static bool asks;         /* the running thread asks whether that is so */
static unsigned next_thread;
static unsigned spent, depth;
static uint64_t lot;
static uint64_t rarely; /* mask: a random schedule leaves a thread once in rarely + 1 steps */
static bool by_rank;
static unsigned falls[FALLS_MOST]; /* steps at which the running thread gets the last rank */
static void **own[EX_OWN];         /* see engine.h */
static jmp_buf hub;
static bool in_thread;
static struct option options[OPTIONS_MOST];
static unsigned option_count;

/* ---------------------------------------------------------------------------------- reports */

void say_it(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vprintf(format, list);
	va_end(list);
}

const char *name_of(const void *p)
{
	static char name[64];
	ex_world.name(p, name, sizeof name);
	return name;
}

void ex_fail(const char *format, ...)
{
	va_list list;

	if (!failed) {
		va_start(list, format);
		vsnprintf(outcome->message, sizeof outcome->message, format, list);
		va_end(list);
	}
	failed = over = true;
	if (!in_thread)
		longjmp(hub, 1);
	for (;;)
		coro_yield_value(0, NULL);
}

void ex_reached(unsigned bit)
{
	outcome->reached |= 1u << bit;
}

unsigned ex_self(void)
{
	return (unsigned)(cur - threads);
}

/* ---------------------------------------------------------------------------------- choices */

static uint64_t draw(void)
{
	lot ^= lot >> 12;
	lot ^= lot << 25;
	lot ^= lot >> 27;
	return lot * UINT64_C(0x2545f4914f6cdd1d);
}

static unsigned choose(unsigned of)
{
	if (plan->random)
		return of < 2 ? 0 : (unsigned)((draw() >> 33) % of);
	if (depth == PATH_MOST)
		ex_fail("more than %d choices", PATH_MOST);
	struct choice *c = &outcome->path[depth++];
	if (depth > outcome->choices) {
		*c = (struct choice){0, (uint8_t)of};
		outcome->choices = depth;
	} else if (c->of == 0) { /* the path was given by hand, without the numbers of options */
		c->of = (uint8_t)of;
	}
	if (c->of != of || c->taken >= of)
		ex_fail("not the same run again: choice %u is of %u, and was of %u", depth - 1, of,
			c->of);
	return c->taken;
}

/* goes_on - at a decision: something behind it may be unexplored. */
static bool goes_on(void)
{
	seen = over = state_decides(state_now(), depth, plan->bound - spent);
	return !seen;
}

/* The stack below the caller holds what earlier calls left there. Cleared, it is the same in equal
 * states: later calls find zeros where they leave variables uninitialised. */
#define CLEANED 512
typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));

__attribute__((noinline)) void ex_clean(void)
{
	volatile pair *end;

	if (!keeps_states)
		return;
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %0" : "=r"(end));
#else
	__asm__ volatile("mov %0, sp" : "=r"(end));
#endif
	for (volatile pair *p = end - CLEANED / sizeof *p; p < end; p++)
		*p = (pair){0, 0};
#if defined(__x86_64__) /* compilers push one of these to align the stack */
	__asm__ volatile("xorl %%eax, %%eax\n\txorl %%ecx, %%ecx\n\txorl %%edx, %%edx\n\t"
			 "xorl %%esi, %%esi\n\txorl %%edi, %%edi\n\t"
			 "xorl %%r8d, %%r8d\n\txorl %%r9d, %%r9d\n\t"
			 "xorl %%r10d, %%r10d\n\txorl %%r11d, %%r11d" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
				   "cc");
#endif
}

/* ask - before a new decision. If everything behind it has been explored, ask does not return: the
 * rest of the schedule is left out. The state is hashed while no thread runs, so that all registers
 * lie on the stacks. The options depend on the preemptions that are left, which no state may tell:
 * they are listed in calls of their own, and the stack where those ran is cleared. */
static void ask(void)
{
	if (!keeps_states || option_count < 2 || (depth < outcome->choices && !plan->follow))
		return;
	if (in_thread) {
		ex_clean();
		asks = true;
		coro_yield_value(0, NULL);
	} else if (!goes_on()) {
		longjmp(hub, 1);
	}
}

static void add(int kind, const struct thread *t, unsigned mask, unsigned cost)
{
	if (option_count == OPTIONS_MOST)
		ex_fail("more than %d options", OPTIONS_MOST);
	options[option_count++] = (struct option){kind, (uint8_t)(t - threads), (uint8_t)mask,
						  (uint8_t)cost};
}

static bool may_pay(void)
{
	return plan->random || spent < plan->bound;
}

/* -------------------------------------------------------------------- which thread goes on */

/* sees_more - a word has changed that t has read in the loop in which it spins. */
static bool sees_more(const struct thread *t)
{
	for (unsigned i = 0; i < t->recents && i < RECENT; i++)
		if (get(t->recent[i].p, t->recent[i].bytes) != t->recent[i].value)
			return true;
	return false;
}

static bool can_go_on(const struct thread *t)
{
	switch (t->state) {
	case READY:
		return true;
	case SPINS:
		return sees_more(t);
	case LOCKED_OUT:
		return !held(t->on);
	case JOINS:
		return ((const struct thread *)t->on)->state == DONE;
	default:
		return false;
	}
}

static bool has_timeout(const struct thread *t)
{
	return t->state == SLEEPS && t->timed;
}

/* hand_over - t goes on instead of cur, whose stores of the mask reach memory. */
static void hand_over(struct thread *t, unsigned mask)
{
	leave_view();
	settle(cur, mask);
	next_thread = (unsigned)(t - threads);
	if (t != cur)
		say("-----  %s\n", t->name);
}

/* let - t was chosen: it is ready. */
static void let(struct thread *t)
{
	if (t->state == SPINS && !sees_more(t)) { /* no other thread could: time passes */
		t->spinning = true;
		t->spins = 0;
	}
	t->overtaken = 0;
	t->state = READY;
}

void suspend(void)
{
	if (over || &threads[next_thread] != cur)
		coro_yield_value(0, NULL);
	else
		apply(cur);
}

/* option_by_rank - of all options, one of the thread of the highest rank. */
static unsigned option_by_rank(void)
{
	unsigned high = 0, n = 0;

	for (unsigned i = 0; i < option_count; i++)
		if (threads[options[i].thread].rank > high)
			high = threads[options[i].thread].rank;
	unsigned best = 0;
	for (unsigned i = 0; i < option_count; i++)
		if (threads[options[i].thread].rank == high && draw() % ++n == 0)
			best = i;
	return best;
}

/* leaves_by_lot - a random schedule leaves the running thread here. */
static bool leaves_by_lot(struct thread *me)
{
	if (!by_rank)
		return (draw() >> 40 & rarely) == 0;
	for (unsigned i = 0; i < FALLS_MOST; i++)
		if (falls[i] == steps)
			me->rank = FALLS_MOST - i;
	for (struct thread *t = threads; t < threads + thread_count; t++)
		if (t->rank > me->rank && can_go_on(t))
			return true;
	return false;
}

/* list_ways_on - how the schedule may go on where the running thread could. */
__attribute__((noinline)) static void list_ways_on(const struct thread *me)
{
	option_count = 0;
	add(GO_ON, me, 0, 0);
	for (struct thread *t = threads; t < threads + thread_count; t++) {
		if (t == me)
			continue;
		if (can_go_on(t) || has_timeout(t))
			for (unsigned mask = 0; mask <= all_of(me); mask++)
				if (may_keep(me, mask))
					add(SWITCH, t, mask, 1);
		for (unsigned mask = 1; t->kept && mask <= all_of(t); mask++)
			if (may_keep(t, mask))
				add(FLUSH, t, mask, 1);
	}
}

static void decide(void)
{
	struct thread *me = cur;

	steps++;
	if (steps > STEPS_MOST)
		ex_fail("does not end");
	if (plan->random ? !leaves_by_lot(me) : spent >= plan->bound)
		return;
	if (!plan->random && !plan->follow && depth < outcome->choices &&
	    !outcome->path[depth].taken) {
		depth++; /* as in the last schedule: the thread goes on */
		return;
	}
	list_ways_on(me);
	ask();
	struct option o = options[by_rank ? option_by_rank() : choose(option_count)];
	spent += o.cost;
	if (o.kind == SWITCH) {
		hand_over(&threads[o.thread], o.mask);
		let(&threads[o.thread]);
		suspend();
	} else if (o.kind == FLUSH) {
		leave_view();
		settle(&threads[o.thread], o.mask);
		apply(me);
	}
}

void point(void)
{
	decide();
	ex_clean();
}

static bool waits_for_time(const struct thread *t)
{
	return has_timeout(t) || (t->state == SPINS && !t->stuck);
}

/* pass_time - only time lets threads go on: sleeps end, and loops. The order is open, but no thread
 * is overtaken more than OVERTAKEN_MOST times. */
static void pass_time(void)
{
	leave_view();
	for (struct thread *t = threads; t < threads + thread_count; t++)
		settle(t, all_of(t));
	for (struct thread *t = threads; t < threads + thread_count; t++)
		if (can_go_on(t))
			add(SWITCH, t, 0, 0);
	if (option_count)
		return;
	unsigned most = 0;
	for (struct thread *t = threads; t < threads + thread_count; t++)
		if (waits_for_time(t) && t->overtaken > most)
			most = t->overtaken;
	for (struct thread *t = threads; t < threads + thread_count; t++)
		if (waits_for_time(t) && (most < OVERTAKEN_MOST || t->overtaken == most))
			add(SWITCH, t, 0, 0);
}

static void quiet(void)
{
	over = true;
	for (struct thread *t = threads; t < threads + thread_count; t++)
		if (t->state == SPINS)
			ex_fail("%s spins without end", t->name);
}

/* list_ways_out - how the schedule may go on where the running thread waits, or spins. True: other
 * threads can go on. */
__attribute__((noinline)) static bool list_ways_out(const struct thread *me, bool may_spin)
{
	bool others = false;

	option_count = 0;
	for (struct thread *t = threads; t < threads + thread_count; t++) {
		if (t == me)
			continue;
		if (can_go_on(t))
			for (unsigned mask = all_of(me) + 1; mask-- > 0;)
				if (mask == all_of(me) || (may_pay() && may_keep(me, mask)))
					add(SWITCH, t, mask, mask != all_of(me));
		if (has_timeout(t) && may_pay())
			add(SWITCH, t, all_of(me), 1);
	}
	for (unsigned i = 0; i < option_count; i++)
		others |= !options[i].cost;
	if (!others) {
		option_count = 0;
		pass_time();
	} else if (may_spin) {
		add(SPIN, me, 0, 0);
	}
	return others;
}

bool give_way(bool may_spin)
{
	bool others = list_ways_out(cur, may_spin);

	if (!option_count) {
		quiet();
		return false;
	}
	/* whether a loop runs to its end does not depend on ranks */
	if (by_rank && others && may_spin) {
		option_count--;
		if (draw() >> 40 & 1)
			return true;
	}
	ask();
	struct option o = options[by_rank && others ? option_by_rank() : choose(option_count)];
	spent += o.cost;
	if (o.kind == SPIN)
		return true;
	if (!others)
		for (unsigned i = 0; i < option_count; i++)
			threads[options[i].thread].overtaken++;
	hand_over(&threads[o.thread], o.mask);
	let(&threads[o.thread]);
	return false;
}

void wait_as(enum state state, const void *on)
{
	cur->state = state;
	cur->on = on;
	give_way(false);
	suspend();
	ex_clean();
}

/* ------------------------------------------------------------------------------ one schedule */

unsigned ex_thread(const char *name, void (*fn)(void *), void *arg)
{
	if (thread_count == EX_THREADS)
		ex_fail("more than %d threads", EX_THREADS);
	threads[thread_count] = (struct thread){.name = name, .fn = fn, .arg = arg};
	return thread_count++;
}

static intptr_t body(void *arg, intptr_t first)
{
	struct thread *t = arg;
	(void)first;
	t->fn(t->arg);
	return 0;
}

void engine_open(const struct plan *p)
{
	plan = p;
	for (unsigned i = 0; i < EX_OWN; i++)
		own[i] = ex_world.own(i);
	ex_world.setup(p->scenario);
	for (unsigned i = 0; i < thread_count; i++)
		if (coro_new(&threads[i].co, body, &threads[i], 64 << 10))
			abort();
	for (unsigned i = 0; i < thread_count; i++)
		ex_world.own_stack(threads[i].co->stack->low, threads[i].co->stack->top);
}

static void begin(void)
{
	ex_world.restore(seen);
	keeps_states = !plan->random && (plan->reduce || plan->check || plan->follow);
	for (unsigned i = 0; i < thread_count; i++) {
		struct thread *t = &threads[i];
		coro_t *co = t->co;
		*t = (struct thread){.co = co, .name = t->name, .fn = t->fn, .arg = t->arg};
		if (coro_reset(co, body, t))
			abort();
		if (keeps_states)
			memset((char *)co->sp - BEGIN_CLEANED, 0, BEGIN_CLEANED);
	}
	ops_begin();
	over = failed = seen = asks = false;
	spent = depth = steps = 0;
	by_rank = false;
	for (unsigned i = 0; i < EX_OWN; i++)
		*own[i] = NULL;
	if (plan->random) {
		lot = (plan->seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
		draw();
		by_rank = plan->seed & 1;
		rarely = (UINT64_C(2) << draw() % 6) - 1;
		for (unsigned i = 0; i < FALLS_MOST; i++)
			falls[i] = 1 + (unsigned)(draw() % FALL_STEPS);
		for (unsigned i = 0; i < thread_count; i++)
			threads[i].rank = FALLS_MOST + 1 + (unsigned)(draw() % 100);
	}
}

static void resume(void)
{
	int status;

	cur = &threads[next_thread];
	apply(cur);
	for (unsigned i = 0; i < EX_OWN; i++)
		*own[i] = cur->own[i];
	do {
		asks = false;
		in_thread = true;
		status = coro_resume(cur->co, 0, NULL);
		in_thread = false;
		for (unsigned i = 0; i < EX_OWN; i++)
			cur->own[i] = *own[i];
	} while (asks && goes_on());
	if (status == CORO_FINISHED && !over) {
		cur->state = DONE;
		give_way(false);
	}
}

void engine_run(const struct plan *p)
{
	plan = p;
	outcome->seed = p->seed;
	begin();
	if (!setjmp(hub)) {
		active = true;
		next_thread = choose(thread_count);
		say("-----  %s\n", threads[next_thread].name);
		while (!over)
			resume();
		active = false;
		if (!failed && !seen) {
			if (keeps_states)
				state_ends(state_now(), depth);
			if (plan->trace)
				for (unsigned i = 0; i < thread_count; i++)
					say("       %s %s\n", threads[i].name,
					    state_names[threads[i].state]);
			ex_world.check(p->scenario);
		}
	}
	active = false;
	outcome->schedules++;
	outcome->steps += steps;
	outcome->failed = failed;
}
