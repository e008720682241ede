/*
 * fd.h - adopted descriptors: slots, calls, events, closing.
 *
 * The problem: a coroutine makes a system call that would block, and is to sleep until the kernel
 * has an event for its descriptor, which any worker may fetch. Meanwhile others close the
 * descriptor, cancel the coroutine, or get the same number from the kernel for something else. No
 * event may be lost, since an edge does not come twice, and none may reach a stranger. (Readiness
 * that is remembered beside the waiter is from Go's pollDesc and tokio's ScheduledIo; the
 * generation in the event's data is Go's fdseq. Rejected: one-shot registrations, a system call for
 * each wait; level triggers, which report what nobody waits for again and again.)
 *
 * Each number has a slot of one cache line. Slots are never unmapped.
 *
 *   word     generation:32 | OPEN | CLOSING | IN_USE | OUT_USE | ADOPTING | references:16
 *   in, out  EMPTY | READY | CLOSED | the record of the coroutine that waits in that direction, or
 *            SELECT and the case of the coroutine that selects
 *   set      1 + the number of the worker in whose set (set.h) the descriptor is; 0: in none
 *   hung     events that stay: the peer has closed, there is an error, or the connection's server
 *            ends
 *   drained  the last read was short, so the next would fail with EAGAIN
 *
 * A call in one direction, in a coroutine on worker w (transfer.c):
 *
 *   FDC1  CAS `word`: the generation as named, OPEN, not CLOSING, and the direction not in use: it
 *         is in use. A call without a direction takes a reference
 *   FDC2  CAS the direction READY to EMPTY, before FDC3: what becomes ready after FDC3 has looked
 *         makes it READY again. CLOSED: FDC7
 *   FDC3  the system call, unless `drained` and nothing of `hung` say that it is useless. Not
 *         EAGAIN: FDC7. A call that then does not wait, or for no time, makes the system call
 *         before FDC7: of a descriptor in no set there are no events, and others may still lie in a
 *         set
 *   FDC4  the descriptor is in no set: add it to w's, for both directions, edge-triggered. The
 *         kernel reports what is ready by then. It is in another worker's, as at the last waits: M
 *   FDC5  CAS the direction EMPTY to the record. READY, CLOSED: FDC2
 *   FDC6  wait for the event, with deadline. A cancel or the deadline takes the registration back:
 *         CAS the record to EMPTY. It has gone: the event is committed, and is waited for. Then
 *         FDC2
 *   FDC7  the direction is not in use, or the reference goes. CLOSING, and nobody else: FDX3
 *
 * An event of the kernel's, on any thread that has fetched some from a set:
 *
 *   FDE1  the slot has another generation than the event's data: nothing
 *   FDE2  set `hung`, before FDE3
 *   FDE3  for each direction that the event names: exchange READY for what is there, but not for
 *         CLOSED. Always by a CAS, for READY too: FDC2 of another thread then sees it, or comes
 *         before it, and FDC3 sees what the kernel has
 *   FDE4  a record was there: this thread alone has it, and sends its event, once
 *
 * Moving to the set of the worker where the coroutine is by now:
 *
 *   FDM1  lock the slot's `set`
 *   FDM2  add to the new set, which reports what is ready; then remove from the old one. Events
 *         that come twice do no harm
 *   FDM3  `set`, unlock
 *
 * Closing, on any thread:
 *
 *   FDX1  CAS `word`: CLOSING, and a reference
 *   FDX2  exchange CLOSED for both directions. A record was there: it gets its event
 *   FDX3  the last user: remove from the set, make the descriptor blocking again if it was (MOD2 of
 *         mode.h), let the slot's next generation begin, close(2). In this order: the number cannot
 *         be adopted before its slot is free. Descriptors are removed before they are closed, as a
 *         duplicate would keep them in the set
 *
 * A select (sync/source.h) has a case for a direction, and others. Its cases share the word
 * `chosen`. The case lies in the memory of the coroutine, which goes on when any of them is chosen.
 * It does FDC1 to FDC4 and FDC7 for each direction, and in the place of FDC5 and FDC6:
 *
 *   FDS1  CAS the direction EMPTY to SELECT and the case: a release, pairs with FDS2, which reads
 *         the case. READY, CLOSED: the select is withdrawn, and begins again with FDC2
 *   FDS2  FDE3 or FDX2 finds SELECT: lock the slot, and look again. SELECT is there: the direction
 *         becomes READY, or CLOSED, whatever FDS3 comes to. An edge does not come twice, and the
 *         next FDC2 is to see this one if another case was chosen. SELECT is there no more: unlock,
 *         and FDE3 or FDX2 once more. With the lock, since the case may be gone as soon as FDS4 has
 *         had the lock
 *   FDS3  CAS `chosen` 0 to the case's mark, in the lock; pairs with the other cases' and with the
 *         withdrawal of the select: one of them succeeds. Then unlock, and send the event if the
 *         CAS has succeeded. The coroutine cannot go on before that event. If the CAS has failed,
 *         the coroutine has, or will have, the event of another
 *   FDS4  after the wait, however that has ended, for each direction: lock the slot; CAS SELECT and
 *         the case to EMPTY; unlock. Also where SELECT is there no more: another thread may be
 *         between FDS2 and FDS3. Afterwards none looks at the case
 *
 * The word changes from SELECT in the lock alone, and to SELECT by FDS1 alone. The coroutine then
 * asks the kernel which direction is ready (FDC2, FDC3), as after FDC6.
 *
 * A wake-up may be spurious: the slot was used again between FDE1 and FDE3, or the descriptor was
 * moved. The waiter makes its system call, and waits again. An event of a stranger in `hung` costs
 * system calls that fail with EAGAIN. Nothing else depends on either.
 *
 * No wake-up is lost. An edge that comes before FDC3 has looked is seen by FDC3. One that comes
 * after makes the direction READY at FDE3, after FDC2 has made it EMPTY: so FDC5 fails, or FDE3
 * finds the record. A set is always looked at: by its worker when it is idle or sleeps, by its
 * worker at its looks at the clock, or by the standby (driver.h).
 */
