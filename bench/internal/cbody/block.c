/* block.c - calls that block, against a bare hand-off between two threads. */
#include "cbody.h"

#include <pthread.h>
#include <time.h>

static void nothing(void *arg)
{
	(void)arg;
}

void cb_block_start(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, start = cb_now_ns();

	for (int64_t i = 0; i < n; i++)
		cb_fail(coro_blocking(nothing, NULL));
	*(int64_t *)result = cb_now_ns() - start;
}

static void nap(void *ns)
{
	struct timespec t = {0, *(int64_t *)ns};
	nanosleep(&t, NULL);
}

void cb_block_nap(void *arg, void *result)
{
	(void)result;
	cb_fail(coro_blocking(nap, arg));
}

/* ------------------------------------------------------------------------------- the bare
 * hand-off */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn;

/* play - one side: wait for the turn, and give it to the other, n times. */
static void play(int side, int64_t n)
{
	pthread_mutex_lock(&lock);
	for (int64_t i = 0; i < n; i++) {
		while (turn != side)
			pthread_cond_wait(&changed[side], &lock);
		turn = !side;
		pthread_cond_signal(&changed[!side]);
	}
	pthread_mutex_unlock(&lock);
}

static void *answer(void *n)
{
	play(1, *(int64_t *)n);
	return NULL;
}

int64_t cb_handoff(int64_t n)
{
	pthread_t other;

	turn = 0;
	if (pthread_create(&other, NULL, answer, &n))
		return -1;
	int64_t start = cb_now_ns();
	play(0, n);
	pthread_join(other, NULL);
	return cb_now_ns() - start;
}
