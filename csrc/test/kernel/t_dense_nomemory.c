/*
 * t_dense_nomemory.c - dense coroutines without memory: what is refused, and what starts later.
 */
#include "dense_bodies.h"

#include <string.h>

static coro_sem sem;
static uint64_t arrived, refused, unstarted;

/* ---------------------------------------------------------------------- copies that are refused */

static void count(int status)
{
	CHECK(status == CORO_OK || status == CORO_ENOMEM || status == CORO_ETIMEDOUT);
	add_to(&refused, status == CORO_ENOMEM);
}

/* Children of scopes that have not ended, by owner. */
static uint64_t children[20];

static void child_of_scope(void *arg, void *result)
{
	uint64_t id;
	(void)result;

	memcpy(&id, arg, 8);
	for (unsigned i = 0; i < 5; i++)
		coro_yield();
	add_to(&children[id], -1);
}

/* No child outlives the wait of its scope, even if there is no memory to wait at first. */
static void waits_for_children(uint64_t id)
{
	coro_scope *scope;

	CHECK_EQ(coro_scope_new(&scope), CORO_OK);
	for (unsigned i = 0; i < 3; i++) {
		add_one(&children[id]);
		CHECK_EQ(coro_scope_spawn(scope, NULL, child_of_scope, &id, 8), CORO_OK);
	}
	CHECK_EQ(coro_scope_wait(scope), CORO_OK);
	CHECK_EQ(seen(&children[id]), 0);
}

/* Each has a permit to give to its neighbour. It goes on without a permit of its own if there is no
 * memory to wait for one. */
static void lives_with_it(void *arg, void *result)
{
	uint64_t id, state;
	volatile uint64_t at[6];
	(void)result;

	memcpy(&id, arg, 8);
	state = id * 2 + 1;
	for (unsigned i = 0; i < 12; i++) {
		for (unsigned k = 0; k < 6; k++)
			at[k] = id * 1000 + i * 10 + k;
		switch (rnd(&state) % 6) {
		case 0:
			count(coro_yield());
			break;
		case 1:
			count(coro_sleep(rnd(&state) % 20000));
			break;
		case 2:
			count(coro_park_until(coro_now() + rnd(&state) % 20000));
			break;
		case 3: {
			int status = coro_sem_acquire(&sem, CORO_FOREVER);
			count(status);
			if (!status) {
				coro_yield();
				CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
			}
			break;
		}
		case 5:
			waits_for_children(id);
			break;
		case 4: {
			uint64_t got = 0;
			coro_handle child;
			CHECK_EQ(coro_spawn_attr(&dense_joinable, dense_ends, &id, 8, &child),
				 CORO_OK);
			/* the child never had a stack, or there was no memory to wait for it */
			if (coro_join(child, &got, 8) == CORO_ENOMEM)
				add_one(coro_detach(child) == CORO_ESTALE ? &unstarted : &refused);
			break;
		}
		}
		for (unsigned k = 0; k < 6; k++)
			CHECK_EQ(at[k], id * 1000 + i * 10 + k);
	}
	add_one(&arrived);
}

static void with_refusals(void *arg, void *result)
{
	uint64_t k;
	(void)result;

	memcpy(&k, arg, 8);
	fail_block = (int)(k >> 16);
	fail_blocks = (int)(k & 0xffff);
	for (uint64_t i = 0; i < 20; i++)
		CHECK_EQ(coro_spawn_attr(&dense_attr, lives_with_it, &i, 8, NULL), CORO_OK);
}

TEST(dense_without_memory)
{
	static const unsigned in_a_row[] = {1, 2, 5, 1000};
	/* how many blocks are granted before the first refusal */
	uint64_t most = scaled(150) < 20 ? 20 : scaled(150);

	refused = unstarted = 0;
	for (uint64_t k = 0; k < most; k++) {
		for (unsigned j = 0; j < 4; j++) {
			coro_scheduler *s = dense_start(1, 2, 0);
			uint64_t arg = k << 16 | in_a_row[j];
			arrived = dense_done = 0;
			CHECK_EQ(coro_sem_init(&sem, 2, 0), CORO_OK);
			CHECK_EQ(coro_scheduler_spawn(s, NULL, with_refusals, &arg, 8, NULL),
				 CORO_OK);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK(seen(&arrived) <= 20);
			CHECK_EQ(stats(s).dense_saved, 0);
			finish(s);
			CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
		}
	}
	report("%llu waits and joins refused, %llu children never started",
	       (unsigned long long)refused, (unsigned long long)unstarted);
	CHECK(refused > 0);
}

/* ------------------------------------------------------------------------ the first of a worker */

