#include "bodies.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

int64_t testbody_sum, testbody_ran;
int32_t testbody_stop, testbody_busy;
uint64_t testbody_latest;

#define ADD(word, n) __atomic_add_fetch(&(word), (n), __ATOMIC_RELAXED)

void testbody_empty(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

void testbody_add(void *arg, void *result)
{
	(void)result;
	ADD(testbody_sum, *(int64_t *)arg);
	ADD(testbody_ran, 1);
}

void testbody_square(void *arg, void *result)
{
	int64_t x = *(int64_t *)arg;
	*(int64_t *)result = x * x;
}

void testbody_bytes(void *arg, void *result)
{
	for (int i = 0; i < 48; i++)
		((char *)result)[i] = ((char *)arg)[47 - i];
}

void testbody_park(void *arg, void *result)
{
	(void)arg;
	int status = coro_park();
	if (result)
		*(int32_t *)result = status;
	ADD(testbody_ran, 1);
	coro_exit_finished(); /* a test looks at the status */
}

void testbody_laps(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (coro_park() == CORO_OK)
		ADD(testbody_sum, 1);
}

void testbody_spin(void *arg, void *result)
{
	(void)arg;
	(void)result;
	ADD(testbody_ran, 1);
	while (!__atomic_load_n(&testbody_stop, __ATOMIC_ACQUIRE))
		;
}

void testbody_wait_for_stop(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&testbody_stop, __ATOMIC_ACQUIRE))
		usleep(500);
}

void testbody_blocks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	ADD(testbody_ran, 1);
	coro_blocking(testbody_wait_for_stop, NULL);
}

void testbody_abort(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_abort();
}

void testbody_yield(void *arg, void *result)
{
	(void)result;
	int64_t n = *(int64_t *)arg;
	while (n--)
		coro_yield();
	ADD(testbody_sum, 1);
}

void testbody_tree(void *arg, void *result)
{
	(void)result;
	int64_t depth = *(int64_t *)arg - 1;
	if (depth < 0) {
		ADD(testbody_sum, 1);
		return;
	}
	for (int i = 0; i < 2; i++)
		while (coro_spawn(testbody_tree, &depth, sizeof depth) == CORO_ENOMEM)
			coro_yield();
}

void testbody_wake(void *arg, void *result)
{
	int status = coro_wake(*(coro_handle *)arg);
	if (result)
		*(int32_t *)result = status;
}

void testbody_join(void *arg, void *result)
{
	*(int32_t *)result = coro_join(*(coro_handle *)arg, NULL, 0);
	coro_exit_finished(); /* a test looks at the status */
}

static __attribute__((noinline)) int deep(volatile char *above, int n)
{
	volatile char frame[1024];
	frame[0] = above[0];
	return n <= 0 ? frame[0] : deep(frame, n - 1) + frame[0];
}

void testbody_deep(void *arg, void *result)
{
	(void)arg;
	(void)result;
	volatile char top[1] = {0};
	ADD(testbody_sum, deep(top, 1 << 20));
}

void testbody_self(void *arg, void *result)
{
	(void)arg;
	*(coro_handle *)result = coro_self();
}

void testbody_stack_left(void *arg, void *result)
{
	(void)arg;
	*(uint64_t *)result = coro_stack_left();
}

static void child(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg;
	coro_park();
	coro_yield();
	*(int64_t *)result = n * n;
}

#define FAMILY 64

void testbody_family(void *arg, void *result)
{
	int64_t left = *(int64_t *)arg, sum = 0, number = 0;
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE, .result_bytes = sizeof sum};
	coro_handle h[FAMILY];

	while (left > 0) {
		int n = left < FAMILY ? (int)left : FAMILY;
		for (int i = 0; i < n; i++, number++)
			while (coro_spawn_attr(&attr, child, &number, sizeof number, &h[i]) ==
			       CORO_ENOMEM)
				coro_yield();
		coro_yield();
		for (int i = 0; i < n; i++)
			coro_wake(h[i]);
		for (int i = 0; i < n; i++) {
			int64_t square = 0;
			coro_join(h[i], &square, sizeof square);
			sum += square;
		}
		left -= n;
	}
	*(int64_t *)result = sum;
}

struct pong {
	coro_handle partner;
	int64_t n;
};

static void pong(void *arg, void *result)
{
	(void)result;
	struct pong p = *(struct pong *)arg;
	while (p.n--) {
		coro_park();
		coro_wake(p.partner);
	}
}

void testbody_pingpong(void *arg, void *result)
{
	(void)result;
	struct pong p = {.partner = coro_self(), .n = *(int64_t *)arg};
	coro_attr attr = {.size = sizeof attr};
	coro_handle other;

	while (coro_spawn_attr(&attr, pong, &p, sizeof p, &other) == CORO_ENOMEM)
		coro_yield();
	for (int64_t i = 0; i < p.n; i++) {
		coro_wake(other);
		if (coro_park() == CORO_OK)
			ADD(testbody_sum, 1);
	}
}

