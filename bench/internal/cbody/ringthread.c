/* ringthread.c - the rings of ring.c with a thread for each member, and a semaphore. */
#include "cbody.h"

#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_BYTES ((size_t)64 << 10)

static struct member {
	sem_t own;
	pthread_t thread;
} __attribute__((aligned(64))) * members;

static struct cb_rings run;
static char *stacks; /* ours, so that none is kept for later and not counted again */
static size_t stack_bytes, stacks_bytes;
static sem_t changed; /* posted when all who were started wait, and when they have ended */
static int64_t awaited, started, ended;

static void wait(sem_t *s)
{
	while (sem_wait(s)) /* interrupted: Go's runtime sends signals */
		;
}

static void *member_main(void *arg)
{
	struct member *me = arg;
	uint64_t i = (uint64_t)(me - members), place = i % run.members;
	sem_t *next = &members[place == run.members - 1 ? i - place : i + 1].own;
	char *extra = alloca(run.extra + 1);

	memset(extra, 1, run.extra + 1);
	__asm__ volatile("" : : "r"(extra) : "memory");
	if (__atomic_add_fetch(&started, 1, __ATOMIC_RELAXED) == awaited)
		sem_post(&changed);
	for (uint32_t k = 0; k < run.rounds; k++) {
		wait(&me->own);
		sem_post(next);
	}
	if (place == 0 || !(run.flags & CB_RINGS_STRICT))
		wait(&me->own);
	if (__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED) == awaited)
		sem_post(&changed);
	return NULL;
}

/* on_one_cpu - the first that we may use, if there is one worker. */
static int on_one_cpu(pthread_attr_t *attr)
{
	cpu_set_t may, one;

	CPU_ZERO(&one);
	if (run.workers > 1)
		return CORO_OK;
	if (sched_getaffinity(0, sizeof may, &may))
		return CORO_EINVAL;
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &may))
			CPU_SET(cpu, &one);
	return pthread_attr_setaffinity_np(attr, sizeof one, &one) ? CORO_EINVAL : CORO_OK;
}

/* start - the members from first to end; it returns when they are there. */
static int start(uint64_t first, uint64_t end)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	int status = on_one_cpu(&attr);

	awaited = (int64_t)end;
	for (uint64_t i = first; i < end && status == CORO_OK; i++) {
		char *stack = stacks + (i * stack_bytes) % stacks_bytes;
		if (pthread_attr_setstack(&attr, stack, stack_bytes) ||
		    pthread_create(&members[i].thread, &attr, member_main, &members[i]))
			status = CORO_EAGAIN; /* those that are there wait for ever */
	}
	pthread_attr_destroy(&attr);
	if (status == CORO_OK)
		wait(&changed);
	return status;
}

/* fire - the first posts for the same ones; it returns when they have ended. */
static void fire(uint64_t first, uint64_t end)
{
	uint32_t step = run.flags & CB_RINGS_STRICT ? run.members : 1;

	for (uint64_t i = first; i < end; i += step)
		sem_post(&members[i].own);
	wait(&changed);
}

static void join(uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i < end; i++)
		pthread_join(members[i].thread, NULL);
	for (uint64_t i = first; i < end; i++)
		sem_destroy(&members[i].own);
}

int cb_ring_threads_open(const struct cb_rings *r)
{
	uint64_t n = r->rings * r->members;

	run = *r;
	started = ended = 0;
	if (!n || !(members = aligned_alloc(64, n * sizeof *members)))
		return CORO_ENOMEM;
	stack_bytes = STACK_BYTES + (run.extra + STACK_BYTES - 1) / STACK_BYTES * STACK_BYTES;
	stacks_bytes = stack_bytes * (run.flags & CB_RINGS_LIFO ? run.members : n);
	stacks = mmap(NULL, stacks_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stacks == MAP_FAILED) {
		free(members);
		return CORO_ENOMEM;
	}
	sem_init(&changed, 0, 0);
	for (uint64_t i = 0; i < n; i++)
		sem_init(&members[i].own, 0, 0);
	return run.flags & CB_RINGS_LIFO ? CORO_OK : start(0, n);
}

int64_t cb_ring_threads_fire(void)
{
	uint64_t n = run.rings * run.members;
	int status = CORO_OK;
	int64_t begin = cb_now_ns(), ns;

	if (run.flags & CB_RINGS_LIFO) {
		for (uint64_t i = 0; i < n && status == CORO_OK; i += run.members) {
			if ((status = start(i, i + run.members)) != CORO_OK)
				break;
			fire(i, i + run.members);
			join(i, i + run.members);
		}
		ns = cb_now_ns() - begin;
	} else {
		fire(0, n);
		ns = cb_now_ns() - begin;
		join(0, n);
	}
	if (status != CORO_OK) /* some are still there */
		return status;
	munmap(stacks, stacks_bytes);
	free(members);
	return ns;
}
