//go:build ignore
/*
 * ask.c - messages that ask, and their answers.
 *
 * Two words of the message say who waits for an answer: an actor, and the kind of the message that
 * brings the answer; or a question, and its number. A question is where a caller of coro_actor_ask
 * waits.
 *
 *      question's state   number:62 | FREE, WAITS, WRITTEN or ANSWERED
 *
 *   ASK1  asker: take a free question; its state = the number, WAITS. Then send
 *   ASK2  who answers: CAS WAITS -> WRITTEN. It fails: nobody waits any more, or the message was
 *         answered. Write; state = ANSWERED, a release; and wake the asker by the question's
 *         semaphore
 *   ASK3  asker, awake: ANSWERED: read. Still WAITS: another cause; wait again. The deadline, or a
 *         cancel: CAS WAITS -> the next number, FREE. It fails: the answer is being written, some
 *         instructions
 *
 * The semaphore only wakes: a permit that comes after ASK3 has seen ANSWERED costs the next asker
 * one look. So nothing is touched after ASK2's release that the asker frees: questions are never
 * freed.
 *
 * Cycles. The table below maps each asker that waits to the actor that it asks. Before an asker
 * waits it follows that chain from the actor that it is about to ask. One lock guards all of that.
 */
#include "actor/actors.h"

#include "base/copy.h"
#include "base/sys.h"

#include <stdio.h>
#include <string.h>

enum { FREE, WAITS, WRITTEN, ANSWERED };
#define STATES  4u
#define BY_CALL (UINT64_C(1) << 63) /* in the second word: the first is a question */

struct question {
	coro_sem wake;
	uint64_t state; /* atomic */
	int status;     /* CORO_OK, CORO_ENDED */
	coro_answer answer;
	struct question *next;   /* of the free ones */
	coro_actor asker, asked; /* in the table, if asker is not 0 */
	struct question *other;  /* the next of the bucket */
};

static struct coroi_spin questions_lock; /* of what follows */
static struct question *questions;
static struct question *asking[COROI_ASK_BUCKETS];

static coro_deadlock_hook deadlock_hook; /* atomic */

coro_deadlock_hook coro_actor_on_deadlock(coro_deadlock_hook hook)
{
	return at_xchg(&deadlock_hook, hook);
}

/* ------------------------------------------------------------------------------------ questions */

static struct question *question_get(void)
{
	coroi_spin_lock(&questions_lock);
	struct question *c = questions;
	if (c)
		questions = c->next;
	coroi_spin_unlock(&questions_lock);
	if (!c && (c = coroi_alloc(sizeof *c, COROI_LINE)) && coro_sem_init(&c->wake, 0, 0)) {
		coroi_release(c);
		return NULL;
	}
	if (c)
		at_add(&c->state, WAITS);
	return c;
}

static void question_put(struct question *c)
{
	/* relaxed: only the asker changes ANSWERED, and FREE */
	at_store_rlx(&c->state, (at_load_rlx(&c->state) / STATES + 1) * STATES);
	coroi_spin_lock(&questions_lock);
	c->next = questions;
	questions = c;
	coroi_spin_unlock(&questions_lock);
}

/* question_answer - ASK2. */
static int question_answer(struct question *c, uint64_t number, int status, const void *payload,
			   size_t bytes)
{
	uint64_t waits = number * STATES + WAITS;

	if (!at_cas(&c->state, &waits, number * STATES + WRITTEN))
		return CORO_ESTALE;
	c->status = status;
	c->answer.bytes = bytes;
	if (bytes)
		coroi_copy_few(c->answer.payload, payload, bytes);
	at_store_rel(&c->state, number * STATES + ANSWERED); /* pairs with ASK3 */
	(void)coro_sem_release(&c->wake, 1);
	return CORO_OK;
}

/* question_wait - ASK3. The question is the caller's afterwards. */
static int question_wait(struct question *c, coro_answer *answer, uint64_t deadline)
{
	int status;

	while (at_load_acq(&c->state) % STATES != ANSWERED) {
		uint64_t waits = at_load_rlx(&c->state) / STATES * STATES + WAITS;
		status = coro_sem_acquire(&c->wake, deadline);
		if (status && at_cas(&c->state, &waits, waits - WAITS + FREE))
			return status;
		if (status)
			while (at_load_acq(&c->state) % STATES != ANSWERED)
				at_relax();
	}
	*answer = c->answer;
	return c->status;
}

