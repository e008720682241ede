/* ledger.c - see ledger.h. */
#include "ledger.h"

#include "kernel/wait.h"

#include <string.h>
#include <unistd.h>

bool lasting, several, machine;
uint64_t refusals, accepted, ran, own_ends;

void count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
}

bool may_fail(void)
{
	return fault_hits() > 0 || machine;
}

bool went_well(int status, int error)
{
	if (status == CORO_OK)
		return true;
	CHECK_EQ(status, error);
	CHECK(may_fail());
	count(&refusals);
	return false;
}

/* ------------------------------------------------------------------------ schedulers */

/* is_needed - without it there is no scheduler. */
static bool is_needed(enum fault_kind kind)
{
	return kind == FAULT_MAP || kind == FAULT_PROTECT || kind == FAULT_ALLOC ||
	       kind == FAULT_THREAD || kind == FAULT_ATTR || kind == FAULT_SIGSTACK;
}

void was_refused(int status)
{
	bool thread = fault_last() == FAULT_THREAD || fault_last() == FAULT_ATTR;

	count(&refusals);
	CHECK(may_fail());
	if (several)
		CHECK(status == CORO_EAGAIN || status == CORO_ENOMEM);
	else
		CHECK_EQ(status, thread ? CORO_EAGAIN : CORO_ENOMEM);
}

coro_scheduler *begin_with(const coro_options *options)
{
	uint16_t cpus[] = {0};
	coro_options o = *options;
	coro_scheduler *s = (coro_scheduler *)&o;

	accepted = ran = 0;
	o.cpus = cpus;
	o.cpu_count = 1;
	for (int try = 0; try < 2; try++) {
		int64_t hits = fault_hits();
		int status = QUIET(coro_scheduler_init(&s, &o));
		if (status == CORO_OK) {
			CHECK(fault_hits() == hits || !is_needed(fault_last()) || several);
			return s;
		}
		CHECK(s == (coro_scheduler *)&o);
		was_refused(status);
	}
	CHECK(lasting);
	return NULL;
}

coro_scheduler *begin(uint32_t workers, uint32_t flags, size_t stack_limit)
{
	coro_options o = options(workers, flags);

	o.stack_limit = stack_limit;
	return begin_with(&o);
}

void end(coro_scheduler *s)
{
	coro_worker_stats w[8];
	coro_stats t;
	uint64_t spawned = 0;

	int status = QUIET(coro_scheduler_wait(s));
	CHECK(status == CORO_OK || status == CORO_EPERM);
	CHECK_EQ(QUIET(coro_scheduler_stats(s, &t, w, 8)), CORO_OK);
	for (uint32_t i = 0; i < t.workers; i++)
		spawned += w[i].spawned;
	CHECK_EQ(spawned, accepted);
	if (!lasting)
		CHECK_EQ(ran, accepted);
	CHECK(ran <= accepted);
	QUIET(coro_scheduler_trim(s));
	finish(s);
}

void end_of_forks(coro_scheduler *s)
{
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	QUIET(coro_scheduler_trim(s));
	finish(s);
}

/* ------------------------------------------------------------------------ spawns */

bool outside_attr(coro_scheduler *s, const coro_attr *attr, coro_fn fn, const void *arg,
		  size_t bytes)
{
	bool ok = again(QUIET(coro_scheduler_spawn(s, attr, fn, arg, bytes, NULL)), CORO_ENOMEM);
	if (ok)
		count(&accepted); /* what was spawned before may spawn at this moment */
	return ok;
}

bool outside(coro_scheduler *s, coro_fn fn, const void *arg, size_t bytes)
{
	return outside_attr(s, NULL, fn, arg, bytes);
}

bool inside(const coro_attr *attr, coro_fn fn, const void *arg, size_t bytes, coro_handle *out)
{
	bool ok = again(coro_spawn_attr(attr, fn, arg, bytes, out), CORO_ENOMEM);
	if (ok)
		count(&accepted);
	else if (out)
		*out = 0;
	return ok;
}

