//go:build ignore
/*
 * ask.c - messages that ask, and their answers.
 *
 * Two words of the message say who waits for an answer: an actor, and the kind of the message that
 * brings the answer; or a question, and its number. A question is where a caller of coro_actor_ask
 * and its like waits.
 *
 *      question's state   number:51 | FREE, WAITS, BEGUN, WRITTEN or ANSWERED
 *
 *   ASK1  asker: take a free question; its state = the number, WAITS. Then send, which releases it
 *   ASK2  turn, before a call of the behaviour, and who buries, before the hook: a message that
 *         lends is begun: CAS WAITS -> BEGUN. Acquire, pairs with ASK1's send: what is lent is as
 *         the asker has left it. It fails: the asker has taken the message back. Nobody sees it; it
 *         is dropped, and counted as taken back
 *   ASK3  turn, after the call: what the behaviour has left is not begun: CAS BEGUN -> WAITS, and
 *         wake the asker, which looks at its deadline again. Release, pairs with ASK5
 *   ASK4  who answers: CAS WAITS -> WRITTEN, or BEGUN -> WRITTEN where the message was begun. It
 *         fails: nobody waits any more, or the message was answered. Write; state = ANSWERED, a
 *         release, pairs with ASK5; and wake the asker by the question's semaphore
 *   ASK5  asker, awake: ANSWERED: read. Still WAITS: another cause; wait again. The deadline, or a
 *         cancel: CAS WAITS -> FREE, and so to the next number. Acquire, pairs with ASK3. It fails.
 *         WRITTEN: the answer is being written, some instructions. BEGUN: wait on, without a
 *         deadline, in a section that holds a cancel off, until ASK3 or ASK4
 *   ASK6  of several asks that wait as one the first question, their lead, counts those that are
 *         out. ASK4, after ANSWERED: count less one, a read-modify-write, pairs with the asker's
 *         load; who comes to 0 wakes the asker by the lead's semaphore. ASK3 wakes by that, too.
 *         ASK5 counts what it takes back, and then looks whether some are out: if it has come to 0
 *         itself, nobody wakes it
 *
 * So what an asker lends is touched between ASK2 and the first of ASK3 and ASK4, and the asker
 * returns before or after, never between. A message that lends is not kept: who keeps one touches
 * the memory after the call, when nobody can say any more whether the asker is there.
 *
 * The semaphore only wakes: a permit that comes after ASK5 has seen ANSWERED costs the next asker
 * one look. So nothing is touched after ASK4's release that the asker frees: questions are never
 * freed. The lead is read before that release.
 *
 * Cycles. The table below has the questions of actors that wait, by asker. Before an asker waits
 * it looks whether the actor that it is about to ask waits, over others, for the asker: a search,
 * since one that asks several waits for each. One that has begun is waited for, too. One lock
 * guards all of that.
 */
#include "actor/actors.h"

#include "base/copy.h"
#include "base/sys.h"
#include "buffer/buffer.h"

#include <stdio.h>
#include <string.h>

enum { FREE, WAITS, BEGUN, WRITTEN, ANSWERED };
#define STATES 8u

struct question {
	coro_sem wake;
	uint64_t state; /* atomic */
	int status;     /* CORO_OK, CORO_ENDED */
	/* Of a message that lends and carries: which words, and the asker's payload. */
	uint64_t carried;
	const void *payload;
	coro_answer answer;
	struct question *next;   /* of the free ones */
	struct question *lead;   /* ASK6; NULL: it waits alone */
	uint32_t out;            /* of a lead: how many are out. Atomic */
	coro_actor asker, asked; /* in the table, if asker is not 0 */
	struct question *other;  /* the next of the bucket */
	/* Of a search for a cycle: the last that has come here, from where, and what comes next. */
	uint64_t search;
	struct question *from, *then;
};

static struct coroi_spin questions_lock; /* of what follows */
static struct question *questions;
static struct question *asking[COROI_ASK_BUCKETS];
static uint64_t searches;

static coro_deadlock_hook deadlock_hook; /* atomic */

coro_deadlock_hook coro_actor_on_deadlock(coro_deadlock_hook hook)
{
	return at_xchg(&deadlock_hook, hook);
}

/* ------------------------------------------------------------------------------------ questions */

static void questions_put(struct question *const *q, size_t n)
{
	for (size_t i = 0; i < n; i++) /* relaxed: only the asker changes ANSWERED, and FREE */
		at_store_rlx(&q[i]->state, (at_load_rlx(&q[i]->state) / STATES + 1) * STATES);
	coroi_spin_lock(&questions_lock);
	for (size_t i = 0; i < n; i++) {
		q[i]->next = questions;
		questions = q[i];
	}
	coroi_spin_unlock(&questions_lock);
}

