#include "bodies.h"

#include "coro_io.h"

#include <stdio.h>
#include <string.h>

int64_t primes_found, most_inside;

static int is_prime(uint32_t n)
{
	for (uint32_t d = 2; d * d <= n; d++)
		if (n % d == 0)
			return 0;
	return n >= 2;
}

void sieve(int64_t from, int64_t to, void *arg)
{
	const struct sieve *s = arg;

	for (int64_t n = from; n < to; n++)
		s->prime[n] = (uint8_t)is_prime((uint32_t)n);
}

void count_primes(void *arg, void *result)
{
	(void)result;
	struct range r = *(struct range *)arg;
	int64_t found = 0;

	for (uint32_t n = r.from; n < r.to; n++) {
		found += is_prime(n);
		if (n % 1024 == 0)
			coro_yield(); /* be fair to the others */
	}
	__atomic_add_fetch(&primes_found, found, __ATOMIC_RELAXED);
}

void collatz(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg;
	uint32_t steps = 0;

	for (; n != 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	*(uint32_t *)result = steps;
}

void relay(void *arg, void *result)
{
	(void)result;
	if (coro_park() == CORO_OK)
		coro_wake(*(coro_handle *)arg);
}

void adder(void *arg, void *result)
{
	uint32_t start = *(uint32_t *)arg, sum = start;

	while (coro_park() == CORO_OK) /* once for each permit, until it is cancelled */
		sum += start;
	*(uint32_t *)result = sum;
	if (sum != start)
		coro_exit_finished(); /* else it is canceled: there is nothing to show */
}

intptr_t fibonacci(void *arg, intptr_t sent)
{
	(void)arg;
	(void)sent;
	for (intptr_t a = 0, b = 1, next;; a = b, b = next) {
		next = a + b;
		coro_yield_value(a, NULL);
	}
}

void word_count(void *arg, void *result)
{
	static const char *const lines[] = {"to be or not to be", "", "that is the question"};
	int64_t words, line = *(int64_t *)arg;
	char text[64];

	*(int64_t *)result = -1;
	switch (coro_call_go(coro_go_function("count words"), lines[line], strlen(lines[line]),
			     &words, sizeof words, NULL)) {
	case CORO_OK:
		*(int64_t *)result = words;
		break;
	case CORO_EFAILED:
		coro_call_error(text, sizeof text);
		fprintf(stderr, "line %d: %s\n", (int)line, text);
		break;
	}
}

void doubler(void *arg, void *result)
{
	const struct pipe p = *(struct pipe *)arg;
	int64_t value, n = 0;

	/* until it is closed and empty */
	while (coro_chan_recv(p.in, &value, CORO_FOREVER) == CORO_OK) {
		value *= 2;
		if (coro_chan_send(p.out, &value, CORO_FOREVER))
			break;
		n++;
	}
	coro_chan_close(p.out);
	*(int64_t *)result = n;
}

void visitor(void *arg, void *result)
{
	coro_sem *permits = *(coro_sem **)arg;
	/* of one scheduler with one worker: nobody else runs between two waits */
	static int64_t inside;
	(void)result;

	if (coro_sem_acquire(permits, CORO_FOREVER))
		return; /* cancelled: no permit was taken */
	if (++inside > most_inside)
		most_inside = inside;
	coro_yield();
	inside--;
	coro_sem_release(permits, 1);
}

int64_t goods, table[4];

void depositor(void *arg, void *result)
{
	coro_mutex *lock = *(coro_mutex **)arg;
	(void)result;

	if (coro_mutex_lock(lock, CORO_FOREVER))
		return; /* canceled: it is not locked */
	int64_t before = goods;
	coro_yield(); /* nobody else comes in between */
	goods = before + 1;
	coro_mutex_unlock(lock);
}

void buyer(void *arg, void *result)
{
	const struct shop s = *(struct shop *)arg;
	int status = coro_mutex_lock(s.lock, CORO_FOREVER);
	(void)result;

	if (status)
		return;
	while (!goods && !status)
		status = coro_cond_wait(s.delivered, s.lock, CORO_FOREVER);
	if (!status)
		goods--;
	coro_mutex_unlock(s.lock);
}

static int64_t sum_of_table(void)
{
	return table[0] + table[1] + table[2] + table[3];
}

void auditor(void *arg, void *result)
{
	coro_rwlock *lock = *(coro_rwlock **)arg;

	if (coro_rwlock_read(lock, CORO_FOREVER))
		return;
	*(int64_t *)result = sum_of_table();
	coro_rwlock_unlock(lock);
}

void runner(void *arg, void *result)
{
	(void)result;
	coro_latch_add(*(coro_latch **)arg, -1);
}

static void make_table(void *arg)
{
	(void)arg;
	for (int64_t i = 0; i < 4; i++)
		table[i] = i * i;
}

void user(void *arg, void *result)
{
	if (coro_once_do(*(coro_once **)arg, make_table, NULL, CORO_FOREVER) == CORO_OK)
		*(int64_t *)result = sum_of_table();
}

void echo(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char bytes[1024];
	int64_t n;

	(void)result;
	while ((n = coro_read(f, bytes, sizeof bytes, CORO_FOREVER)) > 0)
		if (coro_write_all(f, bytes, (size_t)n, NULL, CORO_FOREVER) != CORO_OK)
			break;
	coro_fd_close(f);
}
