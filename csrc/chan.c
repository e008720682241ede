//go:build cgo && linux
/*
 * chan.c - channels, and waiting for one of several of them.
 *
 * A ring of values, a queue of those who wait to send (only while it is full, or has no room at all) and one of those
 * who wait to receive (only while it is empty). A value goes straight from who sends to who waits, under the lock (Q2 of
 * waitq.h), so it is never between the two: whoever is cancelled finds that it was sent, or that it was not.
 *
 * Waiting at several: all their locks are taken, in the order of their addresses, and a waiter put into each queue, if none of
 * the operations can be done at once (as Go's select does it). All the waiters share one word, which decides who serves
 * them: see waitq.h.
 */
#include "guest.h"
#include "sys.h"

#include <string.h>

struct coro_chan {
	/* One cache line: what each use writes. */
	struct coroi_object object;
	size_t count; /* atomic, relaxed: who lingers peeks */
	size_t head;
	struct coroi_waitq senders, receivers;

	size_t bytes;    /* of a value */
	size_t capacity; /* values */
	uint32_t selects; /* waiters of coro_select that have not left: they come back here, taken out or not */
	bool closed;
	bool kept; /* Go's: C does not free it */
	unsigned char ring[] __attribute__((aligned(16)));
};
_Static_assert(offsetof(struct coro_chan, senders.first) == COROI_CHAN_SENDERS &&
	       offsetof(struct coro_chan, receivers.first) == COROI_CHAN_RECEIVERS &&
	       offsetof(struct coro_chan, count) == COROI_CHAN_COUNT && offsetof(struct coro_chan, closed) == COROI_CHAN_CLOSED,
	       "Go finds them there");

/* copy - small: it is known to have COROI_LEAF_BYTES at most, and is copied without a call (the barriers keep compilers from making
 * one of the loops). */
static inline void copy(void *to, const void *from, size_t bytes, bool small)
{
	size_t i = 0;

	if (coroi_likely(bytes == 8)) {
		memcpy(to, from, 8);
		return;
	}
	if (!small && bytes > COROI_LEAF_BYTES) {
		memcpy(to, from, bytes);
		return;
	}
	for (; i + 8 <= bytes; i += 8) {
		memcpy((char *)to + i, (const char *)from + i, 8);
		at_fence_signal();
	}
	for (; i < bytes; i++) {
		((char *)to)[i] = ((const char *)from)[i];
		at_fence_signal();
	}
}

static inline void *place(struct coro_chan *c, size_t n)
{
	return c->ring + n * c->bytes;
}

static inline size_t after(const struct coro_chan *c, size_t n)
{
	return n + 1 == c->capacity ? 0 : n + 1;
}

static inline void set_count(struct coro_chan *c, size_t n)
{
	at_store_rlx(&c->count, n);
}

/* The outcome of trying: CORO_OK or CORO_ECLOSED; or NOT_NOW. */
enum { NOT_NOW = 1 };

/* try_send, try_recv - what can be done at once. *woken: who is to be woken, after the lock. small: as in copy. Entered. */
static inline __attribute__((always_inline)) int try_send(struct coro_chan *c, const void *value, struct coroi_waiter **woken, bool small)
{
	if (coroi_unlikely(c->closed))
		return CORO_ECLOSED;
	if (c->receivers.first) {
		struct coroi_waiter *x = coroi_waitq_take(&c->receivers);
		if (x) {
			copy(x->value, value, c->bytes, small);
			*woken = x;
			return CORO_OK;
		}
	}
	if (c->count == c->capacity)
		return NOT_NOW;
	size_t at = c->head + c->count;
	copy(place(c, at < c->capacity ? at : at - c->capacity), value, c->bytes, small);
	set_count(c, c->count + 1);
	return CORO_OK;
}

