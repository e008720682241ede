/* application.c - see application.h. */
#include "application.h"

#include "cbody.h"
#include "stack.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

/* Those that end are beside those that begin in their slots. */
#define CONNECTIONS (2 * CB_APP_SLOTS)

/* ------------------------------------------------------------------------- the work of a request */

struct request {
	uint64_t key, value; /* value 0: get; else put, of a key that is not 0 */
};

#define CELLS          (1u << 16)
#define KEYS_OF_A_SLOT 256u /* so that the table is a quarter full */

static struct request cells[CELLS];

/* work - the answer to a request: the value that the key has, and had. */
static uint64_t work(const struct request *r)
{
	uint64_t i = (r->key * UINT64_C(0x9e3779b97f4a7c15)) >> 48;

	while (cells[i].key && cells[i].key != r->key)
		i = (i + 1) % CELLS;
	uint64_t had = cells[i].value;
	if (r->value)
		cells[i] = *r;
	return had;
}

/* request_of - the i-th request of a slot: puts and gets by turns. A slot has keys of its own, so
 * that answers do not depend on the order in which connections are served. */
static struct request request_of(int slot, int64_t i)
{
	uint64_t mixed = ((uint64_t)slot << 40 | (uint64_t)i) * UINT64_C(0xd1342543de82ef95);

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd1342543de82ef95);
	uint64_t key = (uint64_t)slot * KEYS_OF_A_SLOT + (mixed >> 32) % KEYS_OF_A_SLOT + 1;
	return (struct request){key, i % 2 ? 0 : (uint64_t)i + key};
}

/* ------------------------------------------------------------------------------------- the server */

struct connection {
	int fd;
	bool ended;
	/* of a coroutine */
	ucontext_t context;
	char *stack;
	coro_t *co;
	/* of callbacks */
	struct request request;
	size_t got;
};

/* A form of the server: begin is called when a connection is made, and ready when the epoll set
 * has something of it. After ready it may have ended. Returns: 0 or an errno. */
struct form {
	int (*begin)(struct connection *c);
	void (*ready)(struct connection *c);
	void (*end)(struct connection *c);
};

static struct connection all[CONNECTIONS];
static int unused[CONNECTIONS], unused_count;
static int set, failed; /* the epoll set; the first errno of the server */

static void fail(int error)
{
	if (!failed)
		failed = error;
}

/* more - read a part of a request, of which there are *got bytes. False: the connection has ended.
 * It is level-triggered: where bytes are left there is a next turn. */
static inline bool more(int fd, struct request *r, size_t *got)
{
	ssize_t n = read(fd, (char *)r + *got, sizeof *r - *got);

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n < 0)
		fail(errno);
	*got += n > 0 ? (size_t)n : 0;
	return n > 0;
}

static inline void answer(int fd, const struct request *r)
{
	uint64_t value = work(r);

	if (send(fd, &value, sizeof value, MSG_NOSIGNAL) != sizeof value)
		fail(errno); /* a client reads an answer before it sends the next request */
}

/* serve - a connection's coroutine, with the wait of its form. */
static inline __attribute__((always_inline)) void serve(struct connection *c,
							void (*wait)(struct connection *c))
{
	struct request r;
	size_t got = 0;

	for (;;) {
		wait(c);
		if (!more(c->fd, &r, &got))
			break;
		if (got < sizeof r)
			continue;
		answer(c->fd, &r);
		got = 0;
	}
	c->ended = true;
}

/* ---------------------------------------------------------------------------------- swapcontext */

static ucontext_t home;
static char *kept[CONNECTIONS];
static int kept_count;

static void context_wait(struct connection *c)
{
	swapcontext(&c->context, &home);
}

static void context_main(int index)
{
	serve(&all[index], context_wait);
}

static void context_ready(struct connection *c)
{
	swapcontext(&home, &c->context);
}

static int context_begin(struct connection *c)
{
	c->stack = kept_count ? kept[--kept_count] : cb_stack_new(CB_STACK_BYTES);
	if (!c->stack)
		return ENOMEM;
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = CB_STACK_BYTES;
	c->context.uc_link = &home;
	makecontext(&c->context, (void (*)(void))context_main, 1, (int)(c - all));
	context_ready(c);
	return 0;
}

static void context_end(struct connection *c)
{
	cb_stack_free(c->stack, CB_STACK_BYTES);
}

static void context_end_keep(struct connection *c)
{
	kept[kept_count++] = c->stack;
}

/* ----------------------------------------------------------------------------- the light switch */

static void light_wait(struct connection *c)
{
	intptr_t value;

	(void)c;
	coro_yield_value(0, &value);
}

static intptr_t light_main(void *arg, intptr_t first)
{
	serve(arg, light_wait);
	return first;
}

static void light_ready(struct connection *c)
{
	intptr_t got;

	if (coro_resume(c->co, 0, &got) < 0)
		fail(EPROTO);
}

static int light_begin(struct connection *c)
{
	if (coro_new(&c->co, light_main, c, CB_STACK_BYTES))
		return ENOMEM;
	light_ready(c);
	return 0;
}

static void light_end(struct connection *c)
{
	coro_free(c->co);
}

/* ------------------------------------------------------------------------------------ callbacks */

static int callback_begin(struct connection *c)
{
	c->got = 0;
	return 0;
}

static void callback_ready(struct connection *c)
{
	if (!more(c->fd, &c->request, &c->got)) {
		c->ended = true;
	} else if (c->got == sizeof c->request) {
		answer(c->fd, &c->request);
		c->got = 0;
	}
}

static void callback_end(struct connection *c)
{
	(void)c;
}

