//go:build ignore
/*
 * serve.c - coro_serve: a coroutine for each connection of a listener, a limit, and an end that
 * loses no request.
 *
 * A server and its connections share a struct coroi_server, under its lock. Each connection that
 * has started is in the server's list, by a node in its coroutine's argument.
 *
 *   Limit   The server waits in the direction OUT of the listener, in which the kernel has no
 *           events: a connection that ends makes it ready (coroi_fd_poke), and a close of the
 *           listener wakes the server too.
 *   Prompt  The listener's options are set, and the system gives them to each connection that comes
 *           afterwards. How many wait by then is known: those are set one by one.
 *   Finish  A connection that has ended lingers, in a deferred function of its coroutine, until the
 *           peer has what was written (linger.c). It counts for the limit as long. One that has
 *           aborted, or is canceled, is closed.
 *   End     The listener is closed. Each connection is told (coroi_fd_poke_end), so that one that
 *           waits for a request ends (coro_serve_read, CORO_REQUEST). The server waits for the last
 *           connection as for a latch. When the time of grace is over it closes the connections'
 *           descriptors, and cancels their coroutines, but for those that linger: they end in time.
 *   Cancel  A server that is canceled does not wait: a coroutine that has not started may never
 *           start, if the scheduler is closing. The struct then goes to the scheduler, which frees
 *           it in the end.
 */
#include "io/serve.h"

#include "base/lock.h"
#include "base/stack.h"
#include "base/sysio.h"
#include "io/set.h"
#include "io/transfer.h"

#include <errno.h>

#define ROOM_FIRST_NS 5000000 /* after an accept for which the system had no room; doubled */
#define ROOM_MOST_NS  1000000000
#define GRACE_NS      UINT64_C(10000000000) /* without an option */
#define LINGER_NS     UINT64_C(2000000000)

struct coroi_server {
	coro_fd listener;
	coro_attr attr;
	coro_fn fn;
	uint32_t limit;
	uint32_t early;  /* connections that have not the listener's options: the server's own */
	uint64_t linger; /* ns */

	struct coroi_lock lock; /* of what follows */
	uint32_t live;          /* connections that were spawned, and have not ended */
	bool waits;             /* the server waits for the end of a connection */
	bool ends;              /* no connection is accepted any more */
	bool over;              /* the time of grace is over */
	struct coroi_rec *last; /* waits for the end of the last connection; NULL: none does */
	struct connection *first;
	struct coroi_server *next; /* of the scheduler's */
};

/* The argument of a connection's coroutine. */
struct connection {
	coro_fd f; /* first: the argument of the user's function */
	struct coroi_server *server;
	coro_handle self;
	struct connection *next, **link; /* in the server's list */
	bool lingers;                    /* with the server's lock */
};
_Static_assert(sizeof(struct connection) <= CORO_INLINE_BYTES, "it is an argument");

/* ---------------------------------------------------------------------------------- connections */

/* begin_connection - the connection has started. Returns: is there time left for it? */
static bool begin_connection(struct connection *c)
{
	struct coroi_server *v = c->server;

	c->self = coro_self();
	coroi_lock(&v->lock);
	bool ends = v->ends, over = v->over;
	if ((c->next = v->first))
		c->next->link = &c->next;
	c->link = &v->first;
	v->first = c;
	coroi_unlock(&v->lock);
	if (ends)
		coroi_fd_poke_end(c->f);
	return !over;
}

/* after - a deadline. */
static uint64_t after(uint64_t ns)
{
	uint64_t now = coro_now();

	return ns < CORO_FOREVER - now ? now + ns : CORO_FOREVER;
}

/* finish_connection - what was written reaches the peer. */
static void finish_connection(struct connection *c)
{
	struct coroi_server *v = c->server;

	coroi_lock(&v->lock);
	c->lingers = true; /* of no avail where the time of grace is over: it is closed */
	coroi_unlock(&v->lock);
	(void)coro_serve_finish(c->f, v->linger > 1 ? after(v->linger) : 0);
}

