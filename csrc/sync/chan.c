//go:build ignore
/* chan.c - channels: sending, receiving, closing. See chan.h; select.c waits at several. */
#include "sync/chan.h"

#include "base/sys.h"
#include "base/text.h"
#include "buffer/buffer.h"

/* CGO_CFLAGS may define CORO_DEBUG here, too. */
#undef coro_chan_send
#undef coro_chan_recv

/* Most bytes of a value with buffers: as many words as a mask has bits. */
#define BUFFERS_BYTES ((size_t)64 * 8)

int coro_chan_new(coro_chan **out, size_t element_bytes, size_t capacity, uint32_t flags)
{
	return coro_chan_new_buffers(out, element_bytes, capacity, flags, 0);
}

int coro_chan_new_buffers(coro_chan **out, size_t element_bytes, size_t capacity, uint32_t flags,
			  uint64_t buffers)
{
	struct coroi_object object;

	if (!out || element_bytes > CORO_ELEMENT_MAX)
		return CORO_EINVAL;
	if (buffers && (element_bytes > BUFFERS_BYTES ||
			(element_bytes < BUFFERS_BYTES && buffers >> element_bytes / 8)))
		return CORO_EINVAL;
	int status = coroi_object_bind(&object, flags);
	if (status)
		return status;
	if (element_bytes && capacity > (SIZE_MAX / 4 - sizeof(coro_chan)) / element_bytes)
		return CORO_ENOMEM;
	if (capacity > CORO_CAPACITY_MAX)
		return CORO_EINVAL;
	struct coro_chan *c = coroi_alloc(sizeof *c + element_bytes * capacity, COROI_LINE);
	if (!c)
		return CORO_ENOMEM;
	c->object = object;
	c->worker = object.worker;
	c->bytes = element_bytes;
	c->capacity = (uint32_t)capacity;
	c->buffers = buffers;
	c->sent_bytes = buffers ? SIZE_MAX : element_bytes;
	c->object.twice = coroi_chan_has_ends(c);
	*out = c;
	return CORO_OK;
}

static bool is_used(const struct coro_chan *c)
{
	return c->senders.first || c->receivers.first || c->selects || c->in.back || c->out.back;
}

/* drop_all - nobody receives what c has: its buffers are freed. c is entered. */
static COROI_COLD void drop_all(struct coro_chan *c)
{
	uint32_t at = c->out.at;

	for (uint32_t n = coroi_chan_length(c); n; n--) {
		coroi_buffers_drop(c->ring + (size_t)at * c->bytes, c->buffers);
		at = at + 1 == c->capacity ? 0 : at + 1;
	}
}

/* destroy - the end of c but for its memory. of_go: for Go. The locks of the ends are taken without
 * a look at `dead`, so c is closed as well, and empty. */
static int destroy(struct coro_chan *c, bool of_go)
{
	int status = coroi_object_enter_end(&c->object);

	if (status)
		return status;
	if (c->of_go != of_go) {
		status = CORO_EPERM;
	} else if (is_used(c)) {
		status = CORO_EBUSY;
	} else {
		c->closed = CORO_EINVAL;
		if (c->buffers)
			drop_all(c);
		c->out.seen = c->out.passed;
		at_store_rel(&c->in.passed, c->out.passed);
		coroi_object_kill(&c->object);
	}
	coroi_object_leave(&c->object);
	return status;
}

int coro_chan_free(coro_chan *c)
{
	int status = c ? destroy(c, false) : CORO_OK;

	if (!status)
		coroi_release(c);
	return status;
}

void coroi_chan_keep(coro_chan *c)
{
	c->of_go = true;
	c->sample = COROI_SAMPLES;
}

void coroi_chan_set_sample(coro_chan *c, uint8_t mask)
{
	at_store_rlx(&c->sample, mask);
}

int coroi_chan_destroy(coro_chan *c)
{
	return destroy(c, true);
}

void coroi_chan_release(coro_chan *c)
{
	if (destroy(c, true) != CORO_EBUSY)
		coroi_release(c);
}

static bool has_value(void *c)
{
	return coroi_chan_length(c) > 0;
}

