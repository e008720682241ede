//go:build ignore
/*
 * select.c - waiting for one of several channels, descriptors and streams.
 *
 * All their locks are taken, in the order of their addresses. If none of the operations can be done
 * at once, a waiter is put into each queue (as Go's select does it). All these waiters share one
 * word, which decides which of them is served: see waitq.h. Afterwards the other waiters are taken
 * out of their queues, one after the other: a thread that finds one of them until then skips it.
 *
 * A select with a descriptor or a stream goes another way (source.h), which is at the end of this
 * file. It has the channels' cases in an array of their own, so that what is done with channels is
 * the same.
 */
#include "sync/select.h"

#include "base/sys.h"
#include "sync/chan.h"
#include "sync/source.h"

struct choice {
	coro_case *cases;
	uint32_t n;
	struct coroi_several several; /* chosen: index + 1, or LEFT */
	uint32_t channels, locked; /* how many are in `order`, and how many of these are entered */
	struct coro_chan **order;  /* each channel once, by address */
	struct coroi_waiter *waiter;
	/* of a dense coroutine: where the values are while it waits; else NULL */
	unsigned char *values, *values_end;
};

#define LEFT UINT32_MAX /* the wait was withdrawn */

/* sort - fill in `order`: the channels of all cases, by address, each once. By insertion, since
 * there are few. */
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
		/* Not memmove: its first call needs much of the stack. */
		for (uint32_t k = s->channels++; k > at; k--)
			s->order[k] = s->order[k - 1];
		s->order[at] = c;
	}
}

static void leave_all(struct choice *s)
{
	while (s->locked)
		coroi_object_leave(&s->order[--s->locked]->object);
}

static inline int enter_all(struct choice *s)
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

static bool withdraw_select(void *arg)
{
	struct choice *s = arg;
	uint32_t none = 0;
	return at_cas(&s->several.chosen, &none, LEFT);
}

/* is_chan_case - k is right, and of a channel. passed: buffers that it sends have passed. */
static inline bool is_chan_case(const coro_case *k, bool passed)
{
	return k->chan && !k->direction &&
	       !(k->send && (k->recv || (!passed && k->chan->buffers))) &&
	       (!k->chan->bytes || k->send || k->recv);
}

/* check - are all cases right, and of channels? */
static inline int check(const coro_case *cases, uint32_t n, bool passed)
{
	if (!cases || !n || n > CORO_CASES_MAX)
		return CORO_EINVAL;
	for (uint32_t i = 0; i < n; i++)
		if (!is_chan_case(&cases[i], passed))
			return CORO_EINVAL;
	return CORO_OK;
}

/* sends - k is to send. A value of no bytes is sent from any address: `send` tells only that. */
static inline bool sends(const coro_case *k)
{
	return k->send != NULL;
}

static inline void *value_of(const coro_case *k)
{
	return sends(k) ? (void *)(uintptr_t)k->send : k->recv;
}

/* random_seed - differs between threads, by the address of their state, and between runs, by the
 * time. Never 0. */
static uint32_t random_seed(const uint32_t *state)
{
	uint64_t x = (coroi_now_ns() ^ (uintptr_t)state) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(x >> 32) | 1;
}

static __thread uint32_t random_state;

/* random_below - below n, by xorshift32 (Marsaglia, 2003) with a state for each thread. Not inline:
 * no address of the state outlives a switch. */
static COROI_NOINLINE uint32_t random_below(uint32_t n)
{
	uint32_t x = coroi_likely(random_state) ? random_state : random_seed(&random_state);

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	random_state = x;
	return (uint32_t)((uint64_t)x * n >> 32);
}

/* try_all - do one operation that can be done at once; the search begins at a random one. Returns
 * its index, and all channels are left; or -1. All channels are entered. */
static int try_all(struct choice *s)
{
	struct coroi_waiter *woken = NULL;
	uint32_t first = random_below(s->n);

	for (uint32_t k = 0; k < s->n; k++) {
		uint32_t i = first + k < s->n ? first + k : first + k - s->n;
		coro_case *one = &s->cases[i];
		int status = coroi_chan_try(one->chan, sends(one), value_of(one), &woken,
					    one->chan->bytes, false, true, NULL);
		if (status == COROI_NOT_NOW)
			continue;
		one->status = status;
		leave_all(s);
		if (woken)
			coroi_waiter_wake(woken);
		return (int)i;
	}
	return -1;
}

/* enqueue_all - put a waiter of me, of the gowaiter g, or (both NULL) of a thread into each queue.
 * tell: of these waiters. */
