/* call.c - calls into Go: from a plain thread, and from coroutines. */
#include "cbody.h"

#include <pthread.h>
#include <time.h>

/* Go's, and does nothing. */
extern void cb_go_nothing(void *p);

/* Go's: wakes the goroutine that waits for it, with the time. */
extern void cb_go_wake(int64_t now_ns);

static void *callback_loop(void *arg)
{
	int64_t *n = arg;

	cb_go_nothing(NULL); /* the first makes the thread known to Go */
	int64_t start = cb_now_ns();
	for (int64_t i = 0; i < *n; i++)
		cb_go_nothing(NULL);
	*n = cb_now_ns() - start;
	return NULL;
}

int64_t cb_callbacks(int64_t n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, callback_loop, &n))
		return CORO_EAGAIN;
	pthread_join(t, NULL);
	return n;
}

void cb_calls(void *arg, void *result)
{
	const struct cb_calls a = *(struct cb_calls *)arg;
	int64_t number = 0;

	(void)result;
	for (int64_t i = 0; i < a.n; i++)
		cb_fail((a.offload ? coro_call_go : coro_call_go_inline)(
			a.id, &number, sizeof number, &number, sizeof number, NULL));
	if (number != a.n)
		cb_fail(CORO_EINVAL);
}

void cb_call_once(void *arg, void *result)
{
	int64_t number = 0, start = cb_now_ns();

	cb_fail(coro_call_go(*(coro_go_id *)arg, &number, sizeof number, &number, sizeof number,
			     NULL));
	*(int64_t *)result = cb_now_ns() - start;
}

static struct {
	int64_t n, pause_ns;
} wakes;

static void *wake_loop(void *arg)
{
	struct timespec pause = {.tv_nsec = (long)wakes.pause_ns};

	cb_go_nothing(NULL);
	for (int64_t i = 0; i < wakes.n; i++) {
		nanosleep(&pause, NULL);
		cb_go_wake(cb_now_ns());
	}
	return arg;
}

int cb_wakes(int64_t n, int64_t pause_ns)
{
	pthread_t t;

	wakes.n = n;
	wakes.pause_ns = pause_ns;
	if (pthread_create(&t, NULL, wake_loop, NULL))
		return CORO_EAGAIN;
	pthread_join(t, NULL);
	return CORO_OK;
}
