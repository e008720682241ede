#include "shop.h"

#include "coro_actor.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------- the database */

enum { OPEN, ORDER, SUMS };

/* The state of the actor that owns the database. The connection is opened with SQLITE_OPEN_NOMUTEX:
 * SQLite then wants that one thread calls it at a time. Here it is always the same one. */
struct database {
	sqlite3 *db;
	sqlite3_stmt *insert;
	struct shop_sums sums;
};

/* called - SQLite is about to be called. */
static void called(struct database *d)
{
	d->sums.calls++;
	d->sums.elsewhere += syscall(SYS_gettid) != getpid();
}

static int64_t open_database(struct database *d, const char *path)
{
	called(d);
	int status = sqlite3_open_v2(
		path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
		NULL);
	if (status == SQLITE_OK)
		status = sqlite3_exec(d->db,
				      "CREATE TABLE orders (customer INTEGER, amount INTEGER)",
				      NULL, NULL, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_prepare_v2(d->db, "INSERT INTO orders VALUES (?, ?)", -1,
					    &d->insert, NULL);
	return status;
}

static void order(struct database *d, const coro_message *m)
{
	called(d);
	sqlite3_bind_int64(d->insert, 1, (int64_t)m->words[0]);
	sqlite3_bind_int64(d->insert, 2, (int64_t)m->words[1]);
	sqlite3_step(d->insert);
	sqlite3_reset(d->insert);
}

static void sum_up(struct database *d)
{
	sqlite3_stmt *sum;

	called(d);
	if (sqlite3_prepare_v2(d->db, "SELECT count(*), total(amount) FROM orders", -1, &sum,
			       NULL) != SQLITE_OK)
		return;
	if (sqlite3_step(sum) == SQLITE_ROW) {
		d->sums.rows = sqlite3_column_int64(sum, 0);
		d->sums.amount = sqlite3_column_int64(sum, 1);
	}
	sqlite3_finalize(sum);
}

/* A batch of messages is one transaction: up to 64 orders share its cost. */
static size_t database(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct database *d = state;
	int64_t status;

	(void)turn;
	if (d->insert)
		sqlite3_exec(d->db, "BEGIN", NULL, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		switch (m[i]->kind) {
		case OPEN:
			status = open_database(d, (const char *)(uintptr_t)m[i]->words[0]);
			coro_message_answer(m[i], &status, sizeof status);
			break;
		case ORDER:
			order(d, m[i]);
			break;
		case SUMS:
			sum_up(d);
			coro_message_answer(m[i], &d->sums, sizeof d->sums);
			break;
		}
	if (d->insert && !sqlite3_get_autocommit(d->db))
		sqlite3_exec(d->db, "COMMIT", NULL, NULL, NULL);
	return n;
}

/* Once the actor has ended, in its last turn: so the connection is closed where it was opened. */
static void close_database(void *state, int cause)
{
	struct database *d = state;

	(void)cause;
	sqlite3_finalize(d->insert);
	sqlite3_close(d->db);
	free(d);
}

static const coro_actor_kind database_kind = {
	.size = sizeof database_kind, .batch = 64, .behave = database, .end = close_database};

/* ------------------------------------------------------------------------------ the customers */

struct customer {
	int64_t number, orders;
	coro_actor database;
	coro_latch *left; /* customers that have not ordered */
};

/* buy - all orders of a customer. Each is one message of 16 bytes. */
static size_t buy(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct customer *c = state;

	(void)m;
	for (int64_t i = 1; i <= c->orders; i++) {
		int64_t words[2] = {c->number, i};
		if (coro_actor_send(c->database, ORDER, words, sizeof words))
			coro_fail(1, "no order can be sent");
	}
	coro_latch_add(c->left, -1);
	coro_actor_stop(turn->self);
	return n;
}

static void customer_ends(void *state, int cause)
{
	(void)cause;
	free(state);
}

static const coro_actor_kind customer_kind = {
	.size = sizeof customer_kind, .behave = buy, .end = customer_ends};

static int start_customer(coro_actor database, int64_t number, int64_t orders, coro_latch *left)
{
	struct customer *c = malloc(sizeof *c);
	coro_actor a;

	if (!c)
		return CORO_ENOMEM;
	*c = (struct customer){number, orders, database, left};
	int status = coro_actor_spawn(NULL, &customer_kind, c, &a);
	if (status)
		free(c);
	return status ? status : coro_actor_send(a, 0, NULL, 0);
}

/* --------------------------------------------------------------------------------- the whole */

static void check(int status, const char *what)
{
	if (status)
		coro_fail(status, what);
}

void shop(void *arg, void *result)
{
	const struct shop_arg *a = arg;
	uint64_t path = (uintptr_t)a->path;
	struct database *d = calloc(1, sizeof *d);
	coro_latch left;
	coro_answer answer;
	coro_actor db;

	check(d ? coro_actor_spawn_on(NULL, (uint32_t)a->worker + 1, &database_kind, d, &db)
		: CORO_ENOMEM,
	      "there is no actor for the database");
	check(coro_actor_ask(db, OPEN, &path, sizeof path, &answer, CORO_FOREVER), "no answer");
	if (answer.words[0])
		coro_fail((int)answer.words[0], sqlite3_errstr((int)answer.words[0]));
	check(coro_latch_init(&left, (uint64_t)a->customers, 0), "no latch");
	for (int64_t i = 0; i < a->customers; i++)
		check(start_customer(db, i, a->orders, &left), "there is no actor for a customer");
	check(coro_latch_wait(&left, CORO_FOREVER), "no end");
	coro_latch_destroy(&left);
	/* behind all orders, since each was sent before its customer was counted */
	check(coro_actor_ask(db, SUMS, NULL, 0, &answer, CORO_FOREVER), "no answer");
	*(struct shop_sums *)result = *(const struct shop_sums *)(const void *)answer.payload;
	coro_actor_drain(db);
}
