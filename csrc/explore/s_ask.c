/*
 * s_ask.c - scenarios of questions that lend, ASK1 to ASK6 of actor/ask.c: what the asker lends is
 * touched between the beginning of its ask and the end, and never afterwards.
 */
#include "s_box.h"

#define ASKS        2
#define FRESH       5    /* what is lent, as the asker has written it */
#define DEADLINE_NS 9000 /* the second look at the clock comes after it */

static struct {
	struct block {
		uint64_t data; /* atomic */
		bool lent;     /* the truth, whatever the words of the core say */
		uint8_t begun, touched, answered;
	} lent[ASKS];
	uint8_t returned, timed_out, answered, ended, canceled, refused, plain, left;
	bool cancels;
	coro_handle asker;
	coro_asker kept[ASKS];
} a;

enum { LENT, PLAIN }; /* kinds of messages */

/* What an ask has come to: bits of ex_reached. LATE: after its deadline or cancel it was answered,
 * or has ended. PARTLY: one of two was answered. LEFT: and, 1 more, the actor has left it. */
enum { ANSWERED, TAKEN_BACK, ENDED, REFUSED, LATE, PARTLY, LEFT };

/* ----------------------------------------------------------------------------------- behaviours */

static void touch(struct block *b)
{
	uint64_t data = at_load_rlx(&b->data); /* others may go on first */

	if (!b->lent)
		ex_fail("the actor touches what was lent, and the ask has returned");
	EX_CHECK(data == FRESH + (uint64_t)b->touched);
	b->touched++;
	at_store_rlx(&b->data, data + 1);
}

static void begins(struct block *b)
{
	EX_CHECK(!b->begun++);
	touch(b);
}

static void answers(coro_message *m)
{
	struct block *b = &a.lent[m->words[0]];
	uint64_t word;

	touch(b);
	word = FRESH + (uint64_t)b->touched;
	EX_CHECK(coro_message_answer(m, &word, sizeof word) == CORO_OK);
	b->answered++;
}

static size_t uses(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		begins(&a.lent[m[i]->words[0]]);
		answers(m[i]);
	}
	return n;
}

static const coro_actor_kind kind_uses = {.size = sizeof kind, .behave = uses};

static void is_dead(const coro_dead_letter *letter)
{
	struct block *b = &a.lent[letter->message->words[0]];

	EX_CHECK(letter->cause == CORO_DEAD_STOPPED && !b->begun);
	b->begun++;
	touch(b);
}

/* --------------------------------------------------------------------------------------- askers */

static void lend(unsigned i)
{
	at_store_rlx(&a.lent[i].data, FRESH);
	a.lent[i].lent = true;
}

/* gets_back - ask i has returned. late: after its deadline, or a cancel. */
static void gets_back(unsigned i, int status, const coro_answer *answer, bool late)
{
	struct block *b = &a.lent[i];

	b->lent = false;
	uint64_t data = at_load_rlx(&b->data);
	if (data != FRESH + (uint64_t)b->touched)
		ex_fail("%u times touched, and the asker finds %llu", b->touched,
			(unsigned long long)data);
	switch (status) {
	case CORO_OK:
		EX_CHECK(b->begun == 1 && answer->words[0] == data);
		a.answered++;
		ex_reached(ANSWERED);
		break;
	case CORO_ENDED:
		EX_CHECK(b->begun == 1);
		a.ended++;
		ex_reached(ENDED);
		break;
	case CORO_ESTALE:
		EX_CHECK(b->begun == 0);
		a.refused++;
		ex_reached(REFUSED);
		break;
	case CORO_ETIMEDOUT:
	case CORO_ECANCELED:
		EX_CHECK(b->begun == a.left && late);
		a.timed_out += status == CORO_ETIMEDOUT;
		a.canceled += status == CORO_ECANCELED;
		ex_reached(TAKEN_BACK);
		break;
	default:
		ex_fail("an ask returns %d", status);
	}
	if (late && (status == CORO_OK || status == CORO_ENDED))
		ex_reached(LATE);
	a.returned++;
}