/* has_room - there is room for several values, so that a sender does not wait for each of them. */
static bool has_room(void *c)
{
	return coroi_chan_length(c) <= ((struct coro_chan *)c)->capacity / 2;
}

/* spins - the caller may wait, and its worker has nothing else to do. So the other end of c is on
 * another core, and looking again for a moment pays. */
static inline bool spins(uint64_t deadline)
{
	struct coroi_worker *w = coroi_self();
	return deadline && coroi_current(w) && coroi_nothing_else_now(w);
}

/* How long a receiver lets values come before it looks how many have, and how often it looks. */
#define COALESCE_NS    300
#define COALESCE_LOOKS 3

/* look_pauses - how many pauses there are between two looks of a caller that spins. Two looks for
 * room are about as far apart as the receives of an eighth of the capacity take. */
static uint32_t look_pauses(const struct coro_chan *c, bool send)
{
	return !send || c->capacity < 16 ? 1 : c->capacity < 64 ? c->capacity / 8 : 8;
}

/* coalesce - pause, so that more values come together: until half of the ring is full, or for three
 * times as long as some 15 values take. A small ring is full sooner: then for less long. */
static void coalesce(const struct coro_chan *c)
{
	uint32_t half = c->capacity / 2;

	for (int looks = 0; looks < COALESCE_LOOKS; looks++) {
		uint64_t end = coroi_now_ns() + COALESCE_NS;
		for (uint32_t i = 0; i < half && coroi_now_ns() < end; i++)
			at_relax();
		if (coroi_chan_length(c) >= half)
			break;
	}
}

/*
 * spin_for_value - spin until c has a value, or room. The lock of the end is held; it is left
 * meanwhile.
 *
 * A receiver that takes each value as soon as it comes costs the sender a cache miss a value. So
 * where values follow each other closely, the receiver lets several come. Whether they do follow
 * each other is found out by trying: half as often after each try that has gained nothing.
 */
static void spin_for_value(struct coro_chan *c, bool send)
{
	bool coalescing = !send && !c->coalescing.skips;

	coroi_spin_unlock(coroi_chan_end_lock(c, send));
	bool happened = coroi_idle_spin(coroi_self(), send ? has_room : has_value, c,
					look_pauses(c, send));
	if (happened && coalescing)
		coalesce(c);
	coroi_spin_lock(coroi_chan_end_lock(c, send));
	if (happened && !send && !coroi_skip(&c->coalescing))
		coroi_tried(&c->coalescing, coroi_chan_length(c) > 1);
}

/* wake_and_spend - told, where the caller's waits have gone on for a while. */
static COROI_NOINLINE int wake_and_spend(struct coroi_waiter *woken, uint64_t deadline)
{
	coroi_waiter_wake_on(coroi_here(), woken);
	coroi_spent(deadline);
	return CORO_OK;
}

/* told - wake `woken`, which was taken out of a queue. c was left. A wait that has ended at once is
 * counted, unless the caller probably suspends soon: it has woken no other coroutine of this worker
 * since it began its turn. */
static inline __attribute__((always_inline)) int told(struct coroi_worker *w, bool home,
						      struct coroi_waiter *woken, uint64_t deadline)
{
	if (coroi_unlikely((!home || coroi_has_woken(w)) && coroi_spend_here(w)))
		return wake_and_spend(woken, deadline);
	return home ? coroi_waiter_wake_home(w, woken) : coroi_waiter_wake_on(w, woken);
}

/* wait_slow - wait_at, the general way. */
static COROI_NOINLINE int wait_slow(struct coro_chan *c, bool send, void *value, uint64_t deadline)
{
	size_t bytes = c->bytes; /* c may be freed by the time that the wait is over */
	struct coroi_rec *me;
	int status = coroi_must_wait(&me, deadline);

	if (status) {
		coroi_object_leave(&c->object);
		return coroi_wont_wait(status, send ? "coro_chan_send" : "coro_chan_recv");
	}
	struct coroi_waiter *x = coroi_waiter_for(&c->object, me, bytes, &status);
	if (!x)
		return status;
	void *place = bytes <= sizeof x->own             ? (void *)&x->own
		      : me && coroi_is_hidden(me, value) ? x + 1
							 : value;
	coroi_waiter_init(x, &c->object, me, 0, place);
	if (place != value && send)
		coroi_chan_copy(place, value, bytes, false);
	status = coroi_waiter_wait_in(x, coroi_chan_wait_queue(c, send),
				      send ? CORO_WAIT_SEND : CORO_WAIT_RECEIVE, deadline, false);
	if (place != value && !send && !status)
		coroi_chan_copy(value, place, bytes, false);
	coroi_waiter_end(me, x);
	return status;
}

