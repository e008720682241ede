/*
 * pthread.c - threads that do nothing: 1000 are created and joined, then the next 1000.
 *
 * A worker is a CPU that the threads may run on.
 */
#define _GNU_SOURCE
#include "peer.h"

#include <gnu/libc-version.h>
#include <pthread.h>
#include <sched.h>

enum { BATCH = 1000, STACK_BYTES = 64 << 10 };

static void *empty(void *arg)
{
	return arg;
}

/* Leaves this thread, and those that it creates, the first of its CPUs. */
static void stay_on(int64_t cpus)
{
	cpu_set_t own, some;

	CPU_ZERO(&some);
	if (sched_getaffinity(0, sizeof own, &own))
		peer_die("sched_getaffinity fails");
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < cpus; i++)
		if (CPU_ISSET(i, &own))
			CPU_SET(i, &some);
	if (sched_setaffinity(0, sizeof some, &some))
		peer_die("sched_setaffinity fails");
}

static int64_t spawn(const pthread_attr_t *attr, int64_t n)
{
	static pthread_t threads[BATCH];
	int64_t start = peer_now_ns();

	while (n > 0) {
		int batch = n < BATCH ? (int)n : BATCH;
		for (int i = 0; i < batch; i++)
			if (pthread_create(&threads[i], attr, empty, NULL))
				peer_die("pthread_create fails: 1000 threads are not allowed here");
		for (int i = 0; i < batch; i++)
			pthread_join(threads[i], NULL);
		n -= batch;
	}
	return peer_now_ns() - start;
}

int main(int argc, char **argv)
{
	struct peer_args a = peer_read_args(argc, argv);
	pthread_attr_t attr;
	char version[64];

	stay_on(a.workers);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	spawn(&attr, a.n);
	int64_t ns = spawn(&attr, a.n);
	snprintf(version, sizeof version, "glibc %s", gnu_get_libc_version());
	peer_tell_total(version, ns);
	return 0;
}
