#include "pq.h"

#include "coro_io.h"

#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEAN_UP ((uint64_t)2000000000) /* ns that the server has to give up a query */
#define TRY      ((uint64_t)100000000)  /* ns from one cancel of it to the next */

/* A connection, and a duplicate of its socket that is coro's for as long as the connection lasts. A
 * connection for calls that block has none: 0. */
struct conn {
	PGconn *pq;
	coro_fd socket;
};

static uint64_t after(uint64_t ns)
{
	return ns ? coro_now() + ns : CORO_FOREVER;
}

/*
 * ready_to_connect - wait for the socket of a connection that is being made.
 *
 * libpq may close the socket in any of its calls, and open another with the same number. So the
 * socket is coro's during the wait alone, in which libpq is not called.
 */
static int ready_to_connect(PGconn *c, int direction, uint64_t deadline)
{
	coro_fd f;
	int number;
	int status = coro_fd_adopt(&f, PQsocket(c), CORO_FD_KEEP);

	if (status == CORO_OK) {
		status = coro_fd_wait(f, direction, deadline);
		coro_fd_release(f, &number);
	}
	return status;
}

/*
 * adopt_socket - a duplicate of the socket becomes coro's.
 *
 * A connection that is made keeps its socket until it is lost. Then libpq closes the number, which
 * others may get, and waits no more. So coro has a number of its own.
 */
static int adopt_socket(struct conn *c)
{
	int own = fcntl(PQsocket(c->pq), F_DUPFD_CLOEXEC, 0);
	int status = own < 0 ? CORO_OF_ERRNO(errno) : coro_fd_adopt(&c->socket, own, 0);

	if (status && own >= 0)
		close(own);
	return status;
}

/* kept - a text of libpq's, which is gone with its result, for as long as the coroutine. */
static const char *kept(const char *text)
{
	const char *copy = coro_strdup(text);

	return copy ? copy : "an error, and no memory for its text";
}

/* fail - end the coroutine with a status, or else with a text. After a cancel it just ends: Go
 * knows of the cancel. */
static void fail(int status, const char *text)
{
	if (status == CORO_ECANCELED)
		coro_exit();
	coro_fail(status ? status : 1, status ? coro_strerror(status) : text);
}

/* connected - have libpq connect, and adopt the socket. Returns: a status; CORO_OK with *ok false:
 * libpq has an error. */
static int connected(struct conn *c, uint64_t deadline, bool *ok)
{
	PostgresPollingStatusType next = PGRES_POLLING_WRITING;
	int status = CORO_OK;

	if (PQstatus(c->pq) == CONNECTION_BAD)
		next = PGRES_POLLING_FAILED;
	while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
		int direction = next == PGRES_POLLING_READING ? CORO_IN : CORO_OUT;
		if ((status = ready_to_connect(c->pq, direction, deadline)))
			return status;
		next = PQconnectPoll(c->pq);
	}
	*ok = next == PGRES_POLLING_OK && PQsetnonblocking(c->pq, 1) == 0;
	return *ok ? adopt_socket(c) : CORO_OK;
}

CORO_BODY_STACK(pq_open, struct pq_open_arg, uintptr_t, PQ_STACK, 0)
{
	struct conn *c = calloc(1, sizeof *c);
	bool ok = false;
	int status = CORO_ENOMEM;

	if (c && (c->pq = PQconnectStart(arg->conninfo)))
		status = connected(c, after(arg->timeout), &ok);
	if (status || !ok) {
		const char *text = c ? kept(PQerrorMessage(c->pq)) : NULL;

		pq_close(c);
		fail(status, text);
	}
	*result = (uintptr_t)c;
}

/* is_copy - the result says that data follow, which the program is to send or to take. */
static int is_copy(const PGresult *r)
{
	ExecStatusType is = PQresultStatus(r);

	return is == PGRES_COPY_IN || is == PGRES_COPY_OUT || is == PGRES_COPY_BOTH;
}

