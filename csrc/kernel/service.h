/*
 * service.h - subsystems that a scheduler opens and closes without knowing them.
 *
 * A room above the kernel that keeps something for each scheduler registers a service, once, from a
 * constructor of its own. The state of the service hangs in the scheduler at service[id].
 *
 * The calls below come in the order of registration, which is not defined between rooms. They come
 * from the thread that makes, closes or destroys the scheduler, which is no worker; `canceled`,
 * `stats` and `running` alone come from any thread. A call that is NULL is left out.
 */
#ifndef COROI_SERVICE_H
#define COROI_SERVICE_H

#include "coro.h"

#include <stdint.h>

#define COROI_SERVICES_MAX 10

struct coroi_rec;

struct coroi_service {
	uint32_t id; /* set by coroi_service_register */

	/* The scheduler is being made, and no thread of it runs yet. Any status but CORO_OK stops
	 * that: destroy is called, and coro_scheduler_init returns the status. */
	int (*init)(struct coro_scheduler *s, const coro_options *o);

	/* A close has begun: take nothing more from outside. May be called more than once. */
	void (*refuse)(struct coro_scheduler *s);

	/* r, which has COROI_F_TOLD, was cancelled. Thread: any, in the door of r's home. */
	void (*canceled)(struct coro_scheduler *s, struct coroi_rec *r);

	/* Fill in what the room knows of coro_stats. The scheduler is not closed, and is not
	 * meanwhile. */
	void (*stats)(struct coro_scheduler *s, coro_stats *out);

	/* The functions, `most` at most, that threads of the room run now. Returns: how many. The
	 * scheduler is not closed, and is not meanwhile. */
	size_t (*running)(struct coro_scheduler *s, coro_fn *list, size_t most);

	/* No coroutine is left, and the workers have ended. */
	void (*close)(struct coro_scheduler *s);

	/* Free the state. Nothing uses the scheduler any more. Also called where init failed or was
	 * never called: service[id] is NULL then. */
	void (*destroy)(struct coro_scheduler *s);
};

/* coroi_service_register - from a constructor, before any scheduler is made. */
void coroi_service_register(struct coroi_service *service);

/* What a scheduler's life calls: each calls that function of every service. coroi_services_init
 * stops at the first that fails, and returns its status; coroi_services_running fills one list. */
int coroi_services_init(struct coro_scheduler *s, const coro_options *o);
void coroi_services_refuse(struct coro_scheduler *s);
void coroi_services_canceled(struct coro_scheduler *s, struct coroi_rec *r);
void coroi_services_stats(struct coro_scheduler *s, coro_stats *out);
size_t coroi_services_running(struct coro_scheduler *s, coro_fn *list, size_t most);
void coroi_services_close(struct coro_scheduler *s);
void coroi_services_destroy(struct coro_scheduler *s);

#endif