void testbody_hop(void *arg, void *result)
{
	const struct testbody_hop *h = arg;
	int64_t number = 0;

	(void)result;
	for (int64_t n = h->n; n--;)
		coro_yield();
	int status = h->inlined ? coro_call_go_inline(h->id, &number, sizeof number, &number,
						      sizeof number, NULL)
				: coro_call_go(h->id, &number, sizeof number, &number,
					       sizeof number, NULL);
	if (status == CORO_OK && coro_wake(h->to) == CORO_OK)
		ADD(testbody_sum, number);
}

void testbody_mixed(void *arg, void *result)
{
	const struct testbody_mixed *a = arg;
	*(struct testbody_mixed *)result = (struct testbody_mixed){
		.d = a->d * 2,
		.f = a->f / 2,
		.i8 = (int8_t)-a->i8,
		.u16 = (uint16_t)~a->u16,
		.i32 = {a->i32[2], a->i32[1], a->i32[0]},
		.b = !a->b,
		.u64 = a->u64 + 1,
	};
}

/* What is before and behind the n bytes of the result is coro's: only zero bytes are looked at. */
static void turn(const unsigned char *arg, unsigned char *result, int n)
{
	if (((uintptr_t)arg | (uintptr_t)result) & 15)
		ADD(testbody_sum, 1);
	for (int i = 0; i < n; i++) {
		if (result[i])
			ADD(testbody_sum, 1);
		result[i] = (unsigned char)~arg[n - 1 - i];
	}
}

#define TURN(n)                                       \
	static void turn_##n(void *arg, void *result) \
	{                                             \
		turn(arg, result, n);                 \
	}
/* clang-format off */
#define EACH(X) \
	X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) \
	X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) \
	X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) \
	X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32) \
	X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) \
	X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48)
/* clang-format on */
#define ENTRY(n) [n] = turn_##n,

EACH(TURN)
const coro_fn testbody_turn[49] = {EACH(ENTRY)};

uint64_t testbody_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note_late(uint64_t since)
{
	uint64_t late = testbody_now() - since;
	uint64_t most = __atomic_load_n(&testbody_latest, __ATOMIC_RELAXED);
	while (late > most && !__atomic_compare_exchange_n(&testbody_latest, &most, late, 0,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	ADD(testbody_ran, 1);
}

void testbody_late(void *arg, void *result)
{
	(void)result;
	note_late(*(uint64_t *)arg);
}

static uint64_t partner_woken;

static void partner(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_park();
	note_late(__atomic_load_n(&partner_woken, __ATOMIC_RELAXED));
}

void testbody_busy_parent(void *arg, void *result)
{
	(void)result;
	uint64_t until = testbody_now() + *(uint64_t *)arg;
	coro_handle other;

	coro_spawn_first(NULL, partner, NULL, 0, &other); /* it parks here, then we go on */
	uint64_t now = testbody_now();
	coro_spawn(testbody_late, &now, sizeof now);
	__atomic_store_n(&partner_woken, now, __ATOMIC_RELAXED);
	coro_wake(other);
	__atomic_store_n(&testbody_busy, 1, __ATOMIC_RELEASE);
	while (testbody_now() < until && !__atomic_load_n(&testbody_stop, __ATOMIC_RELAXED))
		;
}

intptr_t testbody_count(void *arg, intptr_t first)
{
	intptr_t n = (intptr_t)arg;
	while (n--)
		coro_yield_value(first++, NULL);
	return -1;
}

intptr_t testbody_echo(void *arg, intptr_t first)
{
	(void)arg;
	while (first)
		coro_yield_value(first, &first);
	return 0;
}

intptr_t testbody_perm(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	return coro_yield();
}

intptr_t testbody_quit(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	coro_abort();
	return 0;
}

intptr_t testbody_inside(void *arg, intptr_t first)
{
	(void)arg;
	ADD(testbody_ran, 1);
	while (!__atomic_load_n(&testbody_stop, __ATOMIC_ACQUIRE))
		;
	return first;
}

static void add(void *n)
{
	ADD(testbody_sum, (intptr_t)n);
}

intptr_t testbody_tidy(void *arg, intptr_t first)
{
	(void)arg;
	coro_defer(add, (void *)first);
	coro_yield_value(first, NULL);
	return first;
}

intptr_t testbody_room(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	return (intptr_t)coro_stack_left();
}

intptr_t testbody_sink(void *arg, intptr_t first)
{
	volatile char top[1] = {(char)first};
	(void)arg;
	return deep(top, 1 << 20);
}

void testbody_canceled(void *arg, void *result)
{
	int64_t how = *(int64_t *)arg;

	ADD(testbody_ran, 1);
	if (how & 1)
		while (!coro_canceled())
			coro_yield();
	else if (coro_park() != CORO_ECANCELED)
		return;
	*(int64_t *)result = how + 100;
	if (!(how & 2))
		coro_exit_finished();
}

void testbody_cancel(void *arg, void *result)
{
	*(int32_t *)result = coro_cancel(*(coro_handle *)arg);
}

void testbody_double(void *arg, void *result)
{
	struct testbody_pipe *p = arg;
	int64_t v, *n = result;

	for (; coro_chan_recv(p->in, &v, CORO_FOREVER) == CORO_OK; ++*n) {
		v *= 2;
		if (coro_chan_send(p->out, &v, CORO_FOREVER))
			return;
	}
	coro_chan_close(p->out);
}

void testbody_produce(void *arg, void *result)
{
	struct testbody_flow *f = arg;
	int64_t *status = result;

	for (int64_t i = 1; i <= f->n && !*status; i++)
		*status = coro_chan_send(f->object, &i, CORO_FOREVER);
}

void testbody_consume(void *arg, void *result)
{
	struct testbody_flow *f = arg;
	int64_t v, *sum = result;

	for (int64_t i = 0; i < f->n && coro_chan_recv(f->object, &v, CORO_FOREVER) == CORO_OK; i++)
		*sum += v;
}

void testbody_permits(void *arg, void *result)
{
	static int64_t inside;
	struct testbody_flow *f = arg;
	int64_t *others = result;

	for (int64_t i = 0; i < f->n; i++) {
		if (coro_sem_acquire(f->object, CORO_FOREVER))
			return;
		*others += __atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST) != 0;
		ADD(testbody_sum, 1);
		__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
		coro_sem_release(f->object, 1);
	}
}

static void place_child(void *arg, void *result)
{
	(void)arg;
	coro_yield();
	*(int64_t *)result = coro_worker();
}

void testbody_place(void *arg, void *result)
{
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE, .result_bytes = 8};
	int64_t here = coro_worker(), there = -1;
	bool same = true;
	coro_handle child;

	for (int64_t n = *(int64_t *)arg; n; n--) {
		coro_yield();
		same &= coro_worker() == here;
	}
	if (coro_spawn_attr(&attr, place_child, NULL, 0, &child) == CORO_OK)
		coro_join(child, &there, 8);
	*(int64_t *)result = same && there == here ? here : -1;
	ADD(testbody_sum, here + 1);
}

