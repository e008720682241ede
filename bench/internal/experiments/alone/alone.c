/*
 * alone.c - the rings of ringpool.c on one dispatcher with the policy rr, whose locks are compiled
 * out. So one thread at a time may run: the pool's thread runs while main waits for its end, and
 * ends where it would sleep.
 *
 * alone RINGS MEMBERS ROUNDS STRICT LIFO EXTRA prints the time in ns, and by how many bytes VmRSS +
 * VmPTE grew until all members were waiting (LIFO: until the end).
 */
#include "cbody.h"
#include "dispatch/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*body)(void *); /* of the pool's thread */
static struct coroi_dispatch_thread *thread;

/* In the place of those of the core (the linker's --wrap). */
int __wrap_coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg);
void __wrap_coroi_dispatch_sleep_locked(struct coroi_dispatch_thread *t);
int __wrap_coro_dispatch_pool_wait(coro_dispatch_pool *p);

int __wrap_coroi_thread_start(pthread_t *out, void *(*fn)(void *), void *arg)
{
	(void)out;
	body = fn;
	thread = arg;
	return 0;
}

void __wrap_coroi_dispatch_sleep_locked(struct coroi_dispatch_thread *t)
{
	t->quits = true;
}

/* run - until nothing is ready. */
static void run(void)
{
	pthread_t id;

	thread->quits = false;
	if (pthread_create(&id, NULL, body, thread) || pthread_join(id, NULL))
		exit(3);
}

int __wrap_coro_dispatch_pool_wait(coro_dispatch_pool *p)
{
	run();
	return p->live ? CORO_EBUSY : CORO_OK;
}

static int64_t resident(void)
{
	int64_t kb = 0, value;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmRSS: %" SCNd64, &value) == 1 ||
		    sscanf(line, "VmPTE: %" SCNd64, &value) == 1)
			kb += value;
	if (f)
		fclose(f);
	return kb << 10;
}

int cb_rings_ids(const struct cb_rings *r, uint64_t **out)
{
	size_t bytes = (size_t)r->rings * r->members * sizeof **out;

	if (!(*out = malloc(bytes)))
		return CORO_ENOMEM;
	memset(*out, 0xff, bytes);
	return CORO_OK;
}

int main(int argc, char **argv)
{
	if (argc != 7)
		return 2;
	struct cb_rings r = {
		.rings = strtoull(argv[1], NULL, 10),
		.members = (uint32_t)atol(argv[2]),
		.rounds = (uint32_t)atol(argv[3]),
		.extra = (uint32_t)atol(argv[6]),
		.flags = (atoi(argv[4]) ? CB_RINGS_STRICT : 0) |
			 (atoi(argv[5]) ? CB_RINGS_LIFO : 0),
		.workers = 1,
	};
	int status = cb_ring_pool_open(&r);
	int64_t before = resident();
	if (status == CORO_OK)
		status = cb_ring_pool_start(CORO_DISPATCH_RR);
	if (status != CORO_OK)
		return 3;
	run();
	int64_t all = resident(), ns = cb_ring_pool_ready() == 1 ? cb_ring_pool_fire() : CORO_EBUSY;
	if (ns < 0 || cb_take_status() != CORO_OK)
		return 4;
	if (r.flags & CB_RINGS_LIFO)
		all = resident();
	printf("%" PRId64 " %" PRId64 "\n", ns, all - before);
	return 0;
}
