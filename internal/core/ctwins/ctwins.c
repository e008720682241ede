//go:build cgo && linux && (amd64 || arm64)
/* ctwins.c - see ctwins.go. */

/* A second copy of spawn.c, for what is static there: its public functions get other names. */
#define coro_spawn               ctwins_coro_spawn
#define coro_spawn_attr          ctwins_coro_spawn_attr
#define coro_spawn_first         ctwins_coro_spawn_first
#define coro_scheduler_spawn     ctwins_coro_scheduler_spawn
#define coroi_spawn_many         ctwins_coroi_spawn_many
#define coroi_publish            ctwins_coroi_publish
#define coroi_outside_close      ctwins_coroi_outside_close
#define coroi_task_put_locked    ctwins_coroi_task_put_locked
#define coroi_task_spawn_kept    ctwins_coroi_task_spawn_kept
#define coroi_task_unkeep_locked ctwins_coroi_task_unkeep_locked
#define coroi_task_ask           ctwins_coroi_task_ask
#define coroi_task_spawn         ctwins_coroi_task_spawn
#define coroi_tasks              ctwins_coroi_tasks
#include "kernel/spawn.c"

#include "ctwins.h"
#include "border/state.h"
#include "kernel/inbox.h"

struct ctwins_world ctwins_world(uint32_t workers)
{
	struct coro_scheduler *s = coroi_alloc(sizeof *s, COROI_APART);
	struct coroi_worker *w = coroi_alloc((workers + 1) * sizeof *w, COROI_APART);
	struct coroi_chunk *c = coroi_map(COROI_CHUNK_BYTES, COROI_CHUNK_BYTES, "test");

	s->worker = w;
	s->workers = workers;
	s->driver = &coroi_futex_driver;
	coroi_border(s)->bell.fd = -1;
	for (uint32_t i = 0; i <= workers; i++) {
		w[i].id = (uint16_t)i;
		w[i].sched = s;
	}
	c->owner = s;
	c->id = 7;
	return (struct ctwins_world){s, w, (struct coroi_rec *)c + 123};
}

void ctwins_push(void *worker, uint64_t node)
{
	coroi_inbox_push(worker, node);
}

void ctwins_notify(void *worker)
{
	coroi_notify_pushed(worker);
}

void ctwins_fill(void *record, uintptr_t fn, uint8_t class, uint8_t arg_bytes, uint8_t result_bytes,
		 uint16_t home, const void *arg)
{
	struct coroi_fill q = {.fn = (coro_fn)fn,
			       .class = class,
			       .arg_bytes = arg_bytes,
			       .result_bytes = result_bytes};

	coroi_fill(record, &q, home);
	coroi_fill_argument(record, arg, arg_bytes);
}

uint64_t ctwins_reveal(void *record)
{
	struct coroi_rec *r = record;

	r->flags |= COROI_F_JOINABLE;
	return reveal(r);
}

void ctwins_send(void *worker, void *record)
{
	send(worker, record, false, NULL);
}

void ctwins_send_event(void *record, uint32_t generation)
{
	coroi_event_send_to(record, generation);
}

void ctwins_joins(void *arg, void *result)
{
	*(int32_t *)result = coro_join(*(const coro_handle *)arg, NULL, 0);
	coro_exit_finished(); /* the status is the result, also that of a cancel */
}

void ctwins_parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_park();
}