/* k / 2 calls of one kind are granted, then one is refused. */
static void starts_without_memory(void *arg, void *result)
{
	uint64_t k, n = 0;
	(void)result;

	memcpy(&k, arg, 8);
	*(k & 1 ? &fail_map : &fail_alloc) = (int)(k / 2);
	CHECK_EQ(coro_spawn_attr(&dense_attr, dense_large, &n, 8, NULL), CORO_OK);
	for (uint64_t i = 0; i < 5; i++)
		CHECK_EQ(coro_spawn_attr(&dense_attr, dense_large, &i, 8, NULL), CORO_OK);
	for (unsigned i = 0; i < 20; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	refused += fail_alloc == -1 && fail_map == -1;
	fail_alloc = fail_map = -1;
}

/* The first dense coroutines of a worker, and those whose stacks become private: they start when
 * there is memory. */
TEST(dense_start_without_memory)
{
	refused = 0;
	for (uint64_t k = 0; k < 24; k++) {
		coro_options o = {.size = sizeof o,
				  .workers = 1,
				  .stack_bytes = 64 << 10,
				  .shared_stacks = 2,
				  .shared_stack_bytes = 32 << 10};
		coro_scheduler *s = start(&o);
		dense_done = 0;
		CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_without_memory, &k, 8, NULL),
			 CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&dense_done), 6);
		finish(s);
	}
	CHECK(refused >= 6);
}

/* ---------------------------------------------------------------------- waits that need a block */

static coro_mutex mutex;
static coro_rwlock rwlock;
static coro_cond cond;
static coro_chan *chan[2];

static void is_not_called(void *arg)
{
	(void)arg;
	CHECK(false);
}

static void waits_without_a_block(void *arg, void *result)
{
	uint64_t value = 1;
	coro_case both[2] = {{.chan = chan[0], .recv = &value}, {.chan = chan[1], .send = &value}};
	(void)arg;
	(void)result;
	for (unsigned what = 0; what < 9; what++) {
		int status = 0;
		fail_block = 0;
		fail_blocks = 1;
		switch (what) {
		case 0:
			status = coro_sem_acquire(&sem, CORO_FOREVER);
			break;
		case 1:
			status = coro_mutex_lock(&mutex, CORO_FOREVER);
			break;
		case 2:
			status = coro_rwlock_read(&rwlock, CORO_FOREVER);
			break;
		case 3:
			status = coro_rwlock_write(&rwlock, CORO_FOREVER);
			break;
		case 4:
			fail_blocks = 0;
			CHECK_EQ(coro_mutex_unlock(&mutex), CORO_EPERM);
			coro_mutex own;
			CHECK_EQ(coro_mutex_init(&own, 0), CORO_EINVAL);
			coro_mutex *held = coro_malloc(sizeof *held);
			CHECK_EQ(coro_mutex_init(held, 0), CORO_OK);
			CHECK_EQ(coro_mutex_lock(held, 0), CORO_OK);
			fail_blocks = 1;
			status = coro_cond_wait(&cond, held, CORO_FOREVER);
			CHECK_EQ(coro_mutex_unlock(held), CORO_OK); /* the mutex is still locked */
			CHECK_EQ(coro_mutex_destroy(held), CORO_OK);
			break;
		case 5:
			status = coro_blocking(is_not_called, NULL);
			break;
		case 6:
			status = coro_chan_recv(chan[0], &value, CORO_FOREVER);
			break;
		case 7:
			status = coro_chan_send(chan[1], &value, CORO_FOREVER);
			break;
		case 8:
			status = coro_select(both, 2, CORO_FOREVER);
			break;
		}
		CHECK_EQ(status, CORO_ENOMEM);
		CHECK_EQ(fail_blocks, 0);
	}
	fail_blocks = 1;
	CHECK_EQ(coro_sleep(1000), CORO_OK);
	CHECK_EQ(coro_park_until(coro_now() + 1000), CORO_ETIMEDOUT);
	CHECK_EQ(fail_blocks, 1);
	fail_block = -1;
	add_one(&dense_done);
}

/* Each wait is refused, and leaves no waiter in a queue. A deadline alone needs no block. */
TEST(dense_waits_need_memory)
{
	coro_scheduler *s = dense_start(1, 0, 0);

	dense_done = 0;
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_init(&rwlock, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_write(&rwlock, 0), CORO_OK);
	CHECK_EQ(coro_cond_init(&cond, 0), CORO_OK);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(coro_chan_new(&chan[i], 8, 0, 0), CORO_OK);
	dense_spawn(s, waits_without_a_block, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), 1);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(coro_chan_free(chan[i]), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	CHECK_EQ(coro_rwlock_destroy(&rwlock), CORO_OK);
	CHECK_EQ(coro_cond_destroy(&cond), CORO_OK);
	finish(s);
}