#ifndef COROI_FD_H
#define COROI_FD_H

#include "base/atomics.h"
#include "base/lock.h"
#include "coro_io.h"
#include "io/slot.h"
#include "kernel/kernel.h"

#include <sys/epoll.h>

struct coro_scheduler;
struct coroi_rec;
struct coroi_worker;

/* Of `word`, below the generation. */
#define COROI_FD_OPEN       UINT64_C(1)
#define COROI_FD_CLOSING    UINT64_C(2)
#define COROI_FD_IN_USE     UINT64_C(4)
#define COROI_FD_OUT_USE    UINT64_C(8)
#define COROI_FD_ADOPTING   UINT64_C(16)
#define COROI_FD_REFERENCE  (UINT64_C(1) << 8)
#define COROI_FD_REFERENCES (UINT64_C(0xffff) << 8)
#define COROI_FD_USERS      (COROI_FD_IN_USE | COROI_FD_OUT_USE | COROI_FD_REFERENCES)
#define COROI_FD_GEN_SHIFT  32

/* Of a direction: no address of a record is as small. With SELECT a case's address is there. */
enum { COROI_FD_EMPTY = 0, COROI_FD_READY = 1, COROI_FD_CLOSED = 2, COROI_FD_SELECT = 4 };

/* Of `hung`, beside the kernel's: a connection's server ends (serve.c). No read is useless then. */
#define COROI_FD_ENDS (UINT32_C(1) << 16)

/* The number of a coro_fd. */
static inline int coroi_fd_number(coro_fd f)
{
	return (int)(uint32_t)f;
}

/* coroi_fd_ends - the connection's server ends. To be asked before the look at the bytes: FDE2,
 * FDE3 and FDC2 order it as they order events. */
static inline bool coroi_fd_ends(const struct coroi_slot *p)
{
	return at_load_acq(&p->hung) & COROI_FD_ENDS;
}

/* coroi_fd_direction - the word of a direction, COROI_FD_IN_USE or COROI_FD_OUT_USE. */
static inline uint64_t *coroi_fd_direction(struct coroi_slot *p, uint64_t use)
{
	return use == COROI_FD_IN_USE ? &p->in : &p->out;
}

