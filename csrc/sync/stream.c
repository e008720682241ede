//go:build ignore
/* stream.c - streams: reading, writing, closing. See stream.h. */
#include "sync/stream.h"

#include "base/sys.h"

#include <string.h>

#define WAITED  ((uint64_t)COROI_PIPE_WAITED)
#define ENDED   ((uint64_t)COROI_PIPE_ENDED)
#define REFUSED ((uint64_t)COROI_PIPE_REFUSED)
#define CLOSED  (ENDED | REFUSED)

#define NOT_NOW INT64_MIN /* a try has done nothing, and the call is to wait */

static inline uint64_t position(uint64_t at)
{
	return at >> COROI_PIPE_SHIFT;
}

/* --------------------------------------------------------------------------------- both sides */

int coroi_pipe_begin(struct coroi_pipe *p, bool writes)
{
	uint32_t free = 0;

	return at_cas(&coroi_pipe_side(p, writes)->used, &free, 1) ? CORO_OK : CORO_EBUSY;
}

void coroi_pipe_end(struct coroi_pipe *p, bool writes)
{
	/* Release: the next user, by its compare-and-swap, has `seen` and what was copied. */
	at_store_rel(&coroi_pipe_side(p, writes)->used, 0);
}

static inline struct coroi_waitq *queue_of(struct coroi_pipe *p, bool writes)
{
	return writes ? &p->writers : &p->readers;
}

COROI_NOINLINE int coroi_pipe_tell(struct coroi_pipe *p, bool writes)
{
	int status = coroi_object_enter(&p->object);

	if (status)
		return status;
	at_and(&coroi_pipe_side(p, writes)->at, ~WAITED);
	struct coroi_waiter *x = coroi_waitq_take(queue_of(p, !writes));
	coroi_object_leave(&p->object);
	return x ? coroi_waiter_wake_on(coroi_here(), x) : CORO_OK;
}

/* closed_here - what a side returns that has closed p itself. */
static COROI_COLD int closed_here(struct coroi_pipe *p)
{
	return coroi_object_is_dead(&p->object) ? CORO_EINVAL : CORO_ECLOSED;
}

/* refusal - what the writer returns whose word is `at`; CORO_OK: p is open. */
static inline int refusal(struct coroi_pipe *p, uint64_t at)
{
	if (coroi_likely(!(at & CLOSED)))
		return CORO_OK;
	if (at & ENDED)
		return closed_here(p);
	return p->reader.code ? p->reader.code : CORO_ECLOSED;
}

/* has_come_to - the reader's position has come to the writer's wake_at. */
static inline bool has_come_to(const struct coroi_pipe *p, uint64_t read)
{
	return (int64_t)(read - at_load_rlx(&p->writer.wake_at)) >= 0;
}

/* ends_wait - is `other`, the other side's word, a reason not to wait? */
static inline bool ends_wait(struct coroi_pipe *p, bool writes, uint64_t other)
{
	if (other & CLOSED)
		return true;
	return writes ? has_come_to(p, position(other))
		      : position(other) != position(at_load_rlx(&p->reader.at));
}

bool coroi_pipe_wait_as(struct coroi_pipe *p, bool writes, struct coroi_waiter *x)
{
	if (ends_wait(p, writes, at_or(&coroi_pipe_side(p, !writes)->at, WAITED)))
		return false;
	coroi_waitq_add(queue_of(p, writes), x);
	return true;
}

/* A side that spins. */
struct spinner {
	struct coroi_pipe *p;
	bool writes;
};

static bool has_changed(void *arg)
{
	const struct spinner *s = arg;

	return ends_wait(s->p, s->writes, at_load_acq(&coroi_pipe_side(s->p, !s->writes)->at));
}

/* spins_for_change - the caller may wait, its worker has nothing else to do, and in a moment the
 * wait is over: the other side is on another core. */
static inline bool spins_for_change(struct coroi_pipe *p, bool writes)
{
	struct coroi_worker *w = coroi_self();
	struct spinner s = {p, writes};

	return coroi_current(w) && coroi_nothing_else_now(w) &&
	       coroi_idle_spin(w, has_changed, &s, 1);
}