/* wait_at - WTQ1, at w (coroi_here): nothing could be done at once. c is entered, and is left.
 * home: c is bound. */
static inline __attribute__((always_inline)) int wait_at(struct coroi_worker *w,
							 struct coro_chan *c, bool home, bool send,
							 void *value, uint64_t deadline)
{
	struct coroi_rec *me, *next = coroi_wait_begin(w, deadline, &me);
	struct coroi_waiter x;

	if (coroi_unlikely(!next))
		return wait_slow(c, send, value, deadline);
	coroi_waiter_init_as(&x, &c->object, home, me, 0, value);
	return coroi_waiter_hand_over(w, me, &x, &c->object, home, coroi_chan_wait_queue(c, send),
				      send ? CORO_WAIT_SEND : CORO_WAIT_RECEIVE, next);
}

/* pass_spent - pass_entered at c, which is bound, where the caller's waits have gone on for a
 * while. */
static int pass_spent(struct coro_chan *c, bool send, void *value, uint64_t deadline);

static COROI_NOINLINE COROI_RETURNS_AFTER_SWITCH int
wait_shared(struct coroi_worker *w, struct coro_chan *c, bool send, void *value, uint64_t deadline)
{
	return wait_at(w, c, false, send, value, deadline);
}

/* wait_home - c is bound. spent: only the budget was used up (COROI_SPENT). */
static COROI_NOINLINE COROI_RETURNS_AFTER_SWITCH int wait_home(struct coroi_worker *w,
							       struct coro_chan *c, bool spent,
							       bool send, void *value,
							       uint64_t deadline)
{
	return coroi_unlikely(spent) ? pass_spent(c, send, value, deadline)
				     : wait_at(w, c, true, send, value, deadline);
}

/* pass_entered - send or receive, at w (coroi_here), with all locks of c held, if c has any; they
 * are left. home: c is bound. twice: c has two locks. Inline, as the next functions are: `send` is
 * a constant. */
static inline __attribute__((always_inline)) int pass_entered(struct coroi_worker *w, coro_chan *c,
							      bool home, bool twice, bool send,
							      void *value, uint64_t deadline,
							      size_t bytes, bool small)
{
	struct coroi_waiter *woken = NULL;
	int status = coroi_chan_try(c, send, value, &woken, bytes, small, true, home ? w : NULL);

	if (twice && !send)
		c->awaited = c->senders.first != NULL;
	if (coroi_unlikely(status > CORO_OK))
		return home ? wait_home(w, c, status == COROI_SPENT, send, value, deadline)
			    : wait_shared(w, c, send, value, deadline);
	if (twice)
		coroi_object_leave(&c->object);
	else
		coroi_object_leave_as(&c->object, home);
	return woken ? told(w, home, woken, deadline) : status; /* both CORO_OK */
}

/* try_end - CHN1 or CHN2, as of coroi_chan_try, with the lock of the end. COROI_NOT_NOW,
 * COROI_BY_BOTH: this is a matter of CHN3. */
static inline __attribute__((always_inline)) int try_end(coro_chan *c, bool send, void *value,
							 size_t bytes, bool small,
							 struct coroi_worker *spender)
{
	return coroi_chan_try(c, send, value, NULL, bytes, small, false, spender);
}

/* pass_end - try_end, and leave the lock of the end. */
static inline __attribute__((always_inline)) int
pass_end(struct coroi_worker *w, coro_chan *c, bool send, void *value, size_t bytes, bool small)
{
	int status = try_end(c, send, value, bytes, small, w);

	coroi_spin_unlock(coroi_chan_end_lock(c, send));
	return status;
}

/* pass_patiently - CHN1 or CHN2, where another caller holds the lock of the end, or nothing can be
 * done at once. If this is a matter of CHN3, the caller is counted in `back`. */
