/* scenarios_fd_select.c - selects with descriptors and channels, of plain and dense coroutines. */
#include "ledger.h"

#include <string.h>
#include <sys/socket.h>

/* Bytes of a value: what a dense coroutine selects with has a mapping of its own, so that a refused
 * mapping is a refused select. */
#define VALUE  ((size_t)32 << 10)
#define ROUNDS 4 /* of each feeder */

/* Bytes come to a coroutine by two descriptors, and values by a channel. */
enum { WAYS = 2 };

struct junction {
	bool dense, runs;
	coro_fd in[WAYS], out[WAYS]; /* 0: it could not be adopted */
	coro_chan *c;
	uint64_t sent[WAYS + 1], got[WAYS + 1]; /* the last one: values */
	bool ended[WAYS + 1];
	char value[VALUE];
};

#define JUNCTIONS 5

static struct junction junctions[JUNCTIONS];
static uint64_t waiting, canceled, told; /* told: that there is no room in a set */

static bool faults_stay(void)
{
	return lasting || several || machine;
}

/* may_time_out - waits have deadlines: a feeder may wait for a stack that never comes. */
static bool may_time_out(void)
{
	return faults_stay() || may_fail();
}

static uint64_t patience(void)
{
	return may_time_out() ? coro_now() + 3 * MS : CORO_FOREVER;
}

/* select_went_well - status is an index; else it is what the call that has failed comes to, or the
 * deadline has passed. */
static bool select_went_well(int status, bool dense, uint64_t deadline)
{
	if (status >= 0)
		return true;
	if (status == CORO_ETIMEDOUT)
		return CHECK(may_time_out() && coro_now() >= deadline), false;
	CHECK(may_fail());
	count(&refusals);
	if (several || machine)
		return io_went_well(status);
	switch (fault_last()) {
	case FAULT_SET:
		CHECK_EQ(status, CORO_OF_ERRNO(ENOMEM));
		count(&told);
		break;
	case FAULT_EVENT:
		CHECK_EQ(status, CORO_OF_ERRNO(EMFILE));
		break;
	default:
		CHECK(dense);
		CHECK_EQ(status, CORO_ENOMEM);
	}
	return false;
}

/* takes - the case of `way` was done. Returns: it went well. */
static bool takes(struct junction *x, int way, int status)
{
	char bytes[8];
	int64_t n;

	if (way == WAYS) {
		CHECK(status == CORO_OK || status == CORO_ECLOSED);
		x->ended[way] = status;
		x->got[way] += !status;
		if (!status)
			frames_kept(x->value, VALUE);
		memset(x->value, 0, VALUE);
		return true;
	}
	if (!io_went_well(status)) /* the look at the descriptor has failed */
		return false;
	n = coro_read(x->in[way], bytes, sizeof bytes, patience());
	if (n == CORO_ETIMEDOUT)
		return CHECK(may_time_out()), false;
	if (!io_went_well(n))
		return false;
	x->ended[way] = !n;
	x->got[way] += (uint64_t)n;
	return true;
}

static bool selects_once(struct junction *x)
{
	coro_case c[WAYS + 1];
	int way[WAYS + 1];
	uint32_t n = 0;

	for (int i = 0; i <= WAYS; i++) {
		if (x->ended[i])
			continue;
		way[n] = i;
		c[n++] = i < WAYS ? (coro_case){.fd = x->in[i], .direction = CORO_IN}
				  : (coro_case){.chan = x->c, .recv = x->value};
	}
	uint64_t deadline = patience();
	int one = coro_select(c, n, deadline);
	return select_went_well(one, x->dense, deadline) && takes(x, way[one], c[one].status);
}

static void gathers(void *arg, void *result)
{
	struct junction *x = *(struct junction **)arg;
	int failures = 0;

	(void)result;
	while (!(x->ended[0] && x->ended[1] && x->ended[2]) && !(failures > 4 && faults_stay()))
		failures += !selects_once(x);
	count(&ran);
}

static void feeds_bytes(void *arg, void *result)
{
	struct junction *x = &junctions[*(uint32_t *)arg / WAYS];
	int way = (int)(*(uint32_t *)arg % WAYS);

	(void)result;
	for (int i = 0; i < ROUNDS; i++) {
		int64_t n = coro_write(x->out[way], "x", 1, patience());
		if (io_went_well(n))
			x->sent[way] += (uint64_t)n;
		CHECK_EQ(i % 2 ? coro_yield() : coro_sleep(10000), CORO_OK);
	}
	CHECK_EQ(coro_fd_close(x->out[way]), CORO_OK);
	x->out[way] = 0;
	count(&ran);
}

