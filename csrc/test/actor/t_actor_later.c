/*
 * t_actor_later.c - messages that are sent later: their order, the end that waits for them, and
 * what becomes of them.
 */
#include "stage.h"

struct times {
	uint64_t n, last;
};

/* Not 0: a call took so long that its message may have come to be due after the next one. */
static uint64_t inexact;

static size_t checks_time(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct times *t = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		CHECK(coro_now() >= m[i]->words[0]); /* never early */
		CHECK(m[i]->words[0] >= t->last || seen(&inexact));
		t->last = m[i]->words[0];
		t->n++;
	}
	return n;
}

static const coro_actor_kind timed = {.size = sizeof timed, .behave = checks_time};

#define HOUR (3600 * 1000 * MS)

static void later(coro_actor to, uint64_t ns)
{
	uint64_t due = coro_now() + ns;

	CHECK_EQ(coro_actor_send_after(to, ns, 0, &due, 8, NULL), CORO_OK);
	if (coro_now() + ns - due > MS / 8)
		add_one(&inexact);
}

static void sends_later(void *arg, void *result)
{
	(void)result;
	for (uint64_t i = 100; i; i--)
		later(*(coro_actor *)arg, i * MS / 4);
}

TEST(actor_send_later)
{
	for (int paused = 0; paused < 2; paused++) {
		coro_options o = options(2, paused ? CORO_PAUSED : 0);
		coro_scheduler *s = start(&o);
		struct times t = {0};
		coro_actor a = actor(s, &timed, &t);

		sends_later(&a, NULL); /* from outside, and the later first */
		CHECK_EQ(paused ? coro_scheduler_run(s) : coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(t.n, 100);
		t.last = 0;
		spawn(s, sends_later, &a, sizeof a);
		CHECK_EQ(paused ? coro_scheduler_run(s) : coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(t.n, 200);
		settled(s);
		finish(s);
	}
}

TEST(actor_send_later_to_one_that_ends)
{
	coro_scheduler *s = start_with(1, 0);
	struct times t = {0};
	coro_actor a = actor(s, &timed, &t);
	uint64_t word = 0;

	later(a, HOUR);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(settled(s).dead[CORO_DEAD_STOPPED], 1);
	CHECK_EQ(coro_actor_send_after(a, 1, 0, &word, 8, NULL), CORO_ESTALE);
	CHECK_EQ(coro_actor_send_after(a, 1, CORO_MESSAGE_SYSTEM, &word, 8, NULL), CORO_EINVAL);
	a = actor(s, &timed, &t);
	later(a, CORO_FOREVER);
	later(a, HOUR);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(settled(s).dead[CORO_DEAD_CLOSED], 2);
	CHECK_EQ(t.n, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* In each way of ending what is to be sent later is dead at once, in the order of the calls; what
 * is for others comes. */

static uint64_t numbers[8];
static int n_dead, cause_of_all;

static void notes(const coro_dead_letter *d)
{
	CHECK_EQ(d->cause, cause_of_all);
	CHECK(n_dead < 8);
	numbers[n_dead++] = d->message->words[0];
}

static void ends_with_later(const coro_actor_kind *kind, int (*end)(coro_actor), int cause)
{
	coro_scheduler *s = start_with(2, 0);
	struct times t = {0}, others = {0};
	coro_actor a = actor(s, kind, &t), b = actor(s, &timed, &others);

	n_dead = 0;
	cause_of_all = cause;
	for (uint64_t i = 0; i < 4; i++) {
		CHECK_EQ(coro_actor_send_after(a, HOUR - i % 2 * MS, 0, &i, 8, NULL), CORO_OK);
		later(b, (i + 1) * MS);
	}
	if (end)
		CHECK_EQ(end(a), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(t.n, 0);
	CHECK_EQ(others.n, 4);
	CHECK_EQ(n_dead, 4);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(numbers[i], i);
	CHECK_EQ(settled(s).dead[cause], 4);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK); /* one that sweeps may be left */
}

TEST(actor_end_takes_later_messages)
{
	static const coro_actor_kind idles = {
		.size = sizeof idles, .behave = checks_time, .idle = 20 * MS};
	coro_dead_letter_hook before = coro_actor_on_dead_letter(notes);

	ends_with_later(&timed, coro_actor_stop, CORO_DEAD_STOPPED);
	ends_with_later(&timed, coro_actor_drain, CORO_DEAD_STOPPED);
	ends_with_later(&idles, NULL, CORO_DEAD_IDLE);
	coro_actor_on_dead_letter(before);
}

/* Of many actors with many messages each a part ends: exactly their messages are dead. */

#define MANY 300
#define EACH 7

static size_t counts_all(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	*(uint64_t *)state += n;
	return n;
}

static const coro_actor_kind counting = {.size = sizeof counting, .behave = counts_all};

TEST(actor_end_takes_its_own_later_messages)
{
	coro_scheduler *s = start_with(2, 0);
	static uint64_t got[MANY];
	static coro_actor a[MANY];
	uint64_t seed = 7;

	for (int i = 0; i < MANY; i++)
		a[i] = actor(s, &counting, &got[i]);
	for (uint64_t k = 0; k < EACH; k++)
		for (int i = 0; i < MANY; i++) {
			/* those that stay get theirs after the others have ended, mostly */
			uint64_t ns = i % 3 ? 50 * MS + rnd(&seed) % (50 * MS)
					    : HOUR + rnd(&seed) % HOUR;
			CHECK_EQ(coro_actor_send_after(a[i], ns, 0, &k, 8, NULL), CORO_OK);
		}
	for (int i = 0; i < MANY; i += 3)
		CHECK_EQ(coro_actor_stop(a[i]), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(got[i], i % 3 ? EACH : 0);
	CHECK_EQ(settled(s).dead[CORO_DEAD_STOPPED], MANY / 3 * EACH);
	finish(s);
}

/* Threads send later while the actors end. Each message that was accepted is dead, and none is left
 * to be waited for. */

static coro_scheduler *storms_in;
static uint64_t accepted;

static void *sends_until_it_ends(void *arg)
{
	uint64_t word = 1;
	int status;

	while ((status = coro_actor_send_after(*(coro_actor *)arg, HOUR, 0, &word, 8, NULL)) ==
	       CORO_OK)
		add_one(&accepted);
	CHECK_EQ(status, CORO_ESTALE);
	return NULL;
}

static void *storms(void *unused)
{
	static uint64_t nothing;

	(void)unused;
	for (uint64_t i = scaled(2000); i; i--) {
		coro_actor a = actor(storms_in, &counting, &nothing);
		pthread_t t;
		thread_start(&t, sends_until_it_ends, &a);
		CHECK_EQ(coro_actor_stop(a), CORO_OK);
		thread_join(t);
	}
	return NULL;
}

TEST(actor_end_races_with_later_messages)
{
	pthread_t t[2];

	storms_in = start_with(2, 0);
	for (int i = 0; i < 2; i++)
		thread_start(&t[i], storms, NULL);
	for (int i = 0; i < 2; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_scheduler_wait(storms_in), CORO_OK);
	CHECK_EQ(settled(storms_in).dead[CORO_DEAD_STOPPED], seen(&accepted));
	finish(storms_in);
}

static void without_memory(void *arg, void *result)
{
	coro_actor a = *(coro_actor *)arg;
	uint64_t word = 0;

	(void)result;
	for (int i = 0; i < 3; i++) { /* heap, table, entries */
		fail_alloc = i;
		CHECK_EQ(coro_actor_send_after(a, 1, 0, &word, 8, NULL), CORO_ENOMEM);
	}
	fail_alloc = -1;
	CHECK_EQ(coro_actor_send_after(a, 1, 0, &word, 8, NULL), CORO_OK);
	CHECK_EQ(coro_actor_send_urgent(a, 0, &word, 8), CORO_OK);
}

TEST(actor_send_later_without_memory)
{
	coro_scheduler *s = start_with(1, 0);
	struct times t = {0};
	coro_actor a = actor(s, &timed, &t);

	spawn(s, without_memory, &a, sizeof a);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(t.n, 2);
	settled(s);
	finish(s);
}

/* ------------------------------------------------------------------------------- taken back */

static coro_later later_of(coro_actor to, uint64_t ns, uint64_t word)
{
	coro_later l;

	CHECK_EQ(coro_actor_send_after(to, ns, 0, &word, 8, &l), CORO_OK);
	return l;
}

/* One that is taken back is no work; the others come. A handle names no other message, although its
 * memory is used again. */
TEST(actor_send_later_taken_back)
{
	coro_scheduler *s = start_with(2, 0);
	uint64_t got = 0;
	coro_actor a = actor(s, &counting, &got);
	coro_later all[100], none = {0};
	uint64_t seed = 3;

	for (int i = 0; i < 100; i++)
		all[i] = later_of(a, i % 4 ? HOUR + rnd(&seed) % HOUR : MS + rnd(&seed) % MS, 0);
	for (int i = 0; i < 100; i++)
		if (i % 4) {
			CHECK_EQ(coro_actor_take_back(&all[i]), CORO_OK);
			CHECK_EQ(coro_actor_take_back(&all[i]), CORO_ESTALE);
		}
	coro_later again = later_of(a, HOUR, 0);
	for (int i = 0; i < 100; i++)
		if (i % 4)
			CHECK_EQ(coro_actor_take_back(&all[i]), CORO_ESTALE);
	CHECK_EQ(coro_actor_take_back(&again), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(got, 25);
	CHECK_EQ(settled(s).taken_back, 76);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(coro_actor_take_back(&all[i]), CORO_ESTALE);
	CHECK_EQ(coro_actor_take_back(&none), CORO_ESTALE);
	CHECK_EQ(coro_actor_take_back(NULL), CORO_EINVAL);
	/* its actor has ended, and another is in the place; its scheduler is gone */
	all[0] = later_of(a, HOUR, 0);
	CHECK_EQ(coro_actor_stop(a), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	coro_actor b = actor(s, &counting, &got);
	all[1] = later_of(b, HOUR, 0);
	CHECK_EQ(coro_actor_take_back(&all[0]), CORO_ESTALE);
	CHECK_EQ(coro_actor_take_back(&all[1]), CORO_OK);
	all[1] = later_of(b, HOUR, 0);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(coro_actor_take_back(&all[1]), CORO_ESTALE);
	CHECK_EQ(settled(s).dead[CORO_DEAD_CLOSED], 1);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(coro_actor_take_back(&all[1]), CORO_ESTALE);
	CHECK_EQ(got, 25);
}

/* Senders take back what is about to be sent, and the actors end meanwhile: what was accepted is
 * handled, dead, or taken back, each once. */

struct takes {
	coro_scheduler *s;
	uint64_t got, sent, back, n;
};

/* The turn of one that is stopped may overlap with those of the next one. */
static size_t counts_together(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	add_to(state, n);
	return n;
}

static const coro_actor_kind together = {.size = sizeof together, .behave = counts_together};

static void *takes_back(void *arg)
{
	struct takes *x = arg;
	uint64_t seed = (uintptr_t)&seed;
	coro_actor a = actor(x->s, &together, &x->got);

	for (uint64_t i = 0; i < x->n; i++) {
		coro_later l[8];
		uint64_t word = i;
		unsigned n = 0;
		for (; n < 8; n++)
			if (coro_actor_send_after(a, rnd(&seed) % 20000, 0, &word, 8, &l[n]))
				break;
		x->sent += n;
		if (i % 16 == 15)
			CHECK_EQ(coro_actor_stop(a), CORO_OK);
		else if (i % 16 < 8)
			sleep_us(10);
		for (unsigned k = 0; k < n; k += 1 + i % 2) {
			int status = coro_actor_take_back(&l[i % 2 ? k : n - 1 - k]);
			CHECK(status == CORO_OK || status == CORO_ESTALE);
			x->back += status == CORO_OK;
		}
		if (i % 16 == 15)
			a = actor(x->s, &together, &x->got);
	}
	return NULL;
}

TEST(stress_later_taken_back)
{
	coro_scheduler *s = start_with(2, 0);
	struct takes x[3];
	pthread_t t[3];
	uint64_t sent = 0, back = 0, got = 0;

	for (int i = 0; i < 3; i++) {
		x[i] = (struct takes){.s = s, .n = scaled(2000)};
		thread_start(&t[i], takes_back, &x[i]);
	}
	for (int i = 0; i < 3; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	coro_actor_stats f = settled(s);
	for (int i = 0; i < 3; i++) {
		sent += x[i].sent;
		back += x[i].back;
		got += x[i].got;
	}
	CHECK_EQ(f.accepted, sent);
	CHECK_EQ(f.taken_back, back);
	CHECK_EQ(f.handled, got);
	report("%llu sent: %llu handled, %llu dead, %llu taken back", (unsigned long long)sent,
	       (unsigned long long)got, (unsigned long long)dead(&f), (unsigned long long)back);
	finish(s);
}