/* coroi_fd_enter - FDC1. use: COROI_FD_IN_USE, COROI_FD_OUT_USE or COROI_FD_REFERENCE. Thread: any.
 * Returns: CORO_OK and *out; CORO_ESTALE, CORO_ECLOSED, CORO_EBUSY. coroi_fd_leave - FDC7. */
int coroi_fd_enter(coro_fd f, uint64_t use, struct coroi_slot **out);
void coroi_fd_leave(struct coroi_slot *p, coro_fd f, uint64_t use);

/* coroi_fd_enter_here - the same for the current coroutine. Returns: also CORO_EPERM: the caller is
 * no coroutine of the descriptor's scheduler. */
int coroi_fd_enter_here(coro_fd f, uint64_t use, struct coroi_slot **out);

/* coroi_fd_take_ready - FDC2. Returns: what the direction was; COROI_FD_CLOSED: the descriptor is
 * closed. */
static inline uint64_t coroi_fd_take_ready(uint64_t *direction)
{
	uint64_t was = at_load_acq(direction); /* a READY that comes later is there at FDC5 */

	while (was == COROI_FD_READY && !at_cas(direction, &was, COROI_FD_EMPTY))
		;
	return was;
}

/* coroi_fd_watch - FDC4, for the current coroutine of w. Returns: 0 or -errno. */
int coroi_fd_watch(struct coroi_slot *p, coro_fd f, struct coroi_worker *w);

struct coroi_fd_waiter {
	uint64_t *direction;
	struct coroi_rec *me;
};

/* coroi_fd_withdraw - FDC6. False: an event or a close has the record. arg: a struct
 * coroi_fd_waiter. */
bool coroi_fd_withdraw(void *arg);

/* coroi_fd_await - FDC4 to FDC6 for the current coroutine, which has entered p. call: the name of
 * the public call. Returns: CORO_OK: go on with FDC2; CORO_ETIMEDOUT, CORO_ECANCELED, CORO_ENOWAIT,
 * CORO_OF_ERRNO(errno). Inline: a frame less lies below a coroutine that waits, which a dense one
 * keeps a copy of. */
static inline __attribute__((always_inline)) int
coroi_fd_await(struct coroi_slot *p, coro_fd f, uint64_t use, uint64_t deadline, const char *call)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);
	struct coroi_fd_waiter x = {coroi_fd_direction(p, use), me};
	uint64_t empty = COROI_FD_EMPTY;
	int status;

	if (!deadline)
		return CORO_ETIMEDOUT;
	if ((status = coroi_nowait(w, call, deadline)))
		return status;
	if ((status = coroi_fd_watch(p, f, w)) < 0)
		return CORO_OF_ERRNO(-status);
	coroi_escape(me);
	if (!at_cas(x.direction, &empty, (uintptr_t)me)) /* FDC5 */
		return CORO_OK;
	return coroi_wait(me, use == COROI_FD_IN_USE ? CORO_WAIT_INPUT : CORO_WAIT_OUTPUT, deadline,
			  coroi_fd_withdraw, &x);
}

/* coroi_fd_adopted - adopt fd, which is non-blocking, for the scheduler of the current coroutine.
 * Returns: as coro_fd_adopt. */
int coroi_fd_adopted(coro_fd *out, int fd, uint8_t kind);

/* coroi_fd_events - FDE1 to FDE4 for n events, COROI_FD_EVENTS at most. Thread: any, in no door.
 * Returns: true if a coroutine was sent its event. */
#ifndef COROI_FD_EVENTS
#define COROI_FD_EVENTS 64
#endif
bool coroi_fd_events(const struct epoll_event *event, uint32_t n);

/* coroi_fd_poke - make a direction ready, as an event of the kernel's does (FDE3, FDE4).
 * coroi_fd_poke_end - set COROI_FD_ENDS, and make the direction in ready. Both do nothing if f is
 * closed. Thread: any, in no door. */
void coroi_fd_poke(coro_fd f, uint64_t use);
void coroi_fd_poke_end(coro_fd f);

#endif
