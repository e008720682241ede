/* border.c - what stands at the border of Go and C: an empty function, a body that answers, and
 * calls of a Go that sleeps. */
#include "cbody.h"

void cb_nothing(void)
{
}

static void echo(const struct cb_echo *a)
{
	int64_t value = 0;
	int status;

	while ((status = coro_chan_recv((coro_chan *)a->requests, &value, CORO_FOREVER)) == CORO_OK)
		cb_fail(coro_chan_send((coro_chan *)a->answers, &value, CORO_FOREVER));
	if (status != CORO_ECLOSED)
		cb_fail(status);
}

void cb_echo(void *arg, void *result)
{
	const struct cb_echo a = *(struct cb_echo *)arg;

	(void)result;
	echo(&a);
}

void cb_echo_plain(void *arg, void *result)
{
	const struct cb_echo a = *(struct cb_echo *)arg;

	(void)result;
	echo(&a);
	cb_fail(CORO_OK); /* not the same code as cb_echo: the two are to have different addresses */
}

void cb_call_asleep(void *arg, void *result)
{
	const struct cb_asleep a = *(struct cb_asleep *)arg;

	(void)result;
	for (int64_t i = 0; i < a.n; i++) {
		int64_t *wait = &cb_waits[i % CB_WAITS];

		cb_fail(coro_sleep((uint64_t)a.pause_ns));
		int64_t now = cb_now_ns();
		cb_fail(coro_call_go(a.id, &now, sizeof now, wait, sizeof *wait, NULL));
	}
}

void cb_children(void *arg, void *result)
{
	static coro_handle child[CB_CHILDREN];
	const struct cb_children a = *(struct cb_children *)arg;
	const coro_attr joinable = {.size = sizeof joinable, .flags = CORO_JOINABLE};
	int64_t start = cb_now_ns(), n = 0;
	int status = a.n <= CB_CHILDREN ? CORO_OK : CORO_EINVAL;

	while (status == CORO_OK && n < a.n) {
		status = coro_spawn_attr(&joinable, cb_spin_body, &a.steps, sizeof a.steps,
					 &child[n]);
		n += status == CORO_OK;
	}
	cb_fail(status);
	for (int64_t i = 0; i < n; i++)
		cb_fail(coro_join(child[i], NULL, 0));
	*(int64_t *)result = cb_now_ns() - start;
}

int64_t cb_children_plain(const struct cb_children *a)
{
	int64_t start = cb_now_ns();

	for (int64_t i = 0; i < a->n; i++)
		cb_spin((uint64_t)a->steps);
	return cb_now_ns() - start;
}

void cb_buffers(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg;
	int status = CORO_OK;

	(void)result;
	for (int64_t i = 0; i < n && status == CORO_OK; i++) {
		coro_buffer b;
		status = coro_buffer_make(64, &b);
		if (status == CORO_OK)
			status = coro_buffer_free(b);
	}
	cb_fail(status);
}
