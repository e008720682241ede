/*
 * t_actor_pin.c - actors that stay with one worker, the main one too, and ends that are exact while
 * such actors, messages that are sent later and questions are under way.
 */
#include "stage.h"

#define GENERAL 2
#define HOME    2 /* the worker of the pinned ones: dedicated */

static coro_scheduler *start_stage(uint32_t flags)
{
	coro_options o = options(GENERAL, flags);
	o.dedicated = 1;
	return start(&o);
}

static coro_actor pinned(coro_scheduler *s, uint32_t worker, const coro_actor_kind *kind,
			 void *state)
{
	coro_actor a;

	CHECK_EQ(coro_actor_spawn_on(s, worker + 1, kind, state, &a), CORO_OK);
	return a;
}

/* Where an actor is to run, and how many messages it had. */
struct at {
	uint32_t worker;
	uint64_t n;
	coro_actor next; /* is told each one; 0: nobody */
};

static size_t checks_place(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct at *at = state;

	(void)turn;
	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(coro_worker(), at->worker);
		if (m[i]->words[0] % 7 == 0)
			CHECK_EQ(coro_yield(), CORO_OK);
		if (m[i]->words[0] % 31 == 0)
			CHECK_EQ(coro_sleep(20000), CORO_OK);
		CHECK_EQ(coro_worker(), at->worker);
		if (at->next)
			tell(at->next, 0, m[i]->words[0]);
		add_one(&at->n);
	}
	return n;
}

static const coro_actor_kind stays = {.size = sizeof stays, .behave = checks_place, .batch = 3};

static size_t checks_general(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct at *at = state;

	(void)turn;
	(void)m;
	CHECK(coro_worker() < GENERAL);
	add_to(&at->n, n);
	return n;
}

static const coro_actor_kind moves = {.size = sizeof moves, .behave = checks_general};

TEST(actor_pin_options)
{
	coro_scheduler *s = start_stage(0);
	struct at at = {0};
	coro_actor a;

	CHECK_EQ(coro_actor_spawn_on(s, GENERAL + 2, &stays, &at, &a), CORO_EINVAL);
	CHECK_EQ(coro_actor_spawn_on(s, CORO_HERE, &stays, &at, &a), CORO_EINVAL);
	CHECK_EQ(coro_actor_spawn_on(s, CORO_ANYWHERE, &stays, &at, &a), CORO_EINVAL);
	CHECK_EQ(coro_actor_spawn_on(NULL, 1, &stays, &at, &a), CORO_EPERM);
	CHECK_EQ(coro_actor_spawn_on(s, 0, &stays, &at, &a), CORO_OK);
	finish(s);
}

static void sends_many(void *arg, void *result)
{
	coro_actor a = *(coro_actor *)arg;

	(void)result;
	for (uint64_t i = 0; i < 500; i++)
		tell(a, 0, i);
}

/* A pinned actor runs on its worker alone, dedicated or general, whoever sends: workers, itself's,
 * and threads outside. It is the only one that wakes the other actor, which runs elsewhere. */
TEST(actor_pin_runs_there_alone)
{
	for (uint32_t worker = 0; worker <= HOME; worker++) {
		coro_scheduler *s = start_stage(worker ? 0 : CORO_NO_MEMBARRIER);
		struct at general = {0}, at = {.worker = worker};
		coro_attr there = on(worker + 1);

		at.next = worker == HOME ? actor(s, &moves, &general) : 0;
		coro_actor a = pinned(s, worker, &stays, &at);
		for (int i = 0; i < 4; i++)
			spawn(s, sends_many, &a, sizeof a);
		CHECK_EQ(coro_scheduler_spawn(s, &there, sends_many, &a, sizeof a, NULL), CORO_OK);
		sends_many(&a, NULL);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&at.n), 6 * 500);
		CHECK_EQ(seen(&general.n), worker == HOME ? 6 * 500 : 0);
		settled(s);
		finish(s);
	}
}

/* What becomes of an actor's kind keeps its worker: a table beside it, another kind, a bound. */
static size_t becomes(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	CHECK_EQ(coro_actor_become(turn, &stays), CORO_OK);
	return checks_place(turn, state, m, n);
}

TEST(actor_pin_stays_with_its_kind)
{
	static const coro_actor_kind first = {.size = sizeof first,
					      .behave = becomes,
					      .batch = 1,
					      .room = 8,
					      .idle = 3600000 * MS};
	static coro_actor_kind then;
	coro_scheduler *s = start_stage(0);
	struct at at = {.worker = HOME};
	uint64_t word = 3;

	then = stays;
	coro_actor a = pinned(s, HOME, &stays, &at), b = pinned(s, HOME, &first, &at);
	CHECK_EQ(coro_actor_send_urgent(a, 0, &word, 8), CORO_OK);
	tell(a, 0, 1);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	tell(a, 0, 7);
	CHECK_EQ(coro_actor_stop(b), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&at.n), 3);
	b = pinned(s, HOME, &then, &at);
	tell(b, 0, 7);
	CHECK_EQ(coro_actor_drain(b), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&at.n), 4);
	settled(s);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK); /* and with it the sweeper */
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* An actor of the main worker runs on the thread that hosts. */
static pthread_t main_thread;

