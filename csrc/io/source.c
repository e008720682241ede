//go:build ignore
/*
 * source.c - descriptors as cases of a select (sync/source.h): FDC1 to FDC4, FDS1, FDS4 and FDC7 of
 * fd.h.
 */
#include "sync/source.h"

#include "base/sysio.h"
#include "io/fd.h"

#include <errno.h>
#include <poll.h>

static uint64_t use_of(const struct coroi_case *x)
{
	return x->direction == CORO_OUT ? COROI_FD_OUT_USE : COROI_FD_IN_USE;
}

static uint64_t *word_of(const struct coroi_case *x)
{
	return coroi_fd_direction(x->place, use_of(x));
}

static uint64_t registration(const struct coroi_case *x)
{
	return (uintptr_t)x | COROI_FD_SELECT;
}
_Static_assert(_Alignof(struct coroi_case) > COROI_FD_SELECT, "the bit is 0 in an address");

static int case_enter(struct coroi_case *x)
{
	struct coroi_slot *p = NULL;

	if (x->direction != CORO_IN && x->direction != CORO_OUT && x->direction != CORO_REQUEST)
		return CORO_EINVAL;
	int status = coroi_fd_enter_here(x->name, use_of(x), &p);
	x->place = status ? NULL : p;
	return status;
}

/* is_empty - bytes have neither been left by the last read, nor come since then. */
static bool is_empty(const struct coroi_slot *p, uint64_t was)
{
	return p->drained && was == COROI_FD_EMPTY && !at_load_rlx(&p->hung);
}

static void case_look(struct coroi_case *x, bool waits)
{
	struct coroi_slot *p = x->place;
	bool in = x->direction != CORO_OUT;
	uint64_t was = coroi_fd_take_ready(word_of(x)); /* FDC2 */
	bool ends = x->direction == CORO_REQUEST && coroi_fd_ends(p);

	if (was == COROI_FD_CLOSED) {
		x->ready = CORO_ECLOSED;
	} else if (in && waits && is_empty(p, was)) {
		x->ready = 0;
	} else { /* FDC3 */
		x->ready = coroi_ready(coroi_fd_number(x->name), in ? POLLIN | POLLRDHUP : POLLOUT);
		if (x->ready < 0)
			x->ready = CORO_OF_ERRNO(-x->ready);
		else if (!x->ready && ends)
			x->ready = CORO_ECLOSED;
		if (in && x->ready)
			p->drained = false; /* nothing else tells a read of these bytes */
	}
}

static int case_watch(struct coroi_case *x)
{
	int status = coroi_fd_watch(x->place, x->name, coroi_self()); /* FDC4 */

	return status < 0 ? CORO_OF_ERRNO(-status) : CORO_OK;
}

static bool case_enqueue(struct coroi_case *x)
{
	uint64_t empty = COROI_FD_EMPTY;

	return at_cas(word_of(x), &empty, registration(x)); /* FDS1 */
}

static void case_dequeue(struct coroi_case *x)
{
	struct coroi_slot *p = x->place;
	uint64_t own = registration(x);

	coroi_lock(&p->lock); /* FDS4 */
	at_cas(word_of(x), &own, COROI_FD_EMPTY);
	coroi_unlock(&p->lock);
}

static void case_leave(struct coroi_case *x)
{
	coroi_fd_leave(x->place, x->name, use_of(x)); /* FDC7 */
}

static const struct coroi_source source_of_descriptors = {
	.enter = case_enter,
	.look = case_look,
	.watch = case_watch,
	.enqueue = case_enqueue,
	.dequeue = case_dequeue,
	.leave = case_leave,
};

__attribute__((constructor)) static void source_register(void)
{
	coroi_source_register(COROI_SOURCE_FD, &source_of_descriptors);
}