void joined(coro_handle h)
{
	int status = h ? coro_join(h, NULL, 0) : CORO_OK;

	if (status == CORO_ECANCELED && may_fail())
		count(&ran);
	else
		CHECK(went_well(status, CORO_ENOMEM) || lasting);
}

void until_seen(const uint64_t *counter, uint64_t n)
{
	while (seen(counter) < n && !may_fail())
		coro_yield();
}

/* ------------------------------------------------------------------------ descriptors */

bool io_went_well(int64_t n)
{
	if (n >= 0)
		return true;
	int number = CORO_ERRNO((int)n);
	CHECK(number == ENOBUFS || number == ENOMEM || number == EMFILE || number == EPIPE ||
	      number == ECONNRESET || n == CORO_ENOMEM || n == CORO_EAGAIN);
	CHECK(may_fail());
	count(&refusals);
	return false;
}

coro_fd adopted_here(int fd)
{
	coro_fd f = 0;

	fault_holds(1);
	if (!io_went_well(coro_fd_adopt(&f, fd, 0))) {
		fault_holds(-1);
		close(fd);
	}
	return f;
}

/* ------------------------------------------------------------------------ bodies */

void ends_at_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
	count(&ran);
}

/* is_guarded - not even the kernel may read what lies there. */
static bool is_guarded(const char *p)
{
	return access(p, F_OK) < 0 && errno == EFAULT;
}

void leaf(void *arg, void *result)
{
	const char *low = coroi_self()->current->stack->low;

	(void)arg;
	(void)result;
	CHECK(is_guarded(low - 1) && is_guarded(low - COROI_GUARD_BYTES) && !is_guarded(low));
	CHECK_EQ(coro_yield(), CORO_OK);
	count(&ran);
}

void parks(void *arg, void *result)
{
	uint32_t n = *(uint32_t *)arg;

	CHECK_EQ(coro_park(), CORO_OK);
	n *= 3;
	memcpy(result, &n, sizeof n);
	count(&ran);
}

void small(coro_scheduler *s)
{
	for (int i = 0; i < 20; i++)
		outside(s, leaf, NULL, 0);
	end(s);
}

void small_work(coro_scheduler *s)
{
	accepted = ran = 0;
	for (int i = 0; i < 20; i++)
		outside(s, leaf, NULL, 0);
	while (__atomic_load_n(&ran, __ATOMIC_SEQ_CST) < 20)
		sleep_us(20);
}

/* ------------------------------------------------------------------------ frames and memory */

void frames_filled(char *frame, size_t bytes)
{
	memset(frame, (int)(bytes % 100), bytes);
	__asm__ volatile("" : : "r"(frame) : "memory");
}

void frames_kept(const char *frame, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(frame[i], bytes % 100);
}

static void deep(void *arg)
{
	char frame[40000];

	frames_filled(frame, sizeof frame);
	coro_yield(); /* CORO_EPERM outside a scheduled coroutine, which goes on at once */
	frames_kept(frame, sizeof frame);
	count(arg);
}

static void deferred(void *arg)
{
	count(arg);
}

void what_it_owns(uint64_t *ends)
{
	uint64_t calls = 0, registered = 0;
	char *text = coro_strdup("text"), *large = coro_malloc(5000);

	CHECK((text && large) || may_fail());
	CHECK((text && large) || lasting || (coro_malloc(5000) && coro_malloc(1)));
	if (text)
		CHECK(strcmp(text, "text") == 0);
	if (large)
		memset(large, 1, 5000);
	for (int i = 0; i < 100; i++)
		registered += again(coro_defer(deferred, ends), CORO_ENOMEM);
	CHECK(lasting || registered == 100);
	if (again(coro_call_on_stack(SANITIZED ? 1 << 20 : 64 << 10, deep, &calls), CORO_ENOMEM))
		CHECK_EQ(calls, 1);
	else
		CHECK_EQ(calls, 0);
	__atomic_sub_fetch(ends, registered, __ATOMIC_SEQ_CST);
}
