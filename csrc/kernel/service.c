//go:build ignore
/* service.c - see service.h. */
#include "kernel/service.h"

static struct coroi_service *services[COROI_SERVICES_MAX]; /* constructors alone write it */
static uint32_t count;

void coroi_service_register(struct coroi_service *service)
{
	if (count == COROI_SERVICES_MAX)
		/* Too many rooms: the first run of any program finds that. */
		__builtin_trap();
	service->id = count;
	services[count++] = service;
}

int coroi_services_init(struct coro_scheduler *s, const coro_options *o)
{
	int status = CORO_OK;

	for (uint32_t i = 0; i < count && !status; i++)
		if (services[i]->init)
			status = services[i]->init(s, o);
	return status;
}

void coroi_services_refuse(struct coro_scheduler *s)
{
	for (uint32_t i = 0; i < count; i++)
		if (services[i]->refuse)
			services[i]->refuse(s);
}

void coroi_services_stats(struct coro_scheduler *s, coro_stats *out)
{
	for (uint32_t i = 0; i < count; i++)
		if (services[i]->stats)
			services[i]->stats(s, out);
}

void coroi_services_canceled(struct coro_scheduler *s, struct coroi_rec *r)
{
	for (uint32_t i = 0; i < count; i++)
		if (services[i]->canceled)
			services[i]->canceled(s, r);
}

size_t coroi_services_running(struct coro_scheduler *s, coro_fn *list, size_t most)
{
	size_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		if (services[i]->running)
			n += services[i]->running(s, list + n, most - n);
	return n;
}

void coroi_services_close(struct coro_scheduler *s)
{
	for (uint32_t i = 0; i < count; i++)
		if (services[i]->close)
			services[i]->close(s);
}

void coroi_services_destroy(struct coro_scheduler *s)
{
	for (uint32_t i = 0; i < count; i++)
		if (services[i]->destroy)
			services[i]->destroy(s);
}