static void enqueue_all(struct choice *s, struct coroi_rec *me, struct coroi_gowaiter *g,
			uint8_t tell)
{
	unsigned char *room = s->values;

	s->several = (struct coroi_several){0, tell == COROI_TELL_SPINNER ? COROI_EVENT_SPINS
									  : COROI_EVENT_NONE};
	for (uint32_t i = 0; i < s->n; i++) {
		coro_case *one = &s->cases[i];
		struct coroi_waiter *x = &s->waiter[i];
		coroi_waiter_init(x, &one->chan->object, me, (uint8_t)i, value_of(one));
		x->tell = tell;
		if (g)
			x->gowaiter = g;
		if (coroi_unlikely(s->values != NULL)) {
			x->value = room;
			room += one->chan->bytes;
			if (sends(one))
				coroi_chan_copy(x->value, value_of(one), one->chan->bytes, false);
		}
		x->several = &s->several;
		coroi_waitq_add(coroi_chan_wait_queue(one->chan, sends(one)), x);
		one->chan->selects++;
	}
	s->values_end = room;
}

/* dequeue_all - take the waiters out of the queues that they are still in. The waiter `taken` is in
 * none. No other thread looks at any of them afterwards. */
static void dequeue_all(struct choice *s, uint32_t taken)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct coro_chan *c = s->cases[i].chan;
		if (i == taken)
			continue;
		coroi_object_enter(&c->object); /* c is not freed meanwhile: `selects` */
		if (s->waiter[i].queue)
			coroi_waitq_remove(&s->waiter[i]);
		c->selects--;
		coroi_object_leave(&c->object);
	}
}

/* bytes_of_value - the size of the value i in `values`. The channel, which has it too, may be gone
 * by the time that the value has come. */
static size_t bytes_of_value(const struct choice *s, uint32_t i)
{
	const unsigned char *value = s->waiter[i].value,
			    *end = i + 1 < s->n ? s->waiter[i + 1].value : s->values_end;
	return (size_t)(end - value);
}

/* take_result - the case i was done by the thread that has taken its waiter. */
static inline void take_result(struct choice *s, uint32_t i)
{
	coro_case *one = &s->cases[i];

	one->status = s->waiter[i].status;
	if (coroi_unlikely(s->values != NULL) && !sends(one) && one->status == CORO_OK)
		coroi_chan_copy(one->recv, s->waiter[i].value, bytes_of_value(s, i), false);
}

static bool is_home(const struct choice *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->cases[i].chan->object.home)
			return true;
	return false;
}