static void asks_in_time(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	uint64_t word = i, deadline = coroi_now_ns() + DEADLINE_NS;
	coro_answer answer;

	lend(i);
	world_pushing(true);
	int status = coro_actor_ask_lend(g.actor[0], LENT, &word, sizeof word, &answer, deadline);
	world_pushing(false);
	gets_back(i, status, &answer, coroi_now_ns() > deadline);
	say(&g.done);
}

/* --------------------------------------------------------------------------------- setup, check */

static void make_asked(const coro_actor_kind *k)
{
	make(k);
	world_ask_regions();
	world_region(&a, sizeof a);
	(void)coro_actor_on_dead_letter(is_dead);
}

/* check_asks - n asks have returned, and what they have sent was handled, is dead, or was taken
 * back. */
static void check_asks(unsigned n)
{
	const struct coroi_actors *all = coroi_actors_of(sched);
	uint64_t accepted = 0, handled = 0;

	EX_CHECK(a.returned == n);
	for (unsigned i = 0; i < COROI_HANDS_OUTSIDE; i++)
		accepted += all->outside[i].accepted;
	for (unsigned i = 0; i < sched->workers; i++) {
		accepted += all->hand[i].accepted;
		handled += all->hand[i].handled;
	}
	EX_CHECK(accepted == n - a.refused + a.plain);
	EX_CHECK(handled == (uint64_t)(a.answered + a.plain));
	EX_CHECK(all->dead[CORO_DEAD_STOPPED] == a.ended);
	EX_CHECK(all->taken_back == (uint64_t)(a.timed_out + a.canceled));
	EX_CHECK(!coroi_place_of(g.actor[0])->pending);
}

static void check_one(void)
{
	check_asks(1);
}

/* ------------------------------------------------------------------------------------- deadline */

static void setup_deadline(void)
{
	make_asked(&kind_uses);
	ex_thread("asks", asks_in_time, times(0));
}

static const struct ex_scenario ask_deadline = {
	.name = "ask-deadline",
	.about = "a thread lends memory to an actor, until its deadline or beyond",
	.setup = setup_deadline,
	.check = check_one,
	.workers = 1,
	.reach = 1 << ANSWERED | 1 << TAKEN_BACK | 1 << LATE,
};

/* --------------------------------------------------------------------------------------- cancel */

/* Asker and actor are of one worker. The actor lets the asker run before it comes to what was lent,
 * and while it has that. */

static size_t uses_slowly(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	if (m[0]->kind == LENT)
		begins(&a.lent[m[0]->words[0]]);
	EX_CHECK(coro_yield() == CORO_OK);
	if (m[0]->kind == LENT)
		answers(m[0]);
	return n;
}

static const coro_actor_kind kind_slow = {.size = sizeof kind, .behave = uses_slowly, .batch = 1};

static void asks_until_canceled(void *arg, void *result)
{
	uint64_t word = 0;
	coro_answer answer;

	(void)arg;
	(void)result;
	EX_CHECK(coro_actor_send(g.actor[0], PLAIN, &word, sizeof word) == CORO_OK);
	a.plain++;
	lend(0);
	int status = coro_actor_ask_lend(g.actor[0], LENT, &word, sizeof word, &answer,
					 CORO_FOREVER);
	gets_back(0, status, &answer, a.cancels);
}

static void cancels(void *arg)
{
	(void)arg;
	a.cancels = true;
	world_pushing(true);
	int status = coro_cancel(a.asker);
	world_pushing(false);
	EX_CHECK(status == CORO_OK || (status == CORO_ESTALE && a.returned));
}

static void setup_cancel(void)
{
	static const coro_attr at = {.size = sizeof at, .worker = 1};

	make_asked(&kind_slow);
	EX_CHECK(coro_scheduler_spawn(sched, &at, asks_until_canceled, NULL, 0, &a.asker) ==
		 CORO_OK);
	ex_thread("cancel", cancels, NULL);
}

static void check_cancel(void)
{
	EX_CHECK(a.returned || a.cancels); /* it may be canceled before it begins to run */
	check_asks(a.returned);
}