/* await - wait until the side may have something to do. */
static COROI_NOINLINE int await(struct coroi_pipe *p, bool writes, uint64_t deadline)
{
	struct coroi_rec *me;
	int status = coroi_must_wait(&me, deadline);

	if (status)
		return coroi_wont_wait(status, writes ? "coro_stream_write" : "coro_stream_read");
	if (spins_for_change(p, writes))
		return CORO_OK;
	if ((status = coroi_object_enter(&p->object)))
		return status;
	struct coroi_waiter *x = coroi_waiter_for(&p->object, me, 0, &status);
	if (!x)
		return status;
	coroi_waiter_init(x, &p->object, me, 0, NULL);
	if (coroi_pipe_wait_as(p, writes, x)) {
		coroi_object_leave(&p->object);
		status = coroi_waiter_wait(x,
					   writes ? CORO_WAIT_STREAM_WRITE : CORO_WAIT_STREAM_READ,
					   deadline, false);
	} else {
		coroi_object_leave(&p->object);
	}
	coroi_waiter_end(me, x);
	return status;
}

/* ------------------------------------------------------------------------------------- reading */

static inline void copy_out(const struct coroi_pipe *p, uint64_t from, void *to, size_t n)
{
	size_t at = from & (p->bytes - 1), first = p->bytes - at < n ? p->bytes - at : n;

	memcpy(to, p->ring + at, first);
	if (first < n)
		memcpy((char *)to + first, p->ring, n - first);
}

/* at_end - what the reader returns that has read all, where the writer's word is `other`. */
static inline int64_t at_end(const struct coroi_pipe *p, uint64_t other)
{
	return other & ENDED ? p->writer.code : NOT_NOW;
}

/* try_read - STM2. Returns what coro_stream_read does, or NOT_NOW. */
static int64_t try_read(struct coroi_pipe *p, void *to, size_t n)
{
	struct coroi_side *me = &p->reader;
	uint64_t at = at_load_seq(&me->at); /* STM6 */

	if (coroi_unlikely(at & REFUSED))
		return closed_here(p);
	if (me->seen - position(at) < n) {
		uint64_t other = at_load_acq(&p->writer.at);
		me->seen = position(other);
		if (me->seen == position(at))
			return at_end(p, other);
	}
	if (me->seen - position(at) < n)
		n = me->seen - position(at);
	copy_out(p, position(at), to, n);
	at = at_add(&me->at, (uint64_t)n << COROI_PIPE_SHIFT);
	if (coroi_unlikely(at & WAITED) && has_come_to(p, position(at)))
		coroi_pipe_tell(p, false);
	return (int64_t)n;
}

static inline void spend(uint64_t deadline)
{
	if (coroi_spend_here(coroi_here()))
		coroi_spent(deadline);
}

int64_t coro_stream_read(coro_stream *s, void *buffer, size_t bytes, uint64_t deadline)
{
	if (!s || (!buffer && bytes) || bytes > INT64_MAX)
		return CORO_EINVAL;
	spend(deadline);
	struct coroi_pipe *p = s->in;
	int status = coroi_pipe_begin(p, false);
	if (status)
		return status;
	int64_t got = bytes ? NOT_NOW : 0;
	while (got == NOT_NOW && (got = try_read(p, buffer, bytes)) == NOT_NOW)
		if ((status = await(p, false, deadline)))
			got = status;
	coroi_pipe_end(p, false);
	return got;
}

/* ------------------------------------------------------------------------------------- writing */

static inline void copy_in(const struct coroi_pipe *p, uint64_t to, const void *from, size_t n)
{
	size_t at = to & (p->bytes - 1), first = p->bytes - at < n ? p->bytes - at : n;

	memcpy(p->ring + at, from, first);
	if (first < n)
		memcpy(p->ring, (const char *)from + first, n - first);
}

COROI_COLD int coroi_pipe_open(struct coroi_pipe *p)
{
	unsigned char *ring = coroi_alloc_large(p->bytes);
	int status = ring ? CORO_OK : CORO_ENOMEM;

	coroi_object_enter(&p->object);
	if (ring && !(at_load_rlx(&p->writer.at) & CLOSED)) {
		p->ring = ring;
		ring = NULL;
	}
	coroi_object_leave(&p->object);
	if (ring)
		coroi_release_large(ring, p->bytes);
	return status;
}

/* set_wake_at - the writer, at `at`, has n bytes left to write. */
static inline void set_wake_at(struct coroi_pipe *p, uint64_t at, size_t n)
{
	uint64_t room = n < p->bytes / 2 ? n : (p->bytes + 1) / 2;

	at_store_rlx(&p->writer.wake_at, position(at) - p->bytes + room);
}