/* questions_get - ASK1 of n. False: no memory. */
static bool questions_get(struct question **q, size_t n)
{
	size_t k = 0;

	coroi_spin_lock(&questions_lock);
	for (; k < n && questions; k++) {
		q[k] = questions;
		questions = questions->next;
	}
	coroi_spin_unlock(&questions_lock);
	for (; k < n; k++) {
		if (!(q[k] = coroi_alloc(sizeof **q, COROI_LINE)))
			break;
		(void)coro_sem_init(&q[k]->wake, 0, 0); /* which refuses other numbers, and flags */
	}
	for (size_t i = 0; i < k; i++) {
		q[i]->lead = NULL;
		q[i]->carried = 0;
		at_add(&q[i]->state, WAITS);
	}
	if (k == n)
		return true;
	questions_put(q, k);
	return false;
}

static struct question *question_of(const struct coro_message *m, uint64_t *number)
{
	*number = m->words[5] & COROI_ASK_NUMBER;
	return (struct question *)(uintptr_t)m->words[4];
}

bool coroi_ask_begin(const struct coro_message *m)
{
	uint64_t number;
	struct question *c = question_of(m, &number);
	uint64_t was = number * STATES + WAITS;

	/* ASK2; one that a behaviour which has not returned has left is begun already */
	return at_cas(&c->state, &was, number * STATES + BEGUN) || was == number * STATES + BEGUN;
}

/* wakes - ASK3 and ASK4: the semaphore by which a question that waits, not alone, wakes. */
static coro_sem *wakes(struct question *c)
{
	return c->lead ? &c->lead->wake : &c->wake;
}

void coroi_ask_left(struct coro_message *m, uint32_t n)
{
	for (; m && n--; m = m->next_) {
		uint64_t number;
		if (!(m->flags_ & COROI_M_LENDS))
			continue;
		struct question *c = question_of(m, &number);
		coro_sem *wake = wakes(c);
		uint64_t was = number * STATES + BEGUN;
		if (at_cas(&c->state, &was, number * STATES + WAITS)) /* ASK3 */
			(void)coro_sem_release(wake, 1);
	}
}

/* question_answer - ASK4. */
static int question_answer(struct question *c, uint64_t number, int status, const void *payload,
			   size_t bytes)
{
	uint64_t was = number * STATES + WAITS;

	if (!at_cas(&c->state, &was, number * STATES + WRITTEN) &&
	    (was != number * STATES + BEGUN || !at_cas(&c->state, &was, number * STATES + WRITTEN)))
		return CORO_ESTALE;
	struct question *lead = c->lead;
	c->status = status;
	c->answer.bytes = bytes;
	if (bytes)
		coroi_copy_few(c->answer.payload, payload, bytes);
	at_store_rel(&c->state, number * STATES + ANSWERED); /* pairs with ASK5 */
	if (!lead)
		(void)coro_sem_release(&c->wake, 1);
	else if (!at_add(&lead->out, -1)) /* ASK6 */
		(void)coro_sem_release(&lead->wake, 1);
	return CORO_OK;
}

/* question_take_back - ASK5, after a deadline or a cancel. False: *was is what the state is. */
static bool question_take_back(struct question *c, unsigned *was)
{
	uint64_t state = at_load_rlx(&c->state);
	bool taken = state % STATES == WAITS && at_cas(&c->state, &state, state - WAITS + FREE);

	*was = (unsigned)(state % STATES);
	if (coroi_unlikely(taken && c->carried))
		coroi_buffers_reclaim(c->payload, c->carried);
	return taken;
}

/* wait_shielded - for the semaphore of a begun question, as coroi_shield_ready was called before. */
COROI_COLD static void wait_shielded(struct question *c)
{
	bool shielded = coroi_shield_whole() == CORO_OK; /* else on a thread */

	if (coro_sem_acquire(&c->wake, CORO_FOREVER))
		at_relax();
	if (shielded)
		(void)coro_shield_end();
}

/* A call of coro_actor_ask_all. */
struct several {
	coro_ask *asks;
	struct question *q[CORO_ASKS_MOST]; /* the first is the lead */
	size_t n;
	uint64_t out; /* a bit for each that was sent, and has not been taken back */
};