static inline __attribute__((always_inline)) int try_recv(struct coro_chan *c, void *value, struct coroi_waiter **woken, bool small)
{
	if (c->count) {
		size_t at = c->head;
		copy(value, place(c, at), c->bytes, small);
		c->head = after(c, at);
		set_count(c, c->count - 1);
		if (c->senders.first) {
			struct coroi_waiter *x = coroi_waitq_take(&c->senders);
			if (x) { /* its value is the last now, in the place that has become free */
				copy(place(c, at), x->value, c->bytes, small);
				set_count(c, c->count + 1);
				*woken = x;
			}
		}
		return CORO_OK;
	}
	if (c->senders.first) {
		struct coroi_waiter *x = coroi_waitq_take(&c->senders);
		if (x) {
			copy(value, x->value, c->bytes, small);
			*woken = x;
			return CORO_OK;
		}
	}
	return c->closed ? CORO_ECLOSED : NOT_NOW;
}

static inline __attribute__((always_inline)) int try_pass(struct coro_chan *c, bool send, void *value, struct coroi_waiter **woken, bool small)
{
	return send ? try_send(c, value, woken, small) : try_recv(c, value, woken, small);
}

static inline struct coroi_waitq *queue_of(struct coro_chan *c, bool send)
{
	return send ? &c->senders : &c->receivers;
}

int coro_chan_new(coro_chan **out, size_t element_bytes, size_t capacity, uint32_t flags)
{
	struct coroi_object object;

	if (!out || element_bytes > CORO_ELEMENT_MAX)
		return CORO_EINVAL;
	int status = coroi_object_bind(&object, flags);
	if (status)
		return status;
	if (element_bytes && capacity > (SIZE_MAX / 4 - sizeof(coro_chan)) / element_bytes)
		return CORO_ENOMEM;
	struct coro_chan *c = coroi_alloc(sizeof *c + element_bytes * capacity, COROI_LINE);
	if (!c)
		return CORO_ENOMEM;
	c->object = object;
	c->bytes = element_bytes;
	c->capacity = capacity;
	*out = c;
	return CORO_OK;
}

int coro_chan_free(coro_chan *c)
{
	if (!c)
		return CORO_OK;
	int status = coroi_object_enter_end(&c->object);
	if (status)
		return status;
	status = c->kept ? CORO_EPERM : c->senders.first || c->receivers.first || c->selects ? CORO_EBUSY : CORO_OK;
	if (!status)
		coroi_object_kill(&c->object);
	coroi_object_leave(&c->object);
	if (!status)
		coroi_release(c);
	return status;
}

void coroi_chan_keep(coro_chan *c, bool keep)
{
	coroi_object_enter(&c->object);
	c->kept = keep;
	coroi_object_leave(&c->object);
}

static bool has_value(void *c)
{
	return at_load_rlx(&((struct coro_chan *)c)->count) > 0;
}

/* has_room - for several: so that not each of them is waited for. */
static bool has_room(void *c)
{
	return at_load_rlx(&((struct coro_chan *)c)->count) <= ((struct coro_chan *)c)->capacity / 2;
}

/* lingers - c is to be left and tried again: whoever is at its other end is on another core, and nobody else here. */
static inline bool lingers(const struct coro_chan *c, uint64_t deadline)
{
	struct coroi_worker *w = coroi_self();
	return c->capacity && !c->object.home && deadline && w && w->current && coroi_nothing_else(w);
}

/* linger - entered, and left meanwhile. Returns as coroi_object_enter. */
static int linger(struct coro_chan *c, bool (*happened)(void *))
{
	coroi_object_leave(&c->object);
	coroi_idle_linger(coroi_self(), happened, c);
	return coroi_object_enter(&c->object);
}

/* done - leave c after it could be done at once, or could not at all. */
static inline int done(struct coroi_worker *w, struct coro_chan *c, int status, struct coroi_waiter *woken)
{
	bool home = c->object.home;

	coroi_object_leave(&c->object);
	if (!woken)
		return status;
	return home ? coroi_waiter_wake_home(w, woken) : coroi_waiter_wake_on(w, woken); /* CORO_OK, as status is */
}