static const struct ex_scenario ask_cancel = {
	.name = "ask-cancel",
	.about = "a coroutine lends memory to an actor of its worker, and is canceled",
	.setup = setup_cancel,
	.check = check_cancel,
	.workers = 1,
	.reach = 1 << ANSWERED | 1 << TAKEN_BACK | 1 << LATE,
};

/* ----------------------------------------------------------------------------------------- stop */

static void stops(void *arg)
{
	(void)arg;
	world_pushing(true);
	EX_CHECK(coro_actor_stop(g.actor[0]) == CORO_OK);
	world_pushing(false);
}

static void is_stopped(void *state, int cause)
{
	(void)state;
	EX_CHECK(cause == CORO_DEAD_STOPPED);
}

static const coro_actor_kind kind_stopped = {
	.size = sizeof kind, .behave = uses, .end = is_stopped};

static void setup_stop(void)
{
	make_asked(&kind_stopped);
	ex_thread("asks", asks_in_time, times(0));
	ex_thread("stop", stops, NULL);
}

static const struct ex_scenario ask_stop = {
	.name = "ask-stop",
	.about = "a thread lends memory to an actor that is stopped, until its deadline or beyond",
	.setup = setup_stop,
	.check = check_one,
	.workers = 1,
	.reach = 1 << ANSWERED | 1 << TAKEN_BACK | 1 << ENDED | 1 << REFUSED | 1 << LATE,
};

/* ----------------------------------------------------------------------------------------- left */

/* The actor leaves the message once, for its next turn. Before that turn its worker waits for the
 * asker: so the deadline counts, and nobody but ASK3 tells the asker. */

static void waits_for_asker(void *arg, void *result)
{
	(void)arg;
	(void)result;
	hears(&g.done);
}

static size_t leaves(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	(void)n;
	begins(&a.lent[m[0]->words[0]]);
	a.left++;
	EX_CHECK(coro_spawn(waits_for_asker, NULL, 0) == CORO_OK);
	EX_CHECK(coro_cancel(coro_self()) == CORO_OK); /* the turn ends */
	return 0;
}

static const coro_actor_kind kind_leaves = {.size = sizeof kind, .behave = leaves};

static void setup_left(void)
{
	make_asked(&kind_leaves);
	ex_thread("asks", asks_in_time, times(0));
}

static void check_left(void)
{
	check_asks(1);
	EX_CHECK(a.timed_out == 1);
	ex_reached(LEFT + a.left);
}

static const struct ex_scenario ask_left = {
	.name = "ask-left",
	.about = "an actor leaves what is lent for its next turn, at the deadline of the asker",
	.setup = setup_left,
	.check = check_left,
	.workers = 1,
	.reach = 1 << TAKEN_BACK | 1 << LEFT | 1 << (LEFT + 1),
};

/* ---------------------------------------------------------------------------------------- again */

/* Two questions that do not lend, with the same question's memory: the answer to the first may come
 * late. */

static size_t says_which(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		int status = coro_message_answer(m[i], &m[i]->words[0], sizeof m[i]->words[0]);
		EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
		ex_reached(status == CORO_OK ? ANSWERED : LATE);
	}
	return n;
}

static const coro_actor_kind kind_says = {.size = sizeof kind, .behave = says_which};

static void asks_twice(void *arg)
{
	coro_answer answer;

	(void)arg;
	for (uint64_t word = 1; word <= 2; word++) {
		world_pushing(true);
		int status = coro_actor_ask(g.actor[0], LENT, &word, sizeof word, &answer,
					    word == 1 ? coroi_now_ns() + DEADLINE_NS
						      : CORO_FOREVER);
		world_pushing(false);
		if (status == CORO_OK)
			EX_CHECK(answer.words[0] == word);
		else
			EX_CHECK(status == CORO_ETIMEDOUT && word == 1);
		ex_reached(status == CORO_OK ? ANSWERED : TAKEN_BACK);
	}
	a.returned++;
}

static void setup_again(void)
{
	make_asked(&kind_says);
	ex_thread("asks", asks_twice, NULL);
}