static int pass_patiently(coro_chan *c, bool send, void *value, uint64_t deadline)
{
	struct coroi_end *e = coroi_chan_end(c, send);

	coroi_spin_lock(coroi_chan_end_lock(c, send));
	int status;
	while ((status = try_end(c, send, value, c->bytes, false, coroi_here())) == COROI_SPENT) {
		e->back++;
		coroi_spin_unlock(coroi_chan_end_lock(c, send));
		coroi_spent(deadline);
		coroi_spin_lock(coroi_chan_end_lock(c, send));
		e->back--;
	}
	if (status > CORO_OK) {
		e->back++;
		if (status == COROI_NOT_NOW && spins(deadline)) {
			spin_for_value(c, send);
			status = try_end(c, send, value, c->bytes, false, NULL);
			e->back -= status <= CORO_OK;
		}
	}
	coroi_spin_unlock(coroi_chan_end_lock(c, send));
	return status;
}

static COROI_NOINLINE int pass_slow(coro_chan *c, bool send, void *value, uint64_t deadline)
{
	if (!c || (c->bytes && !value))
		return CORO_EINVAL;
	bool ends = coroi_chan_has_ends(c);
	int status = ends ? pass_patiently(c, send, value, deadline) : COROI_NOT_NOW;
	if (status <= CORO_OK || (status = coroi_object_enter(&c->object)))
		return status;
	if (ends)
		coroi_chan_end(c, send)->back--;
	return pass_entered(coroi_here(), c, c->worker, ends, send, value, deadline, c->bytes,
			    false);
}

/* send_slow - pass_slow of a send: the buffers of the value pass to the receiver, or stay. */
static COROI_NOINLINE int send_slow(coro_chan *c, void *value, uint64_t deadline)
{
	uint64_t sent[BUFFERS_BYTES / 8], buffers = c && value ? c->buffers : 0;

	if (coroi_likely(!buffers))
		return pass_slow(c, true, value, deadline);
	memcpy(sent, value, c->bytes);
	int status = coroi_buffers_pass(sent, buffers);
	if (status)
		return status;
	if ((status = pass_slow(c, true, sent, deadline)))
		coroi_buffers_unpass(sent, buffers);
	return status;
}

static COROI_NOINLINE int pass_spent(struct coro_chan *c, bool send, void *value, uint64_t deadline)
{
	struct coroi_end *e = coroi_chan_end(c, send);

	e->back++;
	coroi_object_leave_as(&c->object, true);
	coroi_spent(deadline);
	int status = coroi_object_enter(&c->object);
	if (status)
		return status;
	e->back--;
	return pass_entered(coroi_here(), c, true, false, send, value, deadline, c->bytes, false);
}

/* pass - the usual paths; of bound channels for values of 8 bytes alone. */
static inline __attribute__((always_inline)) int pass(coro_chan *c, bool send, void *value,
						      uint64_t deadline)
{
#define SLOW send ? send_slow(c, value, deadline) : pass_slow(c, false, value, deadline)
	struct coroi_worker *w = coroi_here();

	if (coroi_unlikely(!c || !value))
		return SLOW;
	size_t bytes = send ? c->sent_bytes : c->bytes;
	if (coroi_likely(bytes == 8) && coroi_chan_is_home(c, w))
		return pass_entered(w, c, true, false, send, value, deadline, 8, true);
	if (coroi_unlikely(bytes > COROI_LEAF_BYTES))
		return SLOW;
	if (c->capacity) {
		uint32_t free = 0;
		int status;
		/* as coroi_spin_lock */
		if (coroi_likely(coroi_chan_has_ends(c) &&
				 at_cas(&coroi_chan_end_lock(c, send)->word, &free, 1)) &&
		    coroi_likely((status = pass_end(w, c, send, value, bytes, true)) <= CORO_OK))
			return status;
	} else if (coroi_likely(coroi_object_try_shared(&c->object))) {
		return pass_entered(w, c, false, false, send, value, deadline, bytes, true);
	}
	return SLOW;
#undef SLOW
}

int coro_chan_send(coro_chan *c, const void *value, uint64_t deadline)
{
	return pass(c, true, (void *)(uintptr_t)value, deadline);
}