int64_t testbody_plain[2];

void testbody_locks(void *arg, void *result)
{
	struct testbody_flow *f = arg;
	int64_t *status = result;

	for (int64_t i = 0; i < f->n; i++) {
		if ((*status = coro_mutex_lock(f->object, CORO_FOREVER)))
			return;
		testbody_plain[0]++;
		if (i % 16 == 0)
			coro_yield();
		if ((*status = coro_mutex_unlock(f->object)))
			return;
	}
}

void testbody_reads(void *arg, void *result)
{
	struct testbody_flow *f = arg;
	int64_t *wrong = result;
	int status;

	for (int64_t i = 0; i < f->n; i++) {
		if ((status = coro_rwlock_read(f->object, CORO_FOREVER))) {
			*wrong = status;
			return;
		}
		*wrong += testbody_plain[0] != testbody_plain[1];
		coro_rwlock_unlock(f->object);
	}
}

void testbody_writes(void *arg, void *result)
{
	struct testbody_flow *f = arg;
	int64_t *status = result;

	for (int64_t i = 0; i < f->n; i++) {
		if ((*status = coro_rwlock_write(f->object, CORO_FOREVER)))
			return;
		testbody_plain[0]++;
		if (i % 16 == 0)
			coro_yield();
		testbody_plain[1]++;
		if ((*status = coro_rwlock_unlock(f->object)))
			return;
	}
}

void testbody_takes(void *arg, void *result)
{
	struct testbody_stock *s = arg;
	int64_t *status = result;

	if ((*status = coro_mutex_lock(s->mutex, CORO_FOREVER)))
		return;
	for (int64_t i = 0; i < s->n && !*status; i++) {
		while (!testbody_plain[0] && !*status)
			*status = coro_cond_wait(s->cond, s->mutex, CORO_FOREVER);
		testbody_plain[0] -= !*status;
	}
	coro_mutex_unlock(s->mutex);
}

void testbody_counts(void *arg, void *result)
{
	struct testbody_flow *f = arg;

	*(int64_t *)result = coro_latch_add(f->object, f->n);
}

static void add_once(void *n)
{
	coro_yield();
	ADD(testbody_sum, *(int64_t *)n);
}

void testbody_once(void *arg, void *result)
{
	struct testbody_flow *f = arg;

	*(int64_t *)result = coro_once_do(f->object, add_once, &f->n, CORO_FOREVER);
}

void testbody_where(void *arg, void *result)
{
	int64_t *worker = result;
	coro_mutex home;

	*worker = coro_worker();
	for (int64_t n = *(int64_t *)arg; n-- > 0 && *worker >= 0;) {
		coro_yield();
		if (*worker != coro_worker())
			*worker = -1;
	}
	if (coro_mutex_init(&home, CORO_HOME))
		*worker = -2;
	ADD(testbody_sum, *worker >= 0);
}