/* wait_slow - wait_at, the general way. */
static COROI_NOINLINE int wait_slow(struct coro_chan *c, bool send, void *value, uint64_t deadline)
{
	size_t bytes = c->bytes; /* c may be freed by the time that we have what we waited for */
	struct coroi_rec *me;
	int status;

	if (lingers(c, deadline)) {
		struct coroi_waiter *woken = NULL;
		if ((status = linger(c, send ? has_room : has_value)))
			return status;
		if ((status = try_pass(c, send, value, &woken, false)) != NOT_NOW)
			return done(coroi_self(), c, status, woken);
	}
	if ((status = coroi_must_wait(&me, deadline))) {
		coroi_object_leave(&c->object);
		return coroi_wont_wait(status, send ? "coro_chan_send" : "coro_chan_recv");
	}
	struct coroi_waiter *x = coroi_waiter_for(&c->object, me, bytes, &status);
	if (!x)
		return status;
	bool hidden = me && coroi_is_hidden(me, value);
	coroi_waiter_init(x, &c->object, me, 0, hidden ? x + 1 : value);
	if (hidden && send)
		copy(x + 1, value, bytes, false);
	status = coroi_waiter_wait_in(x, queue_of(c, send), send ? '>' : '<', deadline, false);
	if (hidden && !send && !status)
		copy(value, x + 1, bytes, false);
	coroi_waiter_end(me, x);
	return status;
}

/* wait_at - Q1, on w or (NULL) a thread: nothing could be done at once. Entered; leaves. */
static COROI_NOINLINE int wait_at(struct coroi_worker *w, struct coro_chan *c, bool send, void *value, uint64_t deadline)
{
	struct coroi_rec *next = coroi_wait_next(w, deadline);
	struct coroi_waiter x;

	if (coroi_unlikely(!next))
		return wait_slow(c, send, value, deadline);
	coroi_waiter_init(&x, &c->object, w->current, 0, value);
	return coroi_waiter_hand_over(w, &x, queue_of(c, send), send ? '>' : '<', next);
}

/* pass_entered - what coro_chan_send and coro_chan_recv do; leaves. Inline, like the next: each knows its direction. */
static inline __attribute__((always_inline)) int pass_entered(struct coroi_worker *w, coro_chan *c, bool send, void *value,
							    uint64_t deadline, bool small)
{
	struct coroi_waiter *woken = NULL;
	int status = try_pass(c, send, value, &woken, small);

	return coroi_unlikely(status == NOT_NOW) ? wait_at(w, c, send, value, deadline) : done(w, c, status, woken);
}

static COROI_NOINLINE int pass_slow(coro_chan *c, bool send, void *value, uint64_t deadline)
{
	if (!c || (c->bytes && !value))
		return CORO_EINVAL;
	int status = coroi_object_enter(&c->object);
	return status ? status : pass_entered(coroi_self(), c, send, value, deadline, false);
}

static inline __attribute__((always_inline)) int pass(coro_chan *c, bool send, void *value, uint64_t deadline)
{
	struct coroi_worker *w = coroi_self();

	if (coroi_unlikely(!c || !value || c->bytes > COROI_LEAF_BYTES || !coroi_object_try(&c->object, w)))
		return pass_slow(c, send, value, deadline);
	return pass_entered(w, c, send, value, deadline, true);
}

int coro_chan_send(coro_chan *c, const void *value, uint64_t deadline)
{
	return pass(c, true, (void *)(uintptr_t)value, deadline);
}

int coro_chan_recv(coro_chan *c, void *value, uint64_t deadline)
{
	return pass(c, false, value, deadline);
}

/* --------------------------------------------------------------------------- by a goroutine */