int coro_chan_recv(coro_chan *c, void *value, uint64_t deadline)
{
	return pass(c, false, value, deadline);
}

int coroi_chan_send_passed(coro_chan *c, const void *value, uint64_t deadline)
{
	return coroi_unlikely(c && c->buffers)
		       ? pass_slow(c, true, (void *)(uintptr_t)value, deadline)
		       : coro_chan_send(c, value, deadline);
}

static COROI_COLD void say_sizes(const char *where, const char *call, size_t variable, size_t value)
{
	struct coroi_text t = {.n = 0};

	coroi_text_put(&t, "coro: ");
	coroi_text_put(&t, where ? where : "?");
	coroi_text_put(&t, ": ");
	coroi_text_put(&t, call);
	coroi_text_put(&t, ": the variable has ");
	coroi_text_number(&t, variable, 10);
	coroi_text_put(&t, " bytes, and each value of the channel ");
	coroi_text_number(&t, value, 10);
	coroi_text_put(&t, "\n");
	coroi_say(t.at, t.n);
}

/* fits - a value of c is copied to, or from, a variable of so many bytes. */
static bool fits(const coro_chan *c, size_t bytes, const char *where, const char *call)
{
	if (!c || !c->bytes || bytes == c->bytes || bytes == CORO_UNKNOWN_BYTES)
		return true;
	say_sizes(where, call, bytes, c->bytes);
	return false;
}

int coro_chan_send_checked(coro_chan *c, const void *value, uint64_t deadline,
			   size_t variable_bytes, const char *where)
{
	return fits(c, variable_bytes, where, "coro_chan_send") ? coro_chan_send(c, value, deadline)
								: CORO_EINVAL;
}

int coro_chan_recv_checked(coro_chan *c, void *value, uint64_t deadline, size_t variable_bytes,
			   const char *where)
{
	return fits(c, variable_bytes, where, "coro_chan_recv") ? coro_chan_recv(c, value, deadline)
								: CORO_EINVAL;
}

/* --------------------------------------------------------------------------- by a goroutine */

/* At a channel without room each side takes the lock for one thing alone, and the other side waits
 * for just that: the pauses of coroi_spin are too long. */
#define MEET_PAUSE 1

/* serve_spinner - WTQ5: serve x, the first waiter at the other end of c, which is entered and has
 * no room. COROI_BY_CALL: nothing was done. */
static inline int serve_spinner(struct coro_chan *c, struct coroi_waiter *x, bool send, void *value)
{
	struct coroi_waitq *q = coroi_chan_queue(c, !send);
	unsigned char sent[COROI_LEAF_BYTES] __attribute__((aligned(8)));
	uint32_t spins = COROI_EVENT_SPINS;

	coroi_prefetchw(x);
	if (x->several || at_load_rlx(&x->event) != COROI_EVENT_SPINS)
		return COROI_BY_CALL;
	if (send)
		coroi_chan_copy(x->value, value, c->bytes, true);
	else
		coroi_chan_copy(sent, x->value, c->bytes, true);
	coroi_waitq_remove_first(q, x);
	if (coroi_unlikely(!at_cas(&x->event, &spins, COROI_EVENT_FIRED))) {
		coroi_waitq_put_back(q, x);
		return COROI_BY_CALL;
	}
	if (!send)
		coroi_chan_copy(value, sent, c->bytes, true);
	return CORO_OK;
}

/* meet - a leaf of a channel without room. With the object entered it returns what a try can come
 * to, or COROI_BY_CALL. */
static inline int meet(struct coro_chan *c, bool send, void *value)
{
	struct coroi_waiter *x = coroi_chan_queue(c, !send)->first;

	if (c->closed)
		return coroi_chan_refusal(c);
	return x ? serve_spinner(c, x, send, value) : COROI_NOT_NOW;
}