/* try_write - STM1. Returns how many bytes were written, a status, or NOT_NOW. */
static int64_t try_write(struct coroi_pipe *p, const void *from, size_t n)
{
	struct coroi_side *me = &p->writer;
	uint64_t at = at_load_seq(&me->at); /* STM6 */
	int status = refusal(p, at);

	if (coroi_unlikely(status || !p->ring)) {
		if (status || (status = coroi_pipe_open(p)))
			return status;
		return try_write(p, from, n);
	}
	uint64_t room = p->bytes - (position(at) - me->seen);
	if (room < n) {
		me->seen = position(at_load_acq(&p->reader.at));
		room = p->bytes - (position(at) - me->seen);
	}
	if (!room) {
		set_wake_at(p, at, n);
		return NOT_NOW;
	}
	n = room < n ? room : n;
	copy_in(p, position(at), from, n);
	at = at_add(&me->at, (uint64_t)n << COROI_PIPE_SHIFT);
	if (coroi_unlikely(at & WAITED))
		coroi_pipe_tell(p, true);
	return (int64_t)n;
}

int64_t coro_stream_write(coro_stream *s, const void *buffer, size_t bytes, uint64_t deadline)
{
	const char *from = buffer;
	size_t done = 0;

	if (!s || (!buffer && bytes) || bytes > INT64_MAX)
		return CORO_EINVAL;
	spend(deadline);
	struct coroi_pipe *p = s->out;
	int64_t status = coroi_pipe_begin(p, true);
	if (status)
		return status;
	while (done < bytes && status >= 0) {
		status = try_write(p, from + done, bytes - done);
		if (status == NOT_NOW)
			status = await(p, true, deadline);
		else if (status > 0)
			done += (size_t)status;
	}
	coroi_pipe_end(p, true);
	return done || status > 0 ? (int64_t)done : status;
}

/* ----------------------------------------------------------------------------- closing, freeing */

/* ring_to_free - STM6: the ring, if it is needed no more; else NULL. p is entered. */
static unsigned char *ring_to_free(struct coroi_pipe *p)
{
	unsigned char *ring = p->ring;

	if ((at_load_seq(&p->writer.at) & CLOSED) != CLOSED || at_load_seq(&p->writer.used) ||
	    at_load_seq(&p->reader.used))
		return NULL;
	p->ring = NULL;
	return ring;
}

/* take_all - take the waiters of both sides. p is entered. */
static void take_all(struct coroi_pipe *p, struct coroi_chain *woken)
{
	struct coroi_waiter *x;

	while ((x = coroi_waitq_take(&p->readers)) || (x = coroi_waitq_take(&p->writers)))
		coroi_chain_add(woken, x);
}

/* close_side - STM5. */
static int close_side(struct coroi_pipe *p, bool writes, int code)
{
	struct coroi_chain woken = {NULL, NULL};
	uint64_t bit = writes ? ENDED : REFUSED;
	unsigned char *ring = NULL;
	int status = coroi_object_enter(&p->object);

	if (status)
		return status;
	if (!(at_load_rlx(&p->writer.at) & bit)) {
		coroi_pipe_side(p, writes)->code = code;
		at_or(&p->reader.at, bit);
		at_or(&p->writer.at, bit);
		take_all(p, &woken);
		ring = ring_to_free(p);
	}
	coroi_object_leave(&p->object);
	coroi_chain_wake(&woken);
	if (ring)
		coroi_release_large(ring, p->bytes);
	return CORO_OK;
}

int coro_stream_close(coro_stream *s, uint32_t directions, int code)
{
	int status = CORO_OK;

	if (!s || code > 0 || (directions & ~(CORO_STREAM_IN | CORO_STREAM_OUT)) ||
	    !(directions & 3) || !(directions & 0x100))
		return CORO_EINVAL;
	/* IN first: a reader of the end is refused when it writes */
	if (directions & CORO_STREAM_IN & 3)
		status = close_side(s->in, false, code);
	if (!status && (directions & CORO_STREAM_OUT & 3))
		status = close_side(s->out, true, code);
	return status;
}

static bool is_pipe_used(const struct coroi_pipe *p)
{
	return at_load_seq(&p->writer.used) || at_load_seq(&p->reader.used);
}