static void leave_server(struct connection *c)
{
	struct coroi_server *v = c->server;
	struct coroi_rec *last = NULL;

	coroi_lock(&v->lock);
	if ((*c->link = c->next))
		c->next->link = c->link;
	if (!--v->live) {
		last = v->last;
		v->last = NULL;
	}
	bool waits = v->waits;
	coro_fd listener = v->listener;
	v->waits = false;
	coroi_unlock(&v->lock);
	/* v may be gone */
	if (waits)
		coroi_fd_poke(listener, COROI_FD_OUT_USE);
	if (last)
		coroi_event_send(last);
}

/* end_connection - the connection's coroutine ends, in whatever way. The function may have closed
 * or released the descriptor. */
static void end_connection(void *arg)
{
	struct connection *c = arg;
	struct coroi_worker *w = coroi_self();

	if (!coroi_has_aborted(coroi_current(w)) && !coroi_in_nowait(w, COROI_BOUNDED))
		finish_connection(c);
	(void)coro_fd_close(c->f);
	leave_server(c);
}

static void connection(void *arg, void *result)
{
	struct connection *c = arg;
	bool begins = begin_connection(c);

	if (!begins || coro_defer(end_connection, c)) {
		(void)coro_fd_close(c->f);
		leave_server(c);
		return;
	}
	coroi_be_known_as(c->server->fn);
	c->server->fn(&c->f, result); /* scratch */
}

static int spawn_connection(struct coroi_server *v, coro_fd f)
{
	struct connection c = {.f = f, .server = v};

	coroi_lock(&v->lock);
	v->live++;
	coroi_unlock(&v->lock);
	int status = coro_spawn_attr(&v->attr, connection, &c, sizeof c, NULL);
	if (status) {
		coroi_lock(&v->lock);
		v->live--; /* the server's own coroutine is here: it does not wait for the last */
		coroi_unlock(&v->lock);
	}
	return status;
}

/* ---------------------------------------------------------------------------------- the server */

/* call_room - FDC3: there is room for one more connection. */
static int64_t call_room(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	struct coroi_server *v = io->more;
	(void)p;
	(void)fd;

	coroi_lock(&v->lock);
	bool full = v->live >= v->limit;
	v->waits = full;
	coroi_unlock(&v->lock);
	return full ? -EAGAIN : 0;
}

/* call_change - FDC3: a connection has ended since the first call. */
static int64_t call_change(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	struct coroi_io *own = (struct coroi_io *)(uintptr_t)io;
	struct coroi_server *v = io->more;
	(void)p;
	(void)fd;

	coroi_lock(&v->lock);
	if (!own->flags)
		v->waits = true;
	bool changed = !v->waits;
	coroi_unlock(&v->lock);
	own->flags = 1;
	return changed ? 0 : -EAGAIN;
}

static int await_room(struct coroi_server *v)
{
	static const struct coroi_io_kind room = {.call = call_room, .name = "coro_serve"};
	struct coroi_io io = {.kind = &room, .more = v};

	return v->limit ? (int)coroi_transfer(v->listener, COROI_FD_OUT_USE, CORO_FOREVER, &io)
			: CORO_OK;
}

/* lacks_room - the process or the system has no descriptor or memory now. */
static bool lacks_room(int status)
{
	switch (CORO_ERRNO(status)) {
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		return true;
	}
	return status == CORO_ENOMEM;
}

/* is_passing - an accept that has failed so may succeed later: there is no room now, or the error
 * is that of one connection, as accept(2) says of Linux. */
static bool is_passing(int status)
{
	switch (CORO_ERRNO(status)) {
	case ENETDOWN:
	case EPROTO:
	case ENOPROTOOPT:
	case EHOSTDOWN:
	case ENONET:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ECONNRESET:
	case EPERM: /* a firewall */
		return true;
	}
	return lacks_room(status);
}

/* pause_accepting - until a connection ends, or for some time, *ns, which is doubled. why: what has
 * failed. */
static int pause_accepting(struct coroi_server *v, int why, uint64_t *ns)
{
	static const struct coroi_io_kind change = {.call = call_change, .name = "coro_serve"};
	struct coroi_io io = {.kind = &change, .more = v};

	if (lacks_room(why))
		at_add(&coroi_set_refusal(coroi_scheduler_of(coroi_self()))->pauses, 1);
	*ns = !*ns ? ROOM_FIRST_NS : *ns < ROOM_MOST_NS / 2 ? *ns * 2 : ROOM_MOST_NS;
	int status = (int)coroi_transfer(v->listener, COROI_FD_OUT_USE, coro_now() + *ns, &io);
	if (is_passing(status)) /* there is no room for the worker's set either */
		status = coro_sleep(*ns);
	return status == CORO_ETIMEDOUT ? CORO_OK : status;
}