static size_t checks_thread(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)m;
	CHECK(pthread_equal(pthread_self(), main_thread));
	add_to(state, n);
	return n;
}

static void *stop_hosting(void *arg)
{
	CHECK_EQ(coro_scheduler_wait(arg), CORO_OK);
	CHECK_EQ(coro_scheduler_host_leave(arg), CORO_OK);
	return NULL;
}

TEST(actor_pin_to_the_main_thread)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = checks_thread};
	coro_scheduler *s = start_stage(CORO_MAIN_WORKER);
	uint64_t n = 0;
	coro_actor a = pinned(s, HOME, &kind, &n);
	pthread_t t;

	main_thread = pthread_self();
	for (int round = 1; round <= 50; round++) {
		for (int i = 0; i < 4; i++)
			spawn(s, sends_many, &a, sizeof a);
		thread_start(&t, stop_hosting, s);
		CHECK_EQ(coro_scheduler_host(s), CORO_OK);
		thread_join(t);
		CHECK_EQ(seen(&n), (uint64_t)round * 4 * 500);
	}
	settled(s);
	finish(s);
}

/* ------------------------------------------------------------------------------- exact ends */

/* One job: a pinned actor asks a general one, which answers late; it then has a third one told
 * later, which tells the pinned one again. All that is work, and the end is behind the last. */
enum { JOB, LATE, BACK };

static struct {
	coro_actor asks, answers, late;
	uint64_t began, answered, came, ended;
} job;

static void answers_later(void *arg, void *result)
{
	const coro_asker *asker = arg;
	uint64_t word = 1;

	(void)result;
	CHECK_EQ(coro_sleep(10000), CORO_OK);
	CHECK_EQ(coro_asker_answer(asker, &word, 8), CORO_OK);
}

static size_t answers(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	coro_asker asker;

	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		uint64_t word = m[i]->words[0];
		if (word % 3) {
			CHECK_EQ(coro_message_answer(m[i], &word, 8), CORO_OK);
		} else {
			CHECK_EQ(coro_message_keep(m[i], &asker), CORO_OK);
			spawn_in(answers_later, &asker, sizeof asker);
		}
		add_one(&job.answered);
	}
	return n;
}

static size_t is_late(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		tell(job.asks, BACK, m[i]->words[0]);
		add_one(&job.came);
	}
	return n;
}

static size_t asks(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	coro_answer answer;

	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		uint64_t word = m[i]->words[0];
		CHECK_EQ(coro_worker(), HOME);
		if (m[i]->kind == BACK) {
			add_one(&job.ended);
			continue;
		}
		add_one(&job.began);
		CHECK_EQ(coro_actor_ask(job.answers, 0, &word, 8, &answer, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_actor_send_after(job.late, word % 4 * 5000, LATE, &word, 8, NULL),
			 CORO_OK);
	}
	return n;
}

static const coro_actor_kind answering = {.size = sizeof answering, .behave = answers},
			     being_late = {.size = sizeof being_late, .behave = is_late},
			     asking = {.size = sizeof asking, .behave = asks};

/* A run with one to three jobs: at its end each of them has come to its end, and nothing is
 * left. */
static void runs(uint32_t flags, uint64_t n)
{
	coro_scheduler *s = start_stage(flags);
	uint64_t seed = 11, jobs = 0;

	job.answers = actor(s, &answering, NULL);
	job.late = pinned(s, 0, &being_late, NULL);
	job.asks = pinned(s, HOME, &asking, NULL);
	job.began = job.answered = job.came = job.ended = 0;
	for (uint64_t i = 0; i < n; i++) {
		for (uint64_t k = rnd(&seed) % 3 + 1; k; k--, jobs++)
			tell(job.asks, JOB, rnd(&seed));
		CHECK_EQ(flags & CORO_PAUSED ? coro_scheduler_run(s) : coro_scheduler_wait(s),
			 CORO_OK);
		CHECK_EQ(seen(&job.began), jobs);
		CHECK_EQ(seen(&job.answered), jobs);
		CHECK_EQ(seen(&job.came), jobs);
		CHECK_EQ(seen(&job.ended), jobs);
		CHECK_EQ(stats(s).live, 0);
	}
	settled(s);
	finish(s);
}

TEST_LIMIT(stress_actor_runs_end_exactly, 600)
{
	delays(DELAYS_USUAL);
	runs(0, scaled(2000));
	runs(CORO_PAUSED, scaled(2000));
}

/* The same with the pinned actor on the main thread, which hosts and leaves each time. */
TEST_LIMIT(stress_actor_runs_on_the_main_thread, 600)
{
	coro_scheduler *s = start_stage(CORO_MAIN_WORKER);
	uint64_t jobs = 0;
	pthread_t t;

	delays(DELAYS_USUAL);
	job.answers = actor(s, &answering, NULL);
	job.late = pinned(s, 0, &being_late, NULL);
	job.asks = pinned(s, HOME, &asking, NULL);
	for (uint64_t i = scaled(1000); i; i--) {
		tell(job.asks, JOB, i);
		jobs++;
		thread_start(&t, stop_hosting, s);
		CHECK_EQ(coro_scheduler_host(s), CORO_OK);
		thread_join(t);
		CHECK_EQ(seen(&job.ended), jobs);
	}
	settled(s);
	finish(s);
}