static inline __attribute__((always_inline)) int leaf(struct coro_chan *c, bool send, void *value)
{
	int status;

	if ((send ? c->sent_bytes : c->bytes) > COROI_LEAF_BYTES)
		return COROI_BY_CALL;
	if (coroi_chan_has_ends(c)) {
		if (!coroi_spin_lock_leaf(coroi_chan_end_lock(c, send), COROI_SPIN_PAUSE))
			return COROI_BY_CALL;
		status = try_end(c, send, value, c->bytes, true, NULL);
		if (!status && !(coroi_chan_end(c, send)->passed & at_load_rlx(&c->sample)))
			status = COROI_SAMPLED;
		coroi_spin_unlock(coroi_chan_end_lock(c, send));
	} else {
		if (!coroi_object_enter_leaf(&c->object, MEET_PAUSE))
			return COROI_BY_CALL;
		status = meet(c, send, value);
		coroi_object_leave_as(&c->object, false);
	}
	return status == COROI_BY_BOTH   ? COROI_BY_CALL
	       : status == COROI_NOT_NOW ? CORO_ETIMEDOUT
					 : status;
}

/* spin_leaf - leaf with the value of g, which waits where that would return CORO_ETIMEDOUT. */
static inline int spin_leaf(struct coro_chan *c, bool send, struct coroi_gowaiter *g)
{
	void *value = c->bytes <= sizeof g->x.own ? (void *)&g->x.own : g->value;

	if (c->bytes > COROI_LEAF_BYTES)
		return COROI_BY_CALL;
	coroi_prefetchw(c);
	coroi_gowaiter_spins(g, &c->object, value);
	if (!coroi_object_enter_leaf(&c->object, MEET_PAUSE))
		return COROI_BY_CALL;
	int status = meet(c, send, value);
	if (status == COROI_NOT_NOW) {
		coroi_waitq_add(coroi_chan_queue(c, send), &g->x);
		status = COROI_WAITS;
	}
	coroi_object_leave_as(&c->object, false);
	return status;
}

int coroi_chan_send_spin_leaf(coro_chan *c, struct coroi_gowaiter *g)
{
	return spin_leaf(c, true, g);
}

int coroi_chan_recv_spin_leaf(coro_chan *c, struct coroi_gowaiter *g)
{
	return spin_leaf(c, false, g);
}

int coroi_chan_send_leaf(coro_chan *c, void *value)
{
	return leaf(c, true, value);
}

int coroi_chan_recv_leaf(coro_chan *c, void *value)
{
	return leaf(c, false, value);
}

static int pass_gowaiter(coro_chan *c, bool send, struct coroi_gowaiter *g)
{
	struct coroi_waiter *woken = NULL;
	int status = coroi_object_enter(&c->object);

	if (status)
		return status;
	if ((status = coroi_chan_try(c, send, g->value, &woken, c->bytes, false, true, NULL)) ==
	    COROI_NOT_NOW)
		return coroi_gowaiter_wait(g, &c->object, coroi_chan_wait_queue(c, send));
	coroi_object_leave(&c->object);
	return woken ? coroi_waiter_wake_on(coroi_here(), woken) : status;
}

int coroi_chan_send_gowaiter(coro_chan *c, struct coroi_gowaiter *g)
{
	return pass_gowaiter(c, true, g);
}

int coroi_chan_recv_gowaiter(coro_chan *c, struct coroi_gowaiter *g)
{
	return pass_gowaiter(c, false, g);
}

int coro_chan_close(coro_chan *c)
{
	struct coroi_chain woken = {NULL, NULL};

	if (!c)
		return CORO_EINVAL;
	int status = coroi_object_enter(&c->object);
	if (status)
		return status;
	if (c->closed) {
		coroi_object_leave(&c->object);
		return CORO_ECLOSED;
	}
	c->closed = CORO_ECLOSED;
	for (struct coroi_waiter *x;
	     (x = coroi_chan_take(c, &c->receivers)) || (x = coroi_chan_take(c, &c->senders));) {
		x->status = CORO_ECLOSED;
		coroi_chain_add(&woken, x);
	}
	coroi_object_leave(&c->object);
	coroi_chain_wake(&woken);
	return CORO_OK;
}

size_t coro_chan_length(coro_chan *c)
{
	if (!c || coroi_object_enter(&c->object))
		return 0;
	size_t n = coroi_chan_length(c);
	coroi_object_leave(&c->object);
	return n;
}

size_t coro_chan_capacity(const coro_chan *c)
{
	return c ? c->capacity : 0;
}

size_t coro_chan_element_bytes(const coro_chan *c)
{
	return c ? c->bytes : 0;
}