/* take - look at one result. Returns the text of an error, or NULL. */
static const char *take(const PGresult *r, struct pq_answer *answer)
{
	switch (PQresultStatus(r)) {
	case PGRES_TUPLES_OK:
		if (!answer->rows && PQntuples(r) && PQnfields(r))
			answer->first = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
		answer->rows += PQntuples(r);
		return NULL;
	case PGRES_COMMAND_OK:
	case PGRES_EMPTY_QUERY:
		return NULL;
	default:
		return kept(is_copy(r) ? "pq_query does no COPY: close the connection"
				       : PQresultErrorMessage(r));
	}
}

/* sent - send what is left of the query. Returns: a status. */
static int sent(struct conn *c, uint64_t deadline)
{
	int status = CORO_OK;

	while (!status && PQflush(c->pq) > 0) /* below 0: PQconsumeInput tells why */
		status = coro_fd_wait(c->socket, CORO_OUT, deadline);
	return status;
}

/* collect - wait for all results of a query. *text becomes that of the first error. */
static int collect(struct conn *c, struct pq_answer *answer, const char **text, uint64_t deadline)
{
	PGresult *r;
	int status = sent(c, deadline);

	*text = NULL;
	if (status)
		return status;
	for (;;) {
		while (PQisBusy(c->pq)) {
			status = coro_fd_wait(c->socket, CORO_IN, deadline);
			if (status)
				return status;
			if (!PQconsumeInput(c->pq)) { /* the connection is lost */
				*text = *text ? *text : kept(PQerrorMessage(c->pq));
				return CORO_OK;
			}
		}
		r = PQgetResult(c->pq);
		if (!r)
			return CORO_OK;
		const char *error = take(r, answer);
		int copy = is_copy(r);

		PQclear(r);
		*text = *text ? *text : error;
		if (copy) /* further results come after the data alone */
			return CORO_OK;
	}
}

/* call_cancel - ask the server to give up the query. PQcancel connects, and waits. */
static void call_cancel(void *cancel)
{
	char text[256];

	PQcancel(cancel, text, sizeof text);
}

/*
 * give_up - have the server give up the query, and take what it still sends.
 *
 * The server takes no notice of a cancel before it has the whole query. So the rest is sent first,
 * and the cancel is made again until it has ended the query. Without memory for the shield section,
 * a cancel of the coroutine ends this at once.
 */
static void give_up(struct conn *c)
{
	const char *text;
	struct pq_answer none = {0, 0};
	uint64_t end = after(CLEAN_UP);
	bool shielded = coro_shield_begin(end) == CORO_OK;
	PGcancel *cancel = PQgetCancel(c->pq);
	int status = cancel ? sent(c, end) : CORO_ENOMEM;

	if (!status)
		do {
			status = coro_blocking(call_cancel, cancel);
			if (!status)
				status = collect(c, &none, &text, after(TRY));
		} while (status == CORO_ETIMEDOUT && coro_now() < end);
	if (shielded)
		coro_shield_end();
	PQfreeCancel(cancel);
}

CORO_BODY_STACK(pq_query, struct pq_query_arg, struct pq_answer, PQ_STACK, 0)
{
	struct conn *c = arg->conn;
	const char *text;
	int status;

	if (!PQsendQuery(c->pq, arg->sql))
		fail(CORO_OK, PQerrorMessage(c->pq));
	status = collect(c, result, &text, after(arg->timeout));
	if (status == CORO_ETIMEDOUT || status == CORO_ECANCELED)
		give_up(c);
	if (status || text)
		fail(status, text);
}

void pq_close(void *conn)
{
	struct conn *c = conn;

	if (!c)
		return;
	coro_fd_close(c->socket); /* none, or gone with the scheduler: it does nothing */
	PQfinish(c->pq);
	free(c);
}

void *pq_open_blocking(const char *conninfo)
{
	struct conn *c = calloc(1, sizeof *c);

	if (c && (c->pq = PQconnectdb(conninfo)) && PQstatus(c->pq) == CONNECTION_OK)
		return c;
	pq_close(c);
	return NULL;
}

int64_t pq_query_blocking(void *conn, const char *sql)
{
	struct conn *c = conn;
	PGresult *r = PQexec(c->pq, sql);
	int64_t rows = PQresultStatus(r) == PGRES_TUPLES_OK ? PQntuples(r) : -1;

	PQclear(r);
	return rows;
}