/* --------------------------------------------------------------------------------------- cycles */

static struct question **bucket_of(coro_actor a)
{
	return &asking[a % COROI_ASK_BUCKETS];
}

static struct question *asking_of(coro_actor a)
{
	struct question *c = *bucket_of(a);

	while (c && (c->asker != a || at_load_rlx(&c->state) % STATES != WAITS))
		c = c->other;
	return c;
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

/* enter_table - c's asker waits for `asked` from now on. Returns: CORO_OK, CORO_EDEADLK. */
static int enter_table(struct question *c, coro_actor asker, coro_actor asked)
{
	coro_actor cycle[COROI_CYCLE_MOST], at = asked;
	struct question *next;
	size_t n = 1;

	cycle[0] = asker;
	coroi_spin_lock(&questions_lock);
	while (at != asker && (next = asking_of(at))) {
		if (n < COROI_CYCLE_MOST)
			cycle[n++] = at;
		at = next->asked;
	}
	if (at != asker) {
		c->asker = asker;
		c->asked = asked;
		c->other = *bucket_of(asker);
		*bucket_of(asker) = c;
	}
	coroi_spin_unlock(&questions_lock);
	if (at != asker)
		return CORO_OK;
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

int coro_actor_ask(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
		   coro_answer *answer, uint64_t deadline)
{
	const coro_actor_turn *turn = coroi_turn_here();

	if (!answer || check(kind, payload, bytes))
		return CORO_EINVAL;
	int status = coroi_self() && coroi_current(coroi_self())
			     ? coroi_nowait(coroi_self(), "coro_actor_ask", deadline)
			     : CORO_OK;
	if (status)
		return status;
	struct question *c = question_get();
	if (!c)
		return CORO_ENOMEM;
	status = turn ? enter_table(c, turn->self, to) : CORO_OK;
	bool entered = turn && !status;
	const struct coroi_asks ask = {{(uintptr_t)c, BY_CALL | at_load_rlx(&c->state) / STATES}};
	if (!status)
		status = coroi_send_asking(to, kind, payload, bytes, &ask, deadline);
	if (!status)
		status = question_wait(c, answer, deadline);
	if (entered)
		leave_table(c);
	question_put(c);
	return status;
}

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
	const struct coroi_asks ask = {{asker, answer_kind}};
	return coroi_send_asking(to, kind, payload, bytes, &ask, 0);
}

/* answer - answer the one that the two words name. */
static int answer_to(const uint64_t *words, const void *payload, size_t bytes)
{
	if (words[1] & BY_CALL)
		return question_answer((struct question *)(uintptr_t)words[0], words[1] & ~BY_CALL,
				       CORO_OK, payload, bytes);
	return coroi_send_back(words[0], (uint32_t)words[1], payload, bytes);
}

int coro_message_answer(coro_message *m, const void *payload, size_t bytes)
{
	if (!m || !(m->flags_ & COROI_M_ASK) || bytes > CORO_MESSAGE_BYTES || (bytes && !payload))
		return CORO_EINVAL;
	int status = answer_to(&m->words[4], payload, bytes);
	if (status != CORO_ENOMEM)
		m->flags_ &= (uint8_t)~COROI_M_ASK;
	return status;
}

int coro_message_keep(coro_message *m, coro_asker *out)
{
	if (!m || !out || !(m->flags_ & COROI_M_ASK))
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
	uint64_t word = m->words[5];

	m->flags_ &= (uint8_t)~COROI_M_ASK;
	if (word & BY_CALL)
		(void)question_answer((struct question *)(uintptr_t)m->words[4], word & ~BY_CALL,
				      CORO_ENDED, NULL, 0);
	else
		while (coroi_send_back(m->words[4], CORO_MESSAGE_UNANSWERED, &word, sizeof word) ==
		       CORO_ENOMEM)
			if (coro_yield()) /* others end meanwhile */
				break;
}