static void feeds_values(void *arg, void *result)
{
	struct junction *x = *(struct junction **)arg;
	static char value[VALUE];

	(void)result;
	frames_filled(value, VALUE);
	for (int i = 0; i < ROUNDS; i++) {
		int status = coro_chan_send(x->c, value, patience());
		CHECK(status == CORO_OK || (status == CORO_ETIMEDOUT && may_time_out()));
		x->sent[WAYS] += !status;
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	CHECK_EQ(coro_chan_close(x->c), CORO_OK);
	count(&ran);
}

static bool opened(struct junction *x)
{
	for (int i = 0; i < WAYS; i++) {
		int fd[2];
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
		x->in[i] = adopted_here(fd[0]);
		x->out[i] = adopted_here(fd[1]);
	}
	again(coro_chan_new(&x->c, VALUE, 0, 0), CORO_ENOMEM);
	return x->in[0] && x->in[1] && x->out[0] && x->out[1] && x->c;
}

/* rest - the bytes that were not read. They are counted by calls that never fail. */
static uint64_t rest(coro_fd f)
{
	char bytes[16];
	ssize_t n, all = 0;

	while ((n = recv(coro_fd_number(f), bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
		all += n;
	return (uint64_t)all;
}

static void close_junction(struct junction *x)
{
	for (int i = 0; i < WAYS; i++) {
		CHECK(x->runs || may_fail() || x == &junctions[JUNCTIONS - 1]);
		if (x->in[i]) {
			CHECK_EQ(x->sent[i], x->got[i] + rest(x->in[i]));
			CHECK(x->ended[i] || !x->runs || faults_stay());
			CHECK_EQ(QUIET(coro_fd_close(x->in[i])), CORO_OK);
		}
		if (x->out[i])
			CHECK_EQ(QUIET(coro_fd_close(x->out[i])), CORO_OK);
	}
	CHECK_EQ(x->sent[WAYS], x->got[WAYS]);
	CHECK_EQ(QUIET(coro_chan_free(x->c)), CORO_OK);
}

/* Nothing comes: it is canceled. */
static void selects_until_canceled(void *arg, void *result)
{
	struct junction *x = *(struct junction **)arg;
	coro_case c[] = {{.chan = x->c, .recv = x->value},
			 {.fd = x->in[0], .direction = CORO_IN},
			 {.fd = x->in[1], .direction = CORO_IN}};
	int one;

	(void)result;
	count(&waiting);
	do {
		one = coro_select(c, 3, CORO_FOREVER);
		if (one == CORO_ECANCELED)
			break;
		if (one >= 0) {
			CHECK(one > 0);
			CHECK(!io_went_well(c[one].status));
		} else {
			CHECK(!select_went_well(one, x->dense, CORO_FOREVER));
		}
	} while (!faults_stay());
	canceled += one == CORO_ECANCELED; /* one worker */
	count(&ran);
	coro_exit_finished(); /* although it was canceled */
}

static void waits_in_vain(struct junction *x, const coro_attr *attr)
{
	coro_handle h;

	waiting = 0;
	if (!inside(attr, selects_until_canceled, &x, sizeof x, &h))
		return;
	until_seen(&waiting, 1);
	coro_sleep(MS / 10);
	CHECK(went_well(coro_cancel(h), CORO_ESTALE) || may_fail());
	joined(h);
}

static void starts_junctions(void *arg, void *result)
{
	static const coro_attr attr[2] = {
		{.size = sizeof attr[0], .flags = CORO_JOINABLE},
		{.size = sizeof attr[0], .flags = CORO_JOINABLE | CORO_DENSE},
	};
	coro_handle h[JUNCTIONS][WAYS + 2] = {0};

	(void)arg;
	(void)result;
	for (uint32_t i = 0; i < JUNCTIONS; i++) {
		struct junction *x = &junctions[i];
		x->dense = i > 0;
		if (!opened(x))
			continue;
		if (i == JUNCTIONS - 1) {
			waits_in_vain(x, &attr[1]);
			continue;
		}
		x->runs = inside(&attr[x->dense], gathers, &x, sizeof x, &h[i][0]);
		for (uint32_t way = 0; way < WAYS; way++) {
			uint32_t number = i * WAYS + way;
			inside(&attr[0], feeds_bytes, &number, sizeof number, &h[i][1 + way]);
		}
		inside(&attr[0], feeds_values, &x, sizeof x, &h[i][WAYS + 1]);
	}
	for (int i = 0; i < JUNCTIONS; i++)
		for (int k = 0; k < WAYS + 2; k++)
			joined(h[i][k]);
	count(&ran);
}

/* What comes by descriptors and by a channel is counted at both ends. A select that is refused has
 * taken nothing, and the next one finds all. */
SCENARIO(fd_selects)
{
	coro_options o = options(1, 0);
	coro_scheduler *s;

	o.shared_stacks = 2; /* dense coroutines are copied out as they wait */
	o.shared_stack_bytes = (size_t)8 * STACK;
	if (!(s = begin_with(&o)))
		return;
	memset(junctions, 0, sizeof junctions);
	canceled = told = 0;
	outside(s, starts_junctions, NULL, 0);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	CHECK(may_fail() || canceled == 1);
	if (!several && !machine && fault_hits() && fault_last() == FAULT_SET)
		CHECK(told > 0);
	for (int i = 0; i < JUNCTIONS; i++)
		close_junction(&junctions[i]);
	end(s);
}
