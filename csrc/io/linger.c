//go:build ignore
/*
 * linger.c - coro_serve_finish: a connection ends, and what was written to it reaches the peer.
 *
 * The problem: a TCP socket that is closed while something is unread, or to which something comes
 * afterwards, resets its connection. The kernel then drops what the peer has not got yet. So:
 *
 *   LNG1  shut down the direction OUT: the peer reads all that was written, and then the end. Not
 *         if the peer's end is known: the close sends ours, and resets nothing after LNG2
 *   LNG2  read what comes, and drop it, so that nothing is unread, and a peer that writes before it
 *         reads gets that far. The peer's end: nothing comes any more, and a close resets nothing
 *   LNG3  nothing has come for 100 ms: has the peer's system acknowledged everything, with the end?
 *         Then a peer that is silent loses nothing by a close. No event tells of it, and systems
 *         take up to 40 ms for the acknowledgement of an end
 *   LNG4  close, at the deadline too
 *
 * What is written to a Unix socket is with the peer at once: LNG3 asks nothing there. (Rejected: to
 * close as soon as all is acknowledged, although the peer still sends. Linux lets the peer read
 * what it has got, but other systems drop that at a reset, and many clients give up when a write
 * fails. SO_LINGER: close(2) blocks the thread, and resets as before.)
 *
 * The coroutine waits meanwhile as for any input. What a lingering connection holds is its
 * descriptor, and the coroutine with its stack.
 */
#include "base/sysio.h"
#include "io/transfer.h"

#include <errno.h>

#define SILENCE_NS 100000000
#define DROP_BYTES 1024 /* a buffer, on stacks that may be small */
#define DROP_MOST  (64 * DROP_BYTES)

/* half_close - LNG1. *socket: f is one. Returns: CORO_OK; a status: f cannot be entered. */
static int half_close(coro_fd f, bool *socket)
{
	struct coroi_slot *p;
	int status = coroi_fd_enter_here(f, COROI_FD_REFERENCE, &p);

	if (status)
		return status;
	*socket = coroi_is_socket(p);
	/* relaxed: a hint. An error tells that the connection has gone, which LNG2 finds */
	if (*socket && !(at_load_rlx(&p->hung) & EPOLLRDHUP))
		(void)coroi_sys_shutdown(coroi_fd_number(f), SHUT_WR);
	coroi_fd_leave(p, f, COROI_FD_REFERENCE);
	return CORO_OK;
}

/* call_drop - FDC3 of LNG2. */
static int64_t call_drop(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	char dropped[DROP_BYTES];
	int64_t n, sum = 0;
	(void)p;
	(void)io;

	while ((n = coroi_sys_recv(fd, dropped, sizeof dropped, 0)) > 0 && sum < DROP_MOST)
		sum += n;
	return n == -EAGAIN && sum ? sum : n;
}

/* has_all - LNG3: the peer's system has all that was written. */
static bool has_all(coro_fd f)
{
	struct coroi_slot *p;

	if (coroi_fd_enter(f, COROI_FD_REFERENCE, &p))
		return false;
	bool all = p->kind != COROI_KIND_STREAM || !coroi_sys_unsent(coroi_fd_number(f));
	coroi_fd_leave(p, f, COROI_FD_REFERENCE);
	return all;
}

/* linger - LNG2 and LNG3, until the deadline. */
static int linger(coro_fd f, uint64_t deadline)
{
	static const struct coroi_io_kind drop = {.call = call_drop, .name = "coro_serve_finish"};
	struct coroi_io io = {.kind = &drop};

	for (;;) {
		uint64_t now = coro_now(), look = now + SILENCE_NS;
		int64_t n = coroi_transfer(f, COROI_FD_IN_USE, look < deadline ? look : deadline,
					   &io);
		if (n <= 0 && n != CORO_ETIMEDOUT)
			return (int)n;
		if (n < 0 && has_all(f))
			return CORO_OK;
		if (deadline <= now)
			return has_all(f) ? CORO_OK : CORO_ETIMEDOUT;
	}
}

int coro_serve_finish(coro_fd f, uint64_t deadline)
{
	bool socket;
	struct coroi_worker *w = coroi_self();
	int status = coroi_current(w) && deadline ? coroi_nowait(w, "coro_serve_finish", deadline)
						  : CORO_OK;

	if (!status)
		status = half_close(f, &socket);
	if (status)
		return status;
	status = socket ? linger(f, deadline) : CORO_OK;
	(void)coro_fd_close(f); /* LNG4 */
	return status;
}