static inline int leaf(struct coro_chan *c, bool send, void *value)
{
	struct coroi_waiter *woken = NULL;
	int status = COROI_BY_CALL;

	if (c->bytes > COROI_LEAF_BYTES || queue_of(c, !send)->first || !coroi_object_enter_leaf(&c->object))
		return COROI_BY_CALL;
	if (coroi_likely(!queue_of(c, !send)->first))
		status = try_pass(c, send, value, &woken, true);
	coroi_object_leave(&c->object);
	return status == NOT_NOW ? CORO_ETIMEDOUT : status;
}

int coroi_chan_send_leaf(coro_chan *c, void *value)
{
	return leaf(c, true, value);
}

int coroi_chan_recv_leaf(coro_chan *c, void *value)
{
	return leaf(c, false, value);
}

static int pass_guest(coro_chan *c, bool send, struct coroi_guest *g)
{
	struct coroi_waiter *woken = NULL;
	int status = coroi_object_enter(&c->object);

	if (status)
		return status;
	if ((status = try_pass(c, send, g->value, &woken, false)) == NOT_NOW)
		return coroi_guest_wait(g, &c->object, queue_of(c, send));
	return done(coroi_self(), c, status, woken);
}

int coroi_chan_send_guest(coro_chan *c, struct coroi_guest *g)
{
	return pass_guest(c, true, g);
}

int coroi_chan_recv_guest(coro_chan *c, struct coroi_guest *g)
{
	return pass_guest(c, false, g);
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
	c->closed = true;
	for (struct coroi_waiter *x; (x = coroi_waitq_take(&c->receivers)) || (x = coroi_waitq_take(&c->senders));) {
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
	size_t n = c->count;
	coroi_object_leave(&c->object);
	return n;
}

size_t coro_chan_capacity(const coro_chan *c)
{
	return c ? c->capacity : 0;
}

/* ---------------------------------------------------------------------------------------- select */

struct choice {
	coro_case *cases;
	uint32_t n;
	uint32_t chosen; /* atomic: index + 1, or LEFT */
	uint32_t fired;  /* a thread's event */
	uint32_t channels, locked; /* in `order`, and how many of them are entered */
	struct coro_chan **order;  /* each channel once, by address */
	struct coroi_waiter *waiter;
	unsigned char *values, *values_end; /* of a dense coroutine: where they are while it waits; else NULL */
};

#define LEFT UINT32_MAX

/* sort - the channels of all cases, by address, each once (insertion: there are few). */
static void sort(struct choice *s)
{
	s->channels = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		struct coro_chan *c = s->cases[i].chan;
		uint32_t at = s->channels;
		while (at && (uintptr_t)s->order[at - 1] > (uintptr_t)c)
			at--;
		if (at && s->order[at - 1] == c)
			continue;
		for (uint32_t k = s->channels++; k > at; k--) /* not memmove: its first call wants 3 KiB of the stack */
			s->order[k] = s->order[k - 1];
		s->order[at] = c;
	}
}

static void leave_all(struct choice *s)
{
	while (s->locked)
		coroi_object_leave(&s->order[--s->locked]->object);
}

static int enter_all(struct choice *s)
{
	for (s->locked = 0; s->locked < s->channels; s->locked++) {
		int status = coroi_object_enter(&s->order[s->locked]->object);
		if (status) {
			leave_all(s);
			return status;
		}
	}
	return CORO_OK;
}

static bool withdraw(void *arg)
{
	struct choice *s = arg;
	uint32_t none = 0;
	return at_cas(&s->chosen, &none, LEFT);
}

static int check(const coro_case *cases, uint32_t n)
{
	if (!cases || !n || n > CORO_CASES_MAX)
		return CORO_EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		const coro_case *k = &cases[i];
		if (!k->chan || k->reserved || (k->send && k->recv) || (k->chan->bytes && !k->send && !k->recv))
			return CORO_EINVAL;
	}
	return CORO_OK;
}