/* ask_over - the asker's own ASK6: ask i comes to its end by the asker. */
static void ask_over(struct several *x, size_t i, int status)
{
	x->asks[i].status = status;
	x->out &= ~(UINT64_C(1) << i);
	at_add(&x->q[0]->out, -1);
}

/* several_take_back - ASK5 of those that are out. Returns: BEGUN, if one of them is, and some are
 * out still: who comes to 0 wakes the asker. */
static unsigned several_take_back(struct several *x, int status)
{
	unsigned any = WAITS, was;

	for (uint64_t left = x->out; left; left &= left - 1) {
		size_t i = (size_t)__builtin_ctzll(left);
		if (question_take_back(x->q[i], &was))
			ask_over(x, i, status);
		else if (was == BEGUN)
			any = BEGUN;
	}
	return at_load_acq(&x->q[0]->out) ? any : WAITS;
}

/* take_back - ASK5, after a deadline or a cancel, for questions_wait. Returns: c waits no more. Else
 * look again. */
COROI_COLD static bool take_back(struct question *c, struct several *x, int status)
{
	unsigned was = x ? several_take_back(x, status) : WAITS;

	if (!x && question_take_back(c, &was))
		return true;
	if (was == BEGUN)
		wait_shielded(c);
	else
		at_relax(); /* an answer is being written, or nothing is out */
	return false;
}

/* questions_wait - ASK5; or, where x is not NULL, ASK5 and ASK6 for those of x, whose lead is c. The
 * questions are the caller's afterwards. Returns: CORO_OK: c was answered, or each of x has come to
 * an end; else why c was taken back. */
static inline __attribute__((always_inline)) int
questions_wait(struct question *c, struct several *x, uint64_t deadline)
{
	int status = CORO_OK;

	while (x ? at_load_acq(&c->out) : at_load_acq(&c->state) % STATES != ANSWERED) {
		if (!status)
			status = coro_sem_acquire(&c->wake, deadline);
		if (coroi_unlikely(status) && take_back(c, x, status))
			return status;
	}
	return CORO_OK;
}

/* --------------------------------------------------------------------------------------- cycles */

static struct question **bucket_of(coro_actor a)
{
	return &asking[a % COROI_ASK_BUCKETS];
}

/* is_asking - c, of the bucket of a, is one by which the actor a waits. */
static bool is_asking(const struct question *c, coro_actor a)
{
	uint64_t state = at_load_rlx(&c->state) % STATES;

	return c->asker == a && (state == WAITS || state == BEGUN);
}

COROI_COLD static void tell_deadlock(const coro_actor *cycle, size_t n)
{
	coro_deadlock_hook hook = at_load_acq(&deadlock_hook);
	static const char begin[] = "coro: coro_actor_ask would wait for itself: ";
	char text[512];
	size_t k;

	if (hook) {
		hook(cycle, n);
		return;
	}
	memcpy(text, begin, k = sizeof begin - 1);
	for (size_t i = 0; i <= n && k + 40 < sizeof text; i++)
		k += (size_t)snprintf(text + k, sizeof text - k, "%sactor %#llx", i ? " asks " : "",
				      (unsigned long long)cycle[i % n]);
	text[k++] = '\n';
	coroi_say(text, k);
}

/* search - in the lock: does `at` wait for `asker`, perhaps over others? Returns: the last question
 * of the way there, linked back by `from`; or NULL. */
static struct question *search(coro_actor at, coro_actor asker)
{
	struct question *first = NULL, **last = &first, *from = NULL;

	searches++;
	for (;;) {
		for (struct question *c = *bucket_of(at); c; c = c->other) {
			if (!is_asking(c, at) || c->search == searches)
				continue;
			c->search = searches;
			c->from = from;
			if (c->asked == asker)
				return c;
			c->then = NULL;
			*last = c;
			last = &c->then;
		}
		if (!first)
			return NULL;
		from = first;
		at = first->asked;
		first = first->then;
		if (!first)
			last = &first;
	}
}

/* enter_table - c's asker waits for `asked` from now on. Returns: CORO_OK, CORO_EDEADLK. */
static int enter_table(struct question *c, coro_actor asker, coro_actor asked)
{
	coro_actor cycle[COROI_CYCLE_MOST];
	size_t n = 1, k;

	coroi_spin_lock(&questions_lock);
	struct question *way = asked == asker ? NULL : search(asked, asker);
	if (!way && asked != asker) {
		c->asker = asker;
		c->asked = asked;
		c->other = *bucket_of(asker);
		*bucket_of(asker) = c;
		coroi_spin_unlock(&questions_lock);
		return CORO_OK;
	}
	cycle[0] = asker;
	for (struct question *x = way; x; x = x->from)
		n++;
	k = n;
	n = n < COROI_CYCLE_MOST ? n : COROI_CYCLE_MOST;
	for (; way; way = way->from)
		if (--k < n)
			cycle[k] = way->asker;
	coroi_spin_unlock(&questions_lock);
	tell_deadlock(cycle, n);
	return CORO_EDEADLK;
}

