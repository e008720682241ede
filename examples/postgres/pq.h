/* pq.h - C bodies that have a PostgreSQL server work, by libpq. */
#ifndef PQ_H
#define PQ_H

#include "coro.h"

/* A coroutine waits wherever libpq would. libpq's calls take some 5 KiB of the stack, without
 * TLS. */
#define PQ_STACK (32 << 10)

/*
 * pq_open - open a connection, which is the caller's: pq_close. It has two descriptors.
 *
 * conninfo: as for PQconnectdb. It must stay until the end. A name of a host would be looked up by
 *           a call that blocks: give hostaddr, or the folder of a Unix socket as host.
 * timeout:  in ns; 0: none.
 * Ends:     by coro_fail: 1 and libpq's text, or a status of coro.
 */
struct pq_open_arg {
	const char *conninfo;
	uint64_t timeout;
};
CORO_DECLARE_BODY(pq_open);

/*
 * pq_query - send one query, or several in one text, and wait for all results.
 *
 * One query at a time for a connection. A query whose time is up, and one whose coroutine is
 * canceled, is canceled in the server, which takes up to 2 s. If the server has done so by then,
 * the connection can be used again. If not, every further query fails, as after COPY.
 *
 * conn:    of pq_open, in the same scheduler.
 * sql:     it must stay until the end.
 * timeout: in ns; 0: none.
 * Result:  how many rows there were, and the first value as a number, 0 if it is none.
 * Ends:    by coro_fail: 1 and the text of the server or of libpq, CORO_ETIMEDOUT, or another
 *          status of coro.
 */
struct pq_query_arg {
	void *conn;
	const char *sql;
	uint64_t timeout;
};
struct pq_answer {
	int64_t rows, first;
};
CORO_DECLARE_BODY(pq_query);

/* pq_close - close a connection of pq_open or pq_open_blocking, which no query uses. Thread: any.
 * It does not wait. */
void pq_close(void *conn);

/* For comparison: the same by calls that block their thread. pq_open_blocking returns NULL, and
 * pq_query_blocking -1, where they fail; pq_query_blocking returns the number of rows. */
void *pq_open_blocking(const char *conninfo);
int64_t pq_query_blocking(void *conn, const char *sql);

#endif