/* A value of no bytes is sent from anywhere: then `send` tells only that. */
static inline bool sends(const coro_case *k)
{
	return k->send != NULL;
}

static inline void *value_of(const coro_case *k)
{
	return sends(k) ? (void *)(uintptr_t)k->send : k->recv;
}

/* random_below - xorshift32 (Marsaglia, 2003), a state for each thread. Not inline: no address of it outlives a switch. */
static COROI_NOINLINE uint32_t random_below(uint32_t n)
{
	static __thread uint32_t state;
	uint32_t x = state ? state : (uint32_t)(uintptr_t)&state | 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	state = x;
	return (uint32_t)((uint64_t)x * n >> 32);
}

/* try_all - one that can be done at once is done, from a random one on. Its index, or -1. All are entered; then all are left. */
static int try_all(struct choice *s)
{
	struct coroi_waiter *woken = NULL;
	uint32_t first = random_below(s->n);

	for (uint32_t k = 0; k < s->n; k++) {
		uint32_t i = first + k < s->n ? first + k : first + k - s->n;
		coro_case *one = &s->cases[i];
		int status = try_pass(one->chan, sends(one), value_of(one), &woken, false);
		if (status == NOT_NOW)
			continue;
		one->status = status;
		leave_all(s);
		if (woken)
			coroi_waiter_wake(woken);
		return (int)i;
	}
	return -1;
}

/* enqueue_all - who waits: me, or a guest, or (neither) a thread. */
static void enqueue_all(struct choice *s, struct coroi_rec *me, struct coroi_guest *g)
{
	unsigned char *room = s->values;

	s->chosen = s->fired = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		coro_case *one = &s->cases[i];
		struct coroi_waiter *x = &s->waiter[i];
		coroi_waiter_init(x, &one->chan->object, me, i, value_of(one));
		x->guest = g;
		if (coroi_unlikely(s->values != NULL)) {
			x->value = room;
			room += one->chan->bytes;
			if (sends(one))
				copy(x->value, value_of(one), one->chan->bytes, false);
		}
		x->chosen = &s->chosen;
		x->fired = &s->fired;
		coroi_waitq_add(queue_of(one->chan, sends(one)), x);
		one->chan->selects++;
	}
	s->values_end = room;
}

/* dequeue_all - out of all queues where they still are. Nobody is at any of them afterwards. */
static void dequeue_all(struct choice *s)
{
	enter_all(s); /* none is freed meanwhile: see `selects` */
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->waiter[i].queue)
			coroi_waitq_remove(s->waiter[i].queue, &s->waiter[i]);
		s->cases[i].chan->selects--;
	}
	leave_all(s);
}

/* bytes_of_value - of one of `values`: the channel itself may be gone by the time that it has come. */
static size_t bytes_of_value(const struct choice *s, uint32_t i)
{
	const unsigned char *value = s->waiter[i].value, *end = i + 1 < s->n ? s->waiter[i + 1].value : s->values_end;
	return (size_t)(end - value);
}

static int select_slow(struct choice *s, uint64_t deadline)
{
	struct coroi_rec *me;
	int status = coroi_must_wait(&me, deadline);

	if (status) {
		leave_all(s);
		return coroi_wont_wait(status, "coro_select");
	}
	enqueue_all(s, me, NULL);
	leave_all(s);
	status = me ? coroi_wait(me, '?', deadline, withdraw, s) : coroi_thread_wait(&s->fired, deadline, withdraw, s);
	dequeue_all(s);
	if (status)
		return status;
	uint32_t i = at_load_acq(&s->chosen) - 1;
	s->cases[i].status = s->waiter[i].status;
	if (coroi_unlikely(s->values != NULL) && !sends(&s->cases[i]) && s->cases[i].status == CORO_OK)
		copy(s->cases[i].recv, s->waiter[i].value, bytes_of_value(s, i), false);
	return (int)i;
}