static const struct form forms[] = {
	[CB_APP_NEW_STACK] = {context_begin, context_ready, context_end},
	[CB_APP_KEPT_STACK] = {context_begin, context_ready, context_end_keep},
	[CB_APP_LIGHT_SWITCH] = {light_begin, light_ready, light_end},
	[CB_APP_CALLBACK] = {callback_begin, callback_ready, callback_end},
};

/* -------------------------------------------------------------------------------- the epoll loop */

/* drop - give back what a connection that has ended has. */
static void drop(const struct form *form, struct connection *c)
{
	form->end(c);
	close(c->fd);
	unused[unused_count++] = (int)(c - all);
}

/* server_takes - a connection. It owns the number from here on. */
static void server_takes(const struct form *form, int fd)
{
	int index = unused[--unused_count];
	struct connection *c = &all[index];
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = (uint32_t)index};

	c->fd = fd;
	c->ended = false;
	int error = epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) ? errno : form->begin(c);
	if (error) {
		fail(error);
		close(fd);
		unused[unused_count++] = index;
	}
}

static void server_turn(const struct form *form)
{
	struct epoll_event e[CONNECTIONS];
	int events;

	while ((events = epoll_wait(set, e, CONNECTIONS, 0)) < 0 && errno == EINTR)
		;
	for (int i = 0; i < events; i++) {
		struct connection *c = &all[e[i].data.u32];
		form->ready(c);
		if (c->ended)
			drop(form, c);
	}
	if (events < 0)
		fail(errno);
}

/* ---------------------------------------------------------------------------------- the clients */

struct client {
	int fd;        /* -1: none */
	int64_t asked; /* on this connection */
	int64_t ever;  /* of this slot */
};

struct run {
	const struct cb_app *app;
	const struct form *form;
	struct cb_app_result *out;
	int64_t opened;
	int fresh[CB_APP_SLOTS], fresh_count; /* ends that the server has to take */
	struct client client[CB_APP_SLOTS];
};

/* take_answer - 0, or an errno. */
static int take_answer(struct run *k, struct client *c)
{
	uint64_t value;

	ssize_t n = read(c->fd, &value, sizeof value);
	if (n != sizeof value)
		return n < 0 && errno != EAGAIN ? errno : EPROTO;
	k->out->sum += value;
	return 0;
}

/* client_turn - of one slot: the answer, if one was asked for; the next connection, where the last
 * has had its requests; the next request. Returns: 0 or an errno. */
static int client_turn(struct run *k, int slot)
{
	struct client *c = &k->client[slot];
	int error = c->fd >= 0 ? take_answer(k, c) : 0;

	if (error)
		return error;
	if (c->fd >= 0 && c->asked == k->app->requests) {
		close(c->fd);
		c->fd = -1;
	}
	if (c->fd < 0) {
		int pair[2];
		if (k->opened == k->app->connections)
			return 0;
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
			return errno;
		k->opened++;
		c->fd = pair[0];
		c->asked = 0;
		k->fresh[k->fresh_count++] = pair[1];
	}
	struct request r = request_of(slot, c->ever++);
	c->asked++;
	return send(c->fd, &r, sizeof r, MSG_NOSIGNAL) == sizeof r ? 0 : errno;
}

/* turns - until all connections are served. A connection that its client has closed ends in the
 * server's turn, and so does the last. Returns: 0 or an errno. */
static int turns(struct run *k)
{
	int error = 0;

	do {
		for (int slot = 0; slot < CB_APP_SLOTS && !error; slot++)
			error = client_turn(k, slot);
		int64_t began = cb_thread_ns();
		while (k->fresh_count)
			server_takes(k->form, k->fresh[--k->fresh_count]);
		server_turn(k->form);
		k->out->server_ns += cb_thread_ns() - began;
	} while (!error && !failed && unused_count < CONNECTIONS);
	return error ? error : failed;
}

/* close_all - the clients' ends, and those that the server has left where something has failed: of
 * these a connection may have a request before its end. Returns: 0, or an errno. */
static int close_all(struct run *k)
{
	for (int slot = 0; slot < CB_APP_SLOTS; slot++)
		if (k->client[slot].fd >= 0)
			close(k->client[slot].fd);
	for (int turn = 0; turn < 2 && unused_count < CONNECTIONS; turn++)
		server_turn(k->form);
	while (kept_count)
		cb_stack_free(kept[--kept_count], CB_STACK_BYTES);
	close(set);
	return unused_count == CONNECTIONS ? 0 : EPROTO;
}

int cb_application(const struct cb_app *a, struct cb_app_result *out)
{
	struct run k = {.app = a, .out = out};

	if (a->form < 0 || a->form > CB_APP_CALLBACK || a->connections < 1 || a->requests < 1)
		return EINVAL;
	k.form = &forms[a->form];
	*out = (struct cb_app_result){0};
	memset(cells, 0, sizeof cells);
	for (int slot = 0; slot < CB_APP_SLOTS; slot++)
		k.client[slot].fd = -1;
	for (unused_count = 0; unused_count < CONNECTIONS; unused_count++)
		unused[unused_count] = unused_count;
	failed = 0;
	set = epoll_create1(EPOLL_CLOEXEC);
	if (set < 0)
		return errno;
	int64_t began = cb_thread_ns();
	int error = turns(&k);
	out->ns = cb_thread_ns() - began;
	int left = close_all(&k);
	return error ? error : left;
}

uint64_t cb_application_sum(const struct cb_app *a)
{
	uint64_t sum = 0;

	memset(cells, 0, sizeof cells);
	for (int slot = 0; slot < CB_APP_SLOTS; slot++) {
		int64_t own = a->connections / CB_APP_SLOTS +
			      (slot < a->connections % CB_APP_SLOTS);
		for (int64_t i = 0; i < own * a->requests; i++) {
			struct request r = request_of(slot, i);
			sum += work(&r);
		}
	}
	return sum;
}