static void leave_table(struct question *c)
{
	coroi_spin_lock(&questions_lock);
	struct question **link = bucket_of(c->asker);
	while (*link != c)
		link = &(*link)->other;
	*link = c->other;
	c->asker = 0;
	coroi_spin_unlock(&questions_lock);
}

/* --------------------------------------------------------------------------------------- asking */

static int check(uint32_t kind, const void *payload, size_t bytes)
{
	return kind >= CORO_MESSAGE_SYSTEM || bytes > CORO_ASK_BYTES || (bytes && !payload)
		       ? CORO_EINVAL
		       : CORO_OK;
}

/* may_wait - as for any call that waits; what a wait in a section needs is there. */
static int may_wait(const char *call, bool lends, uint64_t deadline)
{
	int status = coroi_self() && coroi_current(coroi_self())
			     ? coroi_nowait(coroi_self(), call, lends ? CORO_FOREVER : deadline)
			     : CORO_OK;

	return !status && lends ? coroi_shield_ready() : status;
}

/* question_send - c's message. turn: the caller's, or NULL. */
static int question_send(struct question *c, const coro_actor_turn *turn, coro_actor to,
			 uint32_t kind, const void *payload, size_t bytes, bool lends,
			 uint64_t deadline)
{
	struct coroi_asks ask = {{(uintptr_t)c, COROI_BY_CALL | at_load_rlx(&c->state) / STATES},
				 0};
	int status = turn ? enter_table(c, turn->self, to) : CORO_OK;

	if (!status)
		status = coroi_send_asking(to, kind, payload, bytes, &ask, lends, deadline);
	if (coroi_unlikely(lends && ask.carried)) {
		c->carried = ask.carried;
		c->payload = payload;
	}
	return status;
}

static int ask(const char *call, coro_actor to, uint32_t kind, const void *payload, size_t bytes,
	       coro_answer *answer, bool lends, uint64_t deadline)
{
	struct question *c;

	if (!answer || check(kind, payload, bytes))
		return CORO_EINVAL;
	int status = may_wait(call, lends, deadline);
	if (status)
		return status;
	if (!questions_get(&c, 1))
		return CORO_ENOMEM;
	status = question_send(c, coroi_turn_here(), to, kind, payload, bytes, lends, deadline);
	if (!status && !(status = questions_wait(c, NULL, deadline))) {
		*answer = c->answer;
		status = c->status;
	}
	if (c->asker)
		leave_table(c);
	questions_put(&c, 1);
	return status;
}

int coro_actor_ask(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
		   coro_answer *answer, uint64_t deadline)
{
	return ask("coro_actor_ask", to, kind, payload, bytes, answer, false, deadline);
}

int coro_actor_ask_lend(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
			coro_answer *answer, uint64_t deadline)
{
	return ask("coro_actor_ask_lend", to, kind, payload, bytes, answer, true, deadline);
}

/* ------------------------------------------------------------------------------- several at once */

static void send_several(struct several *x, uint64_t deadline)
{
	const coro_actor_turn *turn = coroi_turn_here();
	struct question *lead = x->q[0];

	at_store_rlx(&lead->out, (uint32_t)x->n); /* before the sends, which release it */
	for (size_t i = 0; i < x->n; i++)
		x->q[i]->lead = lead;
	x->out = x->n < 64 ? (UINT64_C(1) << x->n) - 1 : ~UINT64_C(0);
	for (size_t i = 0; i < x->n; i++) {
		const coro_ask *a = &x->asks[i];
		int status = check(a->kind, a->payload, a->bytes);
		if (!status)
			status = question_send(x->q[i], turn, a->to, a->kind, a->payload, a->bytes,
					       a->flags & CORO_ASK_LENDS, deadline);
		if (status)
			ask_over(x, i, status);
	}
}

static int refuse_all(coro_ask *asks, size_t n, int status)
{
	for (size_t i = 0; i < n; i++)
		asks[i].status = status;
	return status;
}