static int select_with(struct choice *s, uint64_t deadline)
{
	sort(s);
	int status = enter_all(s);
	if (status)
		return status;
	int done = try_all(s);
	return done >= 0 ? done : select_slow(s, deadline);
}

/* A guest's choice lies in its value: then the cases, a waiter and a channel for each, and the values. */
static inline struct choice *choice_of(struct coroi_guest *g)
{
	return (struct choice *)(void *)g->value;
}

size_t coroi_select_bytes(uint32_t n)
{
	size_t bytes = sizeof(struct choice) + n * (sizeof(coro_case) + sizeof(struct coroi_waiter) + sizeof(struct coro_chan *));
	return (bytes + 15) & ~(size_t)15;
}

coro_case *coroi_select_cases(struct coroi_guest *g)
{
	return (coro_case *)(choice_of(g) + 1);
}

static bool withdraw_guest(struct coroi_guest *g)
{
	if (!withdraw(choice_of(g)))
		return false;
	dequeue_all(choice_of(g));
	return true;
}

int coroi_select_guest(struct coroi_guest *g, uint32_t n)
{
	struct choice *s = choice_of(g);

	s->cases = coroi_select_cases(g);
	s->n = n;
	s->waiter = (struct coroi_waiter *)(void *)(s->cases + n);
	s->order = (struct coro_chan **)(void *)(s->waiter + n);
	int status = check(s->cases, n);
	if (status)
		return status;
	sort(s);
	if ((status = enter_all(s)))
		return status;
	int done = try_all(s);
	if (done >= 0) {
		s->chosen = (uint32_t)done + 1;
		return CORO_OK;
	}
	g->withdraw = withdraw_guest;
	enqueue_all(s, NULL, g);
	leave_all(s);
	return COROI_WAITS;
}

int coroi_select_done(struct coroi_guest *g)
{
	struct choice *s = choice_of(g);
	uint32_t i = at_load_acq(&s->chosen) - 1;

	if (g->withdraw) { /* it has waited */
		dequeue_all(s);
		s->cases[i].status = s->waiter[i].status;
	}
	return (int)i;
}

#define STACK_SPARE 2048 /* for what is called */

static COROI_NOINLINE int select_on_stack(coro_case *cases, uint32_t n, uint64_t deadline)
{
	struct coro_chan *order[n];
	struct coroi_waiter waiter[n];
	struct choice s = {.cases = cases, .n = n, .order = order, .waiter = waiter};

	return select_with(&s, deadline);
}

/* select_aside - for a dense coroutine: all that others are to reach lies aside, with room for its values. */
static COROI_NOINLINE int select_aside(const struct coroi_rec *me, coro_case *cases, uint32_t n, uint64_t deadline)
{
	size_t values = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (coroi_is_hidden(me, cases[i].chan))
			return CORO_EINVAL;
		values += cases[i].chan->bytes;
	}
	struct choice *s = coroi_aside_get(sizeof *s + n * (sizeof *s->waiter + sizeof *s->order) + values);
	if (!s)
		return CORO_ENOMEM;
	*s = (struct choice){.cases = cases, .n = n};
	s->waiter = (struct coroi_waiter *)(s + 1);
	s->order = (struct coro_chan **)(s->waiter + n);
	s->values = (unsigned char *)(s->order + n);
	int status = select_with(s, deadline);
	coroi_aside_put(s);
	return status;
}

int coro_select(coro_case *cases, uint32_t n, uint64_t deadline)
{
	struct coroi_worker *w = coroi_self();
	int status = check(cases, n);

	if (status)
		return status;
	if (w && w->current && coroi_is_dense(w->current))
		return select_aside(w->current, cases, n, deadline);
	size_t left = coro_stack_left(); /* 0: a thread's own */
	if (left && left < n * (sizeof(struct coroi_waiter) + sizeof(void *)) + STACK_SPARE)
		return CORO_ENOMEM;
	return select_on_stack(cases, n, deadline);
}