static void check_again(void)
{
	EX_CHECK(a.returned == 1 && coroi_actors_of(sched)->hand[0].handled == 2);
}

static const struct ex_scenario ask_again = {
	.name = "ask-again",
	.about = "a thread asks until its deadline, and then again",
	.setup = setup_again,
	.check = check_again,
	.workers = 1,
	.reach = 1 << ANSWERED | 1 << TAKEN_BACK | 1 << LATE,
};

/* ------------------------------------------------------------------------------ several at once */

static void asks_both(void *arg)
{
	coro_ask q[2] = {{.to = 0}};
	uint64_t words[2] = {0, 1}, deadline = coroi_now_ns() + DEADLINE_NS;

	(void)arg;
	for (unsigned i = 0; i < 2; i++) {
		q[i] = (coro_ask){.to = g.actor[i],
				  .payload = &words[i],
				  .bytes = sizeof words[i],
				  .flags = CORO_ASK_LENDS};
		lend(i);
	}
	world_pushing(true);
	int status = coro_actor_ask_all(q, 2, deadline);
	world_pushing(false);
	bool late = coroi_now_ns() > deadline;
	EX_CHECK(status == (q[0].status ? q[0].status : q[1].status));
	for (unsigned i = 0; i < 2; i++)
		gets_back(i, q[i].status, &q[i].answer, late);
	if (a.answered == 1 && a.timed_out == 1)
		ex_reached(PARTLY);
}

static void setup_all(void)
{
	make_asked(&kind_uses);
	EX_CHECK(coro_actor_spawn(sched, &kind_uses, &g.inside[1], &g.actor[1]) == CORO_OK);
	ex_thread("asks", asks_both, NULL);
}

static void check_both(void)
{
	check_asks(2);
}

static const struct ex_scenario ask_all = {
	.name = "ask-all",
	.about = "a thread lends memory to two actors, until one deadline or beyond",
	.setup = setup_all,
	.check = check_both,
	.workers = 1,
	.reach = 1 << ANSWERED | 1 << TAKEN_BACK | 1 << LATE | 1 << PARTLY,
};

/* The actor keeps both questions, and two threads answer them at once. */

static size_t keeps(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		EX_CHECK(coro_message_keep(m[i], &a.kept[m[i]->words[0]]) == CORO_OK);
		say(m[i]->words[0] ? &g.first : &g.sends);
	}
	return n;
}

static const coro_actor_kind kind_keeps = {.size = sizeof kind, .behave = keeps};

static void answers_kept(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	uint64_t word = i + 1;

	hears(i ? &g.first : &g.sends);
	EX_CHECK(coro_asker_answer(&a.kept[i], &word, sizeof word) == CORO_OK);
}

static void asks_kept(void *arg)
{
	coro_ask q[2] = {{.to = 0}};
	uint64_t words[2] = {0, 1};

	(void)arg;
	for (unsigned i = 0; i < 2; i++)
		q[i] = (coro_ask){.to = g.actor[0], .payload = &words[i], .bytes = 8};
	world_pushing(true);
	EX_CHECK(coro_actor_ask_all(q, 2, CORO_FOREVER) == CORO_OK);
	world_pushing(false);
	for (unsigned i = 0; i < 2; i++)
		EX_CHECK(q[i].status == CORO_OK && q[i].answer.words[0] == i + 1);
	a.returned++;
}

static void setup_all_kept(void)
{
	make_asked(&kind_keeps);
	ex_thread("asks", asks_kept, NULL);
	ex_thread("first", answers_kept, times(0));
	ex_thread("second", answers_kept, times(1));
}

static void check_kept(void)
{
	EX_CHECK(a.returned == 1 && coroi_actors_of(sched)->hand[0].handled == 2);
}

static const struct ex_scenario ask_all_kept = {
	.name = "ask-all-kept",
	.about = "two threads answer what a third has asked at once",
	.setup = setup_all_kept,
	.check = check_kept,
	.workers = 1,
};

const struct ex_scenario *const scenarios_ask[] = {
	&ask_deadline, &ask_cancel, &ask_stop, &ask_left, &ask_again, &ask_all, &ask_all_kept, NULL,
};