static int select_slow(struct choice *s, uint64_t deadline)
{
	struct coroi_rec *me;
	int status = coroi_must_wait(&me, deadline);

	if (status) {
		leave_all(s);
		return coroi_wont_wait(status, "coro_select");
	}
	bool spins = coroi_may_spin(me, deadline) && !is_home(s);
	enqueue_all(s, me, NULL,
		    spins ? COROI_TELL_SPINNER
		    : me  ? COROI_TELL_COROUTINE
			  : COROI_TELL_THREAD);
	leave_all(s);
	if (!me)
		status = coroi_thread_wait(&s->several.event, deadline, withdraw_select, s);
	else if (!spins || !coroi_spin_for_event(&s->several.event))
		status = coroi_wait(me, CORO_WAIT_SELECT, deadline, withdraw_select, s);
	uint32_t i = status ? LEFT : at_load_acq(&s->several.chosen) - 1;
	dequeue_all(s, i);
	if (status)
		return status;
	take_result(s, i);
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

/* choice_of - the choice of g, which lies in the memory for g's value. Behind it are the cases, a
 * waiter and a channel for each case, and the values. */
static inline struct choice *choice_of(struct coroi_gowaiter *g)
{
	return (struct choice *)(void *)g->value;
}

size_t coroi_select_bytes(uint32_t n)
{
	size_t bytes = sizeof(struct choice) +
		       n * (sizeof(coro_case) + sizeof(struct coroi_waiter) +
			    sizeof(struct coro_chan *));
	return (bytes + 15) & ~(size_t)15;
}

coro_case *coroi_select_cases(struct coroi_gowaiter *g)
{
	return (coro_case *)(choice_of(g) + 1);
}

static bool withdraw_gowaiter(struct coroi_gowaiter *g)
{
	if (!withdraw_select(choice_of(g)))
		return false;
	dequeue_all(choice_of(g), LEFT);
	return true;
}

int coroi_select_gowaiter(struct coroi_gowaiter *g, uint32_t n)
{
	struct choice *s = choice_of(g);

	s->cases = coroi_select_cases(g);
	s->n = n;
	s->waiter = (struct coroi_waiter *)(void *)(s->cases + n);
	s->order = (struct coro_chan **)(void *)(s->waiter + n);
	int status = check(s->cases, n, true);
	if (status)
		return status;
	sort(s);
	if ((status = enter_all(s)))
		return status;
	int done = try_all(s);
	if (done >= 0) {
		s->several.chosen = (uint32_t)done + 1;
		return CORO_OK;
	}
	g->withdraw = withdraw_gowaiter;
	enqueue_all(s, NULL, g, COROI_TELL_GOWAITER);
	leave_all(s);
	return COROI_WAITS;
}

int coroi_select_done(struct coroi_gowaiter *g)
{
	struct choice *s = choice_of(g);
	uint32_t i = at_load_acq(&s->several.chosen) - 1;

	if (g->withdraw) { /* g has waited */
		dequeue_all(s, i);
		s->cases[i].status = s->waiter[i].status;
	}
	return (int)i;
}

#define STACK_SPARE 2048 /* for the functions that are called */

static COROI_NOINLINE int select_on_stack(coro_case *cases, uint32_t n, uint64_t deadline)
{
	struct coro_chan *order[n];
	struct coroi_waiter waiter[n] COROI_ALONE;
	struct choice s = {.cases = cases, .n = n, .order = order, .waiter = waiter};

	return select_with(&s, deadline);
}

/* select_aside - select for a dense coroutine: what others are to reach lies aside, with room for
 * the values. */
static COROI_NOINLINE int select_aside(coro_case *cases, uint32_t n, uint64_t deadline)
{
	size_t values = 0;

	for (uint32_t i = 0; i < n; i++)
		values += cases[i].chan->bytes;
	struct choice *s = coroi_aside_get(sizeof *s + n * (sizeof *s->waiter + sizeof *s->order) +
					   values);
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

/* ----------------------------------------------------------------- channels and others */

static const struct coroi_source *sources[COROI_SOURCES];

void coroi_source_register(unsigned kind, const struct coroi_source *source)
{
	sources[kind] = source;
}

static inline unsigned kind_of(const coro_case *one)
{
	return one->direction >> 8;
}

/* A select with sources' cases. */
struct mix {
	struct choice choice;  /* of the channels' cases, which are copies */
	struct coroi_case *at; /* the others */
	uint32_t ats;
	enum coro_wait_kind what; /* how the wait is reported */
	coro_case *cases;         /* the caller's */
	uint32_t n;
	uint8_t place[CORO_CASES_MAX]; /* in `cases`: of the channels' cases, then of the others */
};

#define WITHDRAWN 1 /* a select that did not wait: an event was there already */

static inline bool is_at(const coro_case *one)
{
	return one->direction;
}

/* sort_out - fill in the cases of both kinds. m->n, and m->ats of them. */
static void sort_out(struct mix *m, struct coroi_rec *me)
{
	uint32_t chans = 0, ats = 0, first = m->n - m->ats;

	m->what = CORO_WAIT_SELECT;
	for (uint32_t i = 0; i < m->n; i++) {
		if (is_at(&m->cases[i])) {
			m->place[first + ats] = (uint8_t)i;
			if (kind_of(&m->cases[i]) == COROI_SOURCE_FD)
				m->what = CORO_WAIT_SELECT_FD;
			m->at[ats] = (struct coroi_case){.source = sources[kind_of(&m->cases[i])],
							 .name = m->cases[i].fd,
							 .direction = m->cases[i].direction,
							 .mark = first + ats + 1,
							 .several = &m->choice.several,
							 .me = me,
							 .waiter = &m->choice.waiter[first + ats]};
			m->at[ats++].waiter->queue = 0;
		} else {
			m->place[chans] = (uint8_t)i;
			m->choice.cases[chans++] = m->cases[i];
		}
	}
	m->choice.n = chans;
}

static void leave_ats(struct mix *m)
{
	for (uint32_t k = 0; k < m->ats; k++)
		if (m->at[k].place)
			m->at[k].source->leave(&m->at[k]);
}

static int enter_ats(struct mix *m)
{
	for (uint32_t k = 0; k < m->ats; k++) {
		int status = m->at[k].source->enter(&m->at[k]);
		if (status && status != CORO_ECLOSED && status != CORO_ESTALE) {
			leave_ats(m);
			return status;
		}
		m->at[k].ready = status;
	}
	return CORO_OK;
}

/* look_ats - is one of them ready? */
static bool look_ats(struct mix *m, bool waits)
{
	bool any = false;

	for (uint32_t k = 0; k < m->ats; k++) {
		if (m->at[k].place)
			m->at[k].source->look(&m->at[k], waits);
		any |= m->at[k].ready;
	}
	return any;
}

static int watch_ats(struct mix *m)
{
	int status = CORO_OK;

	for (uint32_t k = 0; k < m->ats && !status; k++)
		status = m->at[k].source->watch(&m->at[k]);
	return status;
}

static bool enqueue_ats(struct mix *m)
{
	for (uint32_t k = 0; k < m->ats; k++)
		if (!m->at[k].source->enqueue(&m->at[k]))
			return false;
	return true;
}

static void dequeue_ats(struct mix *m)
{
	for (uint32_t k = 0; k < m->ats; k++)
		m->at[k].source->dequeue(&m->at[k]);
}

/* try_one - do the operation, if it can be done at once. Then all channels are left. All channels
 * are entered. */
static inline bool try_one(struct choice *s, coro_case *one)
{
	struct coroi_waiter *woken = NULL;
	int status = coroi_chan_try(one->chan, sends(one), value_of(one), &woken, one->chan->bytes,
				    false, true, NULL);

	if (status == COROI_NOT_NOW)
		return false;
	one->status = status;
	leave_all(s);
	if (woken)
		coroi_waiter_wake(woken);
	return true;
}

/* try_mix - as try_all. The status of the case that was done is the caller's. */
static int try_mix(struct mix *m)
{
	uint32_t first = random_below(m->n), chans = m->choice.n;

	for (uint32_t k = 0; k < m->n; k++) {
		uint32_t i = first + k < m->n ? first + k : first + k - m->n;
		coro_case *one = &m->cases[m->place[i]];
		if (i < chans) {
			if (!try_one(&m->choice, &m->choice.cases[i]))
				continue;
			one->status = m->choice.cases[i].status;
		} else {
			int32_t ready = m->at[i - chans].ready;
			if (!ready)
				continue;
			one->status = ready < 0 ? ready : CORO_OK;
			leave_all(&m->choice);
		}
		return m->place[i];
	}
	return -1;
}

/* wait_mix - register, and wait. The channels are entered, and are left. Returns: an index, a
 * status, or m->n: once more. */
static int wait_mix(struct mix *m, struct coroi_rec *me, uint64_t deadline)
{
	struct choice *s = &m->choice;
	int status;

	coroi_escape(me);
	enqueue_all(s, me, NULL, COROI_TELL_COROUTINE);
	bool waits = enqueue_ats(m);
	leave_all(s);
	if (waits)
		status = coroi_wait(me, m->what, deadline, withdraw_select, s);
	else if (withdraw_select(s))
		status = WITHDRAWN;
	else /* an event was first, and is on its way */
		status = coroi_wait(me, m->what, CORO_FOREVER, NULL, NULL);
	uint32_t i = status ? LEFT : at_load_acq(&s->several.chosen) - 1;
	dequeue_ats(m);
	dequeue_all(s, i);
	if (status < 0)
		return status;
	if (status || i >= s->n)
		return (int)m->n;
	take_result(s, i);
	m->cases[m->place[i]].status = s->cases[i].status;
	return m->place[i];
}

/* select_once - the sources' cases are entered. Returns as wait_mix. */
static int select_once(struct mix *m, struct coroi_rec *me, uint64_t deadline)
{
	struct choice *s = &m->choice;
	bool may_wait = deadline && !coroi_in_nowait(coroi_self(), deadline);
	bool ready = look_ats(m, may_wait);
	int watched = ready || !may_wait ? CORO_OK : watch_ats(m);
	int status = enter_all(s);

	if (status)
		return status;
	int done = try_mix(m);
	if (done >= 0)
		return done;
	if (may_wait && !watched)
		return wait_mix(m, me, deadline);
	leave_all(s);
	return watched     ? watched
	       : !deadline ? CORO_ETIMEDOUT
			   : coroi_nowait_refuse(coroi_self(), "coro_select");
}

static int select_mix(struct mix *m, struct coroi_rec *me, uint64_t deadline)
{
	int done;

	sort_out(m, me);
	int status = enter_ats(m);
	if (status)
		return status;
	sort(&m->choice);
	do
		done = select_once(m, me, deadline);
	while (done == (int)m->n);
	leave_ats(m);
	return done;
}

static COROI_NOINLINE int mix_on_stack(coro_case *cases, uint32_t n, uint32_t ats,
				       struct coroi_rec *me, uint64_t deadline)
{
	uint32_t room = n > ats ? n - ats : 1;
	struct coro_chan *order[room];
	coro_case chans[room];
	struct coroi_case at[ats];
	struct coroi_waiter waiter[n] COROI_ALONE;
	struct mix m = {.choice = {.cases = chans, .order = order, .waiter = waiter},
			.at = at,
			.ats = ats,
			.cases = cases,
			.n = n};

	return select_mix(&m, me, deadline);
}

/* mix_aside - as select_aside. */
static COROI_NOINLINE int mix_aside(coro_case *cases, uint32_t n, uint32_t ats,
				    struct coroi_rec *me, uint64_t deadline)
{
	size_t values = 0;
	uint32_t chans = n - ats;

	for (uint32_t i = 0; i < n; i++)
		values += is_at(&cases[i]) ? 0 : cases[i].chan->bytes;
	struct mix *m = coroi_aside_get(
		sizeof *m + n * sizeof *m->choice.waiter + ats * sizeof *m->at +
		chans * (sizeof *m->choice.order + sizeof *m->choice.cases) + values);
	if (!m)
		return CORO_ENOMEM;
	*m = (struct mix){.cases = cases, .n = n, .ats = ats};
	m->choice.waiter = (struct coroi_waiter *)(m + 1);
	m->at = (struct coroi_case *)(m->choice.waiter + n);
	m->choice.order = (struct coro_chan **)(m->at + ats);
	m->choice.cases = (coro_case *)(m->choice.order + chans);
	m->choice.values = (unsigned char *)(m->choice.cases + chans);
	int status = select_mix(m, me, deadline);
	coroi_aside_put(m);
	return status;
}

/* What a case takes: a source's is not less than a channel's. */
#define MIX_BYTES (sizeof(struct coroi_waiter) + sizeof(struct coroi_case))
_Static_assert(sizeof(struct coroi_case) >= sizeof(struct coro_chan *) + sizeof(coro_case),
	       "MIX_BYTES is enough for both");

/* check_mix - how many cases are sources'; CORO_EINVAL: a case is wrong, or none is one. */
static int check_mix(const coro_case *cases, uint32_t n)
{
	int ats = 0;

	if (!cases || !n || n > CORO_CASES_MAX)
		return CORO_EINVAL;
	for (uint32_t i = 0; i < n; i++)
		if (is_at(&cases[i]) && kind_of(&cases[i]) < COROI_SOURCES &&
		    sources[kind_of(&cases[i])] && !cases[i].send && !cases[i].recv)
			ats++;
		else if (!is_chan_case(&cases[i], true))
			return CORO_EINVAL;
	return ats ? ats : CORO_EINVAL;
}

/* select_other - coro_select where not all cases are right, and of channels. Buffers have
 * passed. */
static COROI_COLD int select_other(coro_case *cases, uint32_t n, uint64_t deadline)
{
	int ats = check_mix(cases, n);
	struct coroi_rec *me = coroi_current(coroi_self());

	if (ats < 0)
		return ats;
	if (!me)
		return CORO_EPERM;
	if (coroi_spend_here(coroi_here()))
		coroi_spent(deadline);
	if (coroi_is_dense(me))
		return mix_aside(cases, n, (uint32_t)ats, me, deadline);
	if (coro_stack_left() < sizeof(struct mix) + n * MIX_BYTES + STACK_SPARE)
		return CORO_ENOMEM;
	return mix_on_stack(cases, n, (uint32_t)ats, me, deadline);
}

/* select_chans - coro_select of cases that are right, and of channels. */
static inline __attribute__((always_inline)) int select_chans(coro_case *cases, uint32_t n,
							      uint64_t deadline)
{
	if (coroi_spend_here(coroi_here()))
		coroi_spent(deadline);
	struct coroi_worker *w = coroi_self();
	if (coroi_current(w) && coroi_is_dense(coroi_current(w)))
		return select_aside(cases, n, deadline);
	size_t left = coro_stack_left(); /* 0: this is a thread's own stack */
	if (left && left < n * (sizeof(struct coroi_waiter) + sizeof(void *)) + STACK_SPARE)
		return CORO_ENOMEM;
	return select_on_stack(cases, n, deadline);
}

int coroi_select_passed(coro_case *cases, uint32_t n, uint64_t deadline)
{
	return check(cases, n, true) ? select_other(cases, n, deadline)
				     : select_chans(cases, n, deadline);
}

int coro_select(coro_case *cases, uint32_t n, uint64_t deadline)
{
	if (coroi_unlikely(check(cases, n, false)))
		return coroi_select_sends_buffers(cases, n)
			       ? coroi_select_passing(cases, n, deadline)
			       : select_other(cases, n, deadline);
	return select_chans(cases, n, deadline);
}
