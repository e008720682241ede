/*
 * application.h - a small server of keys and values, and its clients, in one thread: what the ways
 * to wait for the next request make of a whole application.
 *
 * CB_APP_SLOTS connections are open at once, each a pair of Unix sockets. In a turn each client
 * takes the answer that has come, and sends its next request; then the server serves what an epoll
 * set tells it. The server's system calls are the same in all forms, and so is its work.
 */
#ifndef CBODY_APPLICATION_H
#define CBODY_APPLICATION_H

#include <stdint.h>

#define CB_APP_SLOTS 64

/* The forms of the server. A coroutine serves a connection from its begin to its end in the first
 * three: on a new stack, or one of those that are kept, with swapcontext; by coro_resume and
 * coro_yield_value. In the last the epoll loop calls a function for what has come. */
enum { CB_APP_NEW_STACK, CB_APP_KEPT_STACK, CB_APP_LIGHT_SWITCH, CB_APP_CALLBACK };

/* cb_application serves `connections`, with as many requests each, in such a form. ns: CPU time
 * of the thread, which never waits. server_ns: of the server's turns alone. sum: of all answers. cb_application_sum is what
 * that has to be, computed without connections. Returns: 0 or an errno; EINVAL: there is no such
 * form; EPROTO: an answer is missing, or a coroutine has not ended. One caller at a time. */
struct cb_app {
	int64_t form, connections, requests;
};
struct cb_app_result {
	int64_t ns, server_ns;
	uint64_t sum;
};
int cb_application(const struct cb_app *a, struct cb_app_result *out);
uint64_t cb_application_sum(const struct cb_app *a);

#endif
