/* job.c - n tasks: as coroutines, in a plain loop, on bare threads. */
#include "cbody.h"

#include <pthread.h>

static const cb_task task_of[] = {[CB_FIB] = cb_fib, [CB_SPIN] = cb_spin};

static struct cb_job run;
static int64_t right, wrong, next;

static void task(void)
{
	if (task_of[run.kind](run.size) == run.want)
		__atomic_fetch_add(&right, 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static void task_body(void *arg, void *result)
{
	(void)arg;
	(void)result;
	task();
}

void cb_job_start(void *arg, void *result)
{
	coro_attr attr = {.size = sizeof attr};
	int status = CORO_OK;
	(void)result;
	run = *(struct cb_job *)arg;
	attr.stack_bytes = (size_t)run.stack_bytes;
	for (int64_t i = 0; i < run.n && status == CORO_OK; i++)
		status = coro_spawn_attr(&attr, task_body, NULL, 0, NULL);
	cb_fail(status);
}

void cb_job_plain(const struct cb_job *job)
{
	run = *job;
	for (int64_t i = 0; i < run.n; i++)
		task();
}

void cb_job_begin(const struct cb_job *job)
{
	run = *job;
}

void cb_job_one(void)
{
	task();
}

static int64_t threads_now;

/* Its share: every threads_now-th task. */
static void *fixed_share(void *index)
{
	for (int64_t i = (intptr_t)index; i < run.n; i += threads_now)
		task();
	return NULL;
}

/* Whatever is next. */
static void *shared_counter(void *index)
{
	(void)index;
	while (__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) < run.n)
		task();
	return NULL;
}

int cb_job_threads(const struct cb_job *job, int64_t threads, int fixed)
{
	pthread_t list[CORO_WORKERS_MAX];
	int64_t made = 0;

	if (threads < 1 || threads > CORO_WORKERS_MAX)
		return CORO_EINVAL;
	run = *job;
	next = 0;
	threads_now = threads;
	while (made < threads &&
	       !pthread_create(&list[made], NULL, fixed ? fixed_share : shared_counter,
			       (void *)(intptr_t)made))
		made++;
	for (int64_t i = 0; i < made; i++)
		pthread_join(list[i], NULL);
	return made == threads ? CORO_OK : CORO_EAGAIN;
}

int64_t cb_job_bad(int64_t n)
{
	int64_t bad = wrong + (right + wrong < n ? n - right - wrong : 0);
	right = wrong = 0;
	return bad;
}
