#include "pq.h"

#include "coro_io.h"

#include <libpq-fe.h>
#include <stdlib.h>

#define CLEAN_UP ((uint64_t)2000000000) /* ns that the server has to give up a query */

static uint64_t after(uint64_t ns)
{
	return ns ? coro_now() + ns : CORO_FOREVER;
}

/*
 * ready - wait for the connection's socket.
 *
 * libpq may close the socket in any of its calls, and open another with the same number. So the
 * socket is coro's during the wait alone, in which libpq is not called.
 */
static int ready(PGconn *c, int direction, uint64_t deadline)
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

CORO_BODY_STACK(pq_open, struct pq_open_arg, uintptr_t, PQ_STACK, 0)
{
	uint64_t deadline = after(arg->timeout);
	PGconn *c = PQconnectStart(arg->conninfo);
	PostgresPollingStatusType next = PGRES_POLLING_WRITING;
	int status = c ? CORO_OK : CORO_ENOMEM;

	if (c && PQstatus(c) == CONNECTION_BAD)
		next = PGRES_POLLING_FAILED;
	while (!status && (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING)) {
		status = ready(c, next == PGRES_POLLING_READING ? CORO_IN : CORO_OUT, deadline);
		if (!status)
			next = PQconnectPoll(c);
	}
	if (status || next != PGRES_POLLING_OK || PQsetnonblocking(c, 1)) {
		const char *text = kept(PQerrorMessage(c));

		PQfinish(c);
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

/* collect - wait for all results of what was sent. *text becomes that of the first error. */
static int collect(PGconn *c, struct pq_answer *answer, const char **text, uint64_t deadline)
{
	PGresult *r;
	int status;

	*text = NULL;
	while (PQflush(c) > 0) { /* below 0: PQconsumeInput tells why */
		status = ready(c, CORO_OUT, deadline);
		if (status)
			return status;
	}
	for (;;) {
		while (PQisBusy(c)) {
			status = ready(c, CORO_IN, deadline);
			if (status)
				return status;
			if (!PQconsumeInput(c)) { /* the connection is lost */
				*text = *text ? *text : kept(PQerrorMessage(c));
				return CORO_OK;
			}
		}
		r = PQgetResult(c);
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

/* give_up - have the server give up the query, and take what it still sends. */
static void give_up(PGconn *c)
{
	const char *text;
	struct pq_answer none = {0, 0};
	PGcancel *cancel = PQgetCancel(c);

	coro_shield_begin(after(CLEAN_UP));
	if (cancel && coro_blocking(call_cancel, cancel) == CORO_OK)
		collect(c, &none, &text, after(CLEAN_UP));
	coro_shield_end();
	PQfreeCancel(cancel);
}

CORO_BODY_STACK(pq_query, struct pq_query_arg, struct pq_answer, PQ_STACK, 0)
{
	PGconn *c = arg->conn;
	const char *text;
	int status;

	if (!PQsendQuery(c, arg->sql))
		fail(CORO_OK, PQerrorMessage(c));
	status = collect(c, result, &text, after(arg->timeout));
	if (status == CORO_ETIMEDOUT || status == CORO_ECANCELED)
		give_up(c);
	if (status || text)
		fail(status, text);
}

void pq_close(void *conn)
{
	PQfinish(conn);
}

void *pq_open_blocking(const char *conninfo)
{
	PGconn *c = PQconnectdb(conninfo);

	if (PQstatus(c) == CONNECTION_OK)
		return c;
	PQfinish(c);
	return NULL;
}

int64_t pq_query_blocking(void *conn, const char *sql)
{
	PGresult *r = PQexec(conn, sql);
	int64_t rows = PQresultStatus(r) == PGRES_TUPLES_OK ? PQntuples(r) : -1;

	PQclear(r);
	return rows;
}
