/* ask.c - eight actors that are asked, one after the other or all at once. */
#include "cbody.h"
#include "coro_actor.h"

enum { ACTORS = 8 };

static size_t doubles(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	for (size_t i = 0; i < n; i++) {
		uint64_t twice = 2 * m[i]->words[0];
		(void)coro_message_answer(m[i], &twice, sizeof twice);
	}
	return n;
}

static void check(int status, const coro_answer *answer, uint64_t n)
{
	cb_fail(status ? status : answer->words[0] == 2 * n ? CORO_OK : CORO_EINVAL);
}

static void ask_each(const coro_actor *to, uint64_t i, int how)
{
	coro_answer answer;

	for (uint64_t k = 0, n; k < ACTORS; k++) {
		n = i + k;
		check((how == CB_ASK_LEND ? coro_actor_ask_lend : coro_actor_ask)(
			      to[k], 0, &n, sizeof n, &answer, CORO_FOREVER),
		      &answer, n);
	}
}

static void ask_all(const coro_actor *to, uint64_t i)
{
	coro_ask asks[ACTORS];
	uint64_t n[ACTORS];

	for (uint64_t k = 0; k < ACTORS; k++) {
		n[k] = i + k;
		asks[k] = (coro_ask){.to = to[k], .payload = &n[k], .bytes = sizeof n[k]};
	}
	cb_fail(coro_actor_ask_all(asks, ACTORS, CORO_FOREVER));
	for (uint64_t k = 0; k < ACTORS; k++)
		check(asks[k].status, &asks[k].answer, n[k]);
}

void cb_ask_start(void *arg, void *result)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = doubles};
	struct cb_asks a = *(struct cb_asks *)arg;
	coro_actor to[ACTORS];

	for (int k = 0; k < ACTORS; k++)
		cb_fail(coro_actor_spawn_on(NULL, a.worker, &kind, NULL, &to[k]));
	int64_t begun = cb_now_ns();
	for (int64_t i = 0; i < a.n; i++)
		if (a.how == CB_ASK_ALL)
			ask_all(to, (uint64_t)i);
		else
			ask_each(to, (uint64_t)i, a.how);
	*(int64_t *)result = cb_now_ns() - begun;
	for (int k = 0; k < ACTORS; k++)
		cb_fail(coro_actor_stop(to[k]));
}