/* accept_next - accept a connection, and see to its options. */
static int accept_next(struct coroi_server *v, coro_fd *out)
{
	int status = coro_accept(v->listener, out, NULL, NULL, CORO_FOREVER);

	if (!status && v->early) {
		v->early--;
		coroi_sys_prompt(coroi_fd_number(*out));
	}
	return status;
}

/* hand_over - spawn the connection's coroutine, as soon as there is memory for one. */
static int hand_over(struct coroi_server *v, coro_fd f)
{
	uint64_t pause = 0;
	int status;

	while ((status = spawn_connection(v, f)) == CORO_ENOMEM)
		if ((status = pause_accepting(v, status, &pause)))
			break;
	if (status)
		(void)coro_fd_close(f);
	return status;
}

/* accept_all - until the listener is closed, or fails. Returns: why. */
static int accept_all(struct coroi_server *v)
{
	uint64_t pause = 0;
	coro_fd f;
	int status;

	do {
		status = await_room(v);
		if (!status)
			status = accept_next(v, &f);
		if (!status) {
			pause = 0;
			status = hand_over(v, f);
		} else if (is_passing(status)) {
			status = pause_accepting(v, status, &pause);
		}
	} while (!status);
	return status == CORO_ESTALE ? CORO_ECLOSED : status; /* it was closed between two calls */
}

static bool withdraw_last(void *arg)
{
	struct coroi_server *v = arg;

	coroi_lock(&v->lock);
	bool withdrawn = v->last != NULL;
	v->last = NULL;
	coroi_unlock(&v->lock);
	return withdrawn;
}

/* await_last - wait until all connections have ended. */
static int await_last(struct coroi_server *v, uint64_t deadline)
{
	struct coroi_rec *me = coroi_current(coroi_self());

	coroi_escape(me);
	coroi_lock(&v->lock);
	bool none = !v->live;
	v->last = none ? NULL : me;
	coroi_unlock(&v->lock);
	return none ? CORO_OK : coroi_wait(me, CORO_WAIT_LATCH, deadline, withdraw_last, v);
}

/* tell_end - the connections are to end, with the request that they have. */
static void tell_end(struct coroi_server *v)
{
	coroi_lock(&v->lock);
	v->ends = true;
	for (struct connection *c = v->first; c; c = c->next)
		coroi_fd_poke_end(c->f);
	coroi_unlock(&v->lock);
}

/* end_all - the connections are to end now. */
static void end_all(struct coroi_server *v)
{
	coroi_lock(&v->lock);
	v->over = true;
	for (struct connection *c = v->first; c; c = c->next)
		if (!c->lingers) {
			(void)coro_fd_close(c->f);
			(void)coro_cancel(c->self);
		}
	coroi_unlock(&v->lock);
}

static struct coroi_service servers_service;

/* leave_to_scheduler - the server is canceled, and some of its connections go on. */
static void leave_to_scheduler(struct coroi_server *v)
{
	struct coro_scheduler *s = coroi_scheduler_of(coroi_self());
	struct coroi_refusal *r = coroi_set_refusal(s);
	void **servers = coroi_service_state(s, &servers_service);

	coroi_lock(&r->lock);
	v->next = *servers;
	*servers = v;
	coroi_unlock(&r->lock);
}

/* servers_destroy - free the servers that were canceled before their connections had ended. No
 * coroutine of s is left. */
static void servers_destroy(struct coro_scheduler *s)
{
	void **servers = coroi_service_state(s, &servers_service);

	for (struct coroi_server *v = *servers, *next; v; v = next) {
		next = v->next;
		coroi_release(v);
	}
	*servers = NULL;
}

/* Its state is the list of those servers. */
static struct coroi_service servers_service = {.destroy = servers_destroy};

__attribute__((constructor)) static void servers_register(void)
{
	coroi_service_register(&servers_service);
}