int coro_actor_ask_all(coro_ask *asks, size_t n, uint64_t deadline)
{
	struct several x; /* half a KiB, most of it not used */
	bool lends = false;

	if ((n && !asks) || n > CORO_ASKS_MOST)
		return CORO_EINVAL;
	x.asks = asks;
	x.n = n;
	for (size_t i = 0; i < n; i++) {
		if (asks[i].flags & ~CORO_ASK_LENDS)
			return refuse_all(asks, n, CORO_EINVAL);
		lends |= asks[i].flags & CORO_ASK_LENDS;
	}
	int status = may_wait("coro_actor_ask_all", lends, deadline);
	if (!n || status)
		return refuse_all(asks, n, status);
	if (!questions_get(x.q, n))
		return refuse_all(asks, n, CORO_ENOMEM);
	send_several(&x, deadline);
	(void)questions_wait(x.q[0], &x, deadline);
	for (size_t i = 0; i < n; i++) {
		if (x.out >> i & 1) {
			asks[i].status = x.q[i]->status;
			asks[i].answer = x.q[i]->answer;
		}
		if (x.q[i]->asker)
			leave_table(x.q[i]);
		if (!status)
			status = asks[i].status;
	}
	questions_put(x.q, n);
	return status;
}

/* --------------------------------------------------------------------------------- as a message */

int coro_actor_ask_then(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
			coro_actor asker, uint32_t answer_kind)
{
	const struct coroi_place *a = coroi_place_of(to), *back = coroi_place_of(asker);

	if (check(kind, payload, bytes) || answer_kind >= CORO_MESSAGE_SYSTEM)
		return CORO_EINVAL;
	if (!a || !back)
		return CORO_ESTALE;
	if (coroi_owner_of(a) != coroi_owner_of(back))
		return CORO_EPERM;
	struct coroi_asks ask = {{asker, answer_kind}, 0};
	return coroi_send_asking(to, kind, payload, bytes, &ask, false, 0);
}

/* answer - answer the one that the two words name. */
static int answer_to(const uint64_t *words, const void *payload, size_t bytes)
{
	uint64_t buffers = coroi_carried(words[1], COROI_ANSWERS_SHIFT, bytes), copy[6];
	int status = CORO_OK;

	if (!(words[1] & COROI_BY_CALL))
		return coroi_send_back(words[0], (uint32_t)words[1], payload, bytes, buffers);
	if (coroi_unlikely(buffers)) {
		payload = memcpy(copy, payload, bytes);
		if ((status = coroi_carry_pass(copy, buffers)))
			return status;
	}
	status = question_answer((struct question *)(uintptr_t)words[0],
				 words[1] & COROI_ASK_NUMBER, CORO_OK, payload, bytes);
	if (coroi_unlikely(status && buffers))
		coroi_buffers_unpass(copy, buffers);
	return status;
}

int coro_message_answer(coro_message *m, const void *payload, size_t bytes)
{
	if (!m || !(m->flags_ & COROI_M_ASK) || bytes > CORO_MESSAGE_BYTES || (bytes && !payload))
		return CORO_EINVAL;
	int status = answer_to(&m->words[4], payload, bytes);
	if (status == CORO_OK || status == CORO_ESTALE)
		m->flags_ &= (uint8_t) ~(COROI_M_ASK | COROI_M_LENDS);
	return status;
}

int coro_message_keep(coro_message *m, coro_asker *out)
{
	if (!m || !out || (m->flags_ & (COROI_M_ASK | COROI_M_LENDS)) != COROI_M_ASK)
		return CORO_EINVAL;
	memcpy(out, &m->words[4], sizeof *out);
	m->flags_ &= (uint8_t)~COROI_M_ASK;
	return CORO_OK;
}

int coro_asker_answer(const coro_asker *asker, const void *payload, size_t bytes)
{
	if (!asker || !asker->words[0] || bytes > CORO_MESSAGE_BYTES || (bytes && !payload))
		return CORO_EINVAL;
	return answer_to(asker->words, payload, bytes);
}

void coroi_unanswered(struct coro_message *m)
{
	uint64_t number = m->words[5] & COROI_ASK_NUMBER;

	m->flags_ &= (uint8_t) ~(COROI_M_ASK | COROI_M_LENDS);
	if (m->words[5] & COROI_BY_CALL)
		(void)question_answer((struct question *)(uintptr_t)m->words[4], number, CORO_ENDED,
				      NULL, 0);
	else
		while (coroi_send_back(m->words[4], CORO_MESSAGE_UNANSWERED, &number, sizeof number,
				       0) == CORO_ENOMEM)
			if (coro_yield()) /* others end meanwhile */
				break;
}