static void release_pair(struct coroi_stream_pair *t)
{
	for (int i = 0; i < 2; i++)
		if (t->pipes[i].ring)
			coroi_release_large(t->pipes[i].ring, t->pipes[i].bytes);
	coroi_release(t);
}

int coro_stream_free(coro_stream *s)
{
	if (!s)
		return CORO_OK;
	struct coroi_stream_pair *t = s->pair;
	int status = coro_stream_close(s, CORO_STREAM_IN | CORO_STREAM_OUT, CORO_ECANCELED);
	if (status)
		return status;
	if (at_load_seq(&s->in->reader.used) || at_load_seq(&s->out->writer.used))
		return CORO_EBUSY;
	if (t->of_go)
		at_store_rel(&s->given_up, 1); /* Go may free the stream from now on */
	else if (!at_add(&t->kept, -1))        /* after the uses of the other end */
		release_pair(t);
	return CORO_OK;
}

void coro_stream_drop(void *stream)
{
	coro_stream_free(stream);
}

/* power_of_two - the least that is not below n. */
static uint64_t power_of_two(uint64_t n)
{
	return n <= 1 ? 1 : UINT64_C(1) << (64 - __builtin_clzll(n - 1));
}

int coro_stream_new(coro_stream **a, coro_stream **b, size_t bytes)
{
	if (!a || !b || !bytes || bytes > CORO_STREAM_BYTES_MAX)
		return CORO_EINVAL;
	struct coroi_stream_pair *t = coroi_alloc(sizeof *t, COROI_APART);
	if (!t)
		return CORO_ENOMEM;
	for (int i = 0; i < 2; i++) {
		t->ends[i] = (struct coro_stream){&t->pipes[i], &t->pipes[!i], t, 0};
		t->pipes[i].bytes = power_of_two(bytes);
	}
	t->kept = 2;
	*a = &t->ends[0];
	*b = &t->ends[1];
	return CORO_OK;
}

/* --------------------------------------------------------------------------------- as a source */

int coroi_pipe_ready(struct coroi_pipe *p, bool writes)
{
	uint64_t at = at_load_seq(&coroi_pipe_side(p, writes)->at);

	if (at & (writes ? ENDED : REFUSED))
		return closed_here(p);
	if (!writes)
		return ends_wait(p, false, at_load_acq(&p->writer.at));
	/* A select waits for any room. */
	at_store_rlx(&p->writer.wake_at, position(at) - p->bytes + 1);
	return (at & REFUSED) || ends_wait(p, true, at_load_acq(&p->reader.at));
}

/* ---------------------------------------------------------------------------------------- by Go */

coro_stream *coroi_stream_keep(coro_stream *s)
{
	s->pair->of_go = true;
	return &s->pair->ends[s == &s->pair->ends[0]];
}

struct coroi_pipe *coroi_stream_pipe(coro_stream *s, bool writes)
{
	return writes ? s->out : s->in;
}

bool coroi_stream_is_given_up(coro_stream *s)
{
	return at_load_acq(&s->pair->ends[s == &s->pair->ends[0]].given_up);
}

int coroi_stream_destroy(coro_stream *s)
{
	struct coroi_pipe *p = s->pair->pipes;

	if (coroi_object_is_dead(&p[0].object))
		return CORO_EINVAL;
	if (is_pipe_used(&p[0]) || is_pipe_used(&p[1]))
		return CORO_EBUSY;
	for (int i = 0; i < 2; i++) {
		close_side(&p[i], true, CORO_EINVAL);
		close_side(&p[i], false, CORO_EINVAL);
		if (coroi_object_enter(&p[i].object))
			continue;
		coroi_object_kill(&p[i].object);
		coroi_object_leave(&p[i].object);
	}
	return CORO_OK;
}

void coroi_stream_release(coro_stream *s)
{
	if (!is_pipe_used(&s->pair->pipes[0]) && !is_pipe_used(&s->pair->pipes[1]))
		release_pair(s->pair);
}

int coroi_pipe_wait_gowaiter(struct coroi_pipe *p, bool writes, struct coroi_gowaiter *g)
{
	int status = coroi_object_enter(&p->object);

	if (status)
		return status;
	coroi_waiter_init(&g->x, &p->object, NULL, 0, g->value);
	g->x.tell = COROI_TELL_GOWAITER;
	g->x.gowaiter = g;
	status = coroi_pipe_wait_as(p, writes, &g->x) ? COROI_WAITS : CORO_OK;
	coroi_object_leave(&p->object);
	return status;
}