static int serve(struct coroi_server *v, uint64_t grace)
{
	int why = accept_all(v), status;

	(void)coro_fd_close(v->listener);
	tell_end(v);
	status = await_last(v, after(grace));
	if (status) {
		end_all(v);
		if (status == CORO_ETIMEDOUT)
			status = await_last(v, CORO_FOREVER);
	}
	if (status) {
		leave_to_scheduler(v);
		return status;
	}
	coroi_release(v);
	return why;
}

/* set_prompt - have connections send at once, and be asked whether they are there, if they are of
 * TCP. Returns: how many the listener's options come too late for. */
static uint32_t set_prompt(const struct coroi_slot *p, int fd)
{
	if (p->kind != COROI_KIND_STREAM)
		return 0;
	coroi_sys_prompt(fd);
	int waiting = coroi_sys_waiting(fd);
	return waiting >= 0 ? (uint32_t)waiting : UINT32_MAX; /* unknown, as under an emulator */
}

static int check(const coro_attr *attr, coro_fn fn, const coro_serve_options *o)
{
	if (!fn ||
	    (attr && (attr->flags & CORO_JOINABLE || attr->result_bytes || attr->arg_buffers ||
		      attr->result_buffers)) ||
	    (o && o->size && o->size != sizeof *o))
		return CORO_EINVAL;
	return coroi_current(coroi_self()) ? coroi_nowait(coroi_self(), "coro_serve", CORO_FOREVER)
					   : CORO_EPERM;
}

int coro_serve(coro_fd listener, const coro_attr *attr, coro_fn fn, const coro_serve_options *o)
{
	struct coroi_slot *p;
	int status = check(attr, fn, o);

	if (!status)
		status = coroi_fd_enter_here(listener, COROI_FD_REFERENCE, &p);
	if (status)
		return status;
	struct coroi_server *v = coroi_alloc(sizeof *v, COROI_APART);
	if (v)
		*v = (struct coroi_server){
			.listener = listener,
			.attr = attr ? *attr
				     : (coro_attr){.size = sizeof *attr, .worker = CORO_ANYWHERE},
			.fn = fn,
			.limit = o ? o->limit : 0,
			.early = set_prompt(p, coroi_fd_number(listener)),
			.linger = o && o->linger ? o->linger : LINGER_NS,
		};
	coroi_fd_leave(p, listener, COROI_FD_REFERENCE);
	return v ? serve(v, o && o->grace ? o->grace : GRACE_NS) : CORO_ENOMEM;
}

void coroi_serve_body(void *arg, void *result)
{
	const struct coroi_serve *x = arg;
	coro_attr attr = {
		.size = sizeof attr,
		.flags = x->attrs,
		.stack_bytes = x->attrs & CORO_DENSE ? 0 : coroi_stack_class_bytes(x->class),
		.worker = x->worker,
	};

	const coro_serve_options o = {
		.size = sizeof o, .limit = x->limit, .grace = x->grace, .linger = x->linger};

	*(int32_t *)result = coro_serve(x->listener, &attr, (coro_fn)(uintptr_t)x->fn, &o);
}

/* ------------------------------------------------------------------ what a connection calls */

/* call_first - FDC3 of coro_serve_read. flags: the server ends, and nothing has come. */
static int64_t call_first(const struct coroi_slot *p, int fd, const struct coroi_io *io)
{
	struct coroi_io *own = (struct coroi_io *)(uintptr_t)io;
	bool ends = coroi_fd_ends(p);
	int64_t n = coroi_call_read(p, fd, io);

	if (n != -EAGAIN || !ends)
		return n;
	own->flags = 1;
	return 0;
}

int64_t coro_serve_read(coro_fd f, void *buffer, size_t bytes, uint64_t deadline)
{
	static const struct coroi_io_kind first = {
		.call = call_first, .name = "coro_serve_read", .empties = true};
	struct coroi_io io = {.kind = &first, .v = &io.one, .n = 1, .one = {buffer, bytes}};
	int64_t n = coroi_transfer(f, COROI_FD_IN_USE, deadline, &io);

	return io.flags ? CORO_ECLOSED : n;
}

int coro_serve_ends(coro_fd f)
{
	struct coroi_slot *p;
	int status = coroi_fd_enter(f, COROI_FD_REFERENCE, &p);

	if (status)
		return status;
	int ends = coroi_fd_ends(p);
	coroi_fd_leave(p, f, COROI_FD_REFERENCE);
	return ends;
}
