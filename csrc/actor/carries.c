//go:build ignore
/*
 * carries.c - messages that carry buffers (coro_buffer.h).
 *
 * The actor's kind says which words do. A sender looks there only if the place says that there are
 * some (COROI_P_CARRIES), and in the lock of the place's sides: END2 takes that before the kind may
 * go. So the senders to other actors pay nothing. From then on the message itself has the words, in
 * its last one, as the actor may have ended when the message is dropped.
 *
 * Buffers are passed (BUF2 of buffer.h) where a message is filled in, before SND1, and come back
 * where it is given back unsent: nobody has seen the new handles. They are freed where a message is
 * buried. A message that was handled has its buffers no more: they are the behaviour's.
 *
 * Who takes a question that lends back (ASK5) takes its buffers back, too. A call may have seen
 * them, and have left the message; so that is a compare-and-swap of each. The message, which is
 * dropped later, frees none.
 */
#include "actor/actors.h"

#include "buffer/buffer.h"

uint64_t coroi_carries_here(struct coroi_actors *all, const struct coroi_place *a, coro_actor to)
{
	struct coroi_spin *lock = coroi_side_lock(all, a);
	uint64_t bits = 0;

	coroi_spin_lock(lock);
	if (coroi_box_takes(coroi_box_look(&a->box), to)) {
		const coro_actor_kind *kind = coroi_kind_of(a);
		bits = (uint64_t)kind->buffers << COROI_CARRIES_SHIFT |
		       (uint64_t)kind->answer_buffers << COROI_ANSWERS_SHIFT;
	}
	coroi_spin_unlock(lock);
	return bits;
}

int coroi_carries_of(const struct coroi_place *a, coro_actor to, uint64_t *out)
{
	struct coroi_visit v;
	int status = coroi_visit_begin(&v, a, to);

	if (status)
		return status;
	*out = coroi_carries_here(v.all, a, to);
	coroi_visit_end(&v);
	return *out ? CORO_OK : CORO_ESTALE;
}

int coroi_carry_pass(void *copy, uint64_t mask)
{
	int status = coroi_buffers_pass(copy, mask);

	return status == CORO_ESTALE ? CORO_EINVAL : status; /* CORO_ESTALE is of an actor */
}

static uint64_t words_of(const struct coro_message *m)
{
	return m->words[5] >> COROI_CARRIES_SHIFT & COROI_CARRY_WORDS;
}

int coroi_carry_into(struct coro_message *m, uint64_t bits)
{
	uint64_t mask = coroi_carried(bits, COROI_CARRIES_SHIFT, m->bytes);

	if (m->flags_ & COROI_M_ASK)
		m->words[5] |= bits & COROI_CARRY_WORDS << COROI_ANSWERS_SHIFT;
	else if (mask)
		m->words[5] = 0;
	if (!mask)
		return CORO_OK;
	m->words[5] |= mask << COROI_CARRIES_SHIFT;
	int status = coroi_carry_pass(m->payload, mask);
	if (!status)
		m->flags_ |= COROI_M_CARRIES;
	return status;
}

void coroi_carry_back(struct coro_message *m)
{
	if (!(m->flags_ & COROI_M_CARRIES))
		return;
	m->flags_ &= (uint8_t)~COROI_M_CARRIES;
	coroi_buffers_unpass(m->payload, words_of(m));
}

void coroi_carry_end(struct coro_message *m)
{
	m->flags_ &= (uint8_t)~COROI_M_CARRIES;
	coroi_buffers_drop(m->payload, words_of(m));
}
