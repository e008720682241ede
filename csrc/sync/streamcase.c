//go:build ignore
/*
 * streamcase.c - streams as cases of a select (source.h): STM3 and STM6 of stream.h.
 */
#include "sync/source.h"
#include "sync/stream.h"

static bool case_writes(const struct coroi_case *x)
{
	return x->direction == CORO_STREAM_OUT;
}

static int stream_enter(struct coroi_case *x)
{
	coro_stream *s = (coro_stream *)(uintptr_t)x->name;

	if (!s || (x->direction != CORO_STREAM_IN && x->direction != CORO_STREAM_OUT))
		return CORO_EINVAL;
	struct coroi_pipe *p = case_writes(x) ? s->out : s->in;
	int status = coroi_pipe_begin(p, case_writes(x));
	x->place = status ? NULL : p;
	return status;
}

static void stream_look(struct coroi_case *x, bool waits)
{
	(void)waits;
	x->ready = coroi_pipe_ready(x->place, case_writes(x));
}

static int stream_watch(struct coroi_case *x)
{
	(void)x;
	return CORO_OK;
}

static bool stream_enqueue(struct coroi_case *x)
{
	struct coroi_pipe *p = x->place;

	if (coroi_object_enter(&p->object))
		return false;
	coroi_waiter_init(x->waiter, &p->object, x->me, (uint8_t)(x->mark - 1), NULL);
	x->waiter->several = x->several;
	bool waits = coroi_pipe_wait_as(p, case_writes(x), x->waiter);
	coroi_object_leave(&p->object);
	return waits;
}

static void stream_dequeue(struct coroi_case *x)
{
	struct coroi_pipe *p = x->place;

	/* The pipe is in use, and so was not destroyed. */
	if (coroi_object_enter(&p->object))
		return;
	if (x->waiter->queue)
		coroi_waitq_remove(x->waiter);
	coroi_object_leave(&p->object);
}

static void stream_leave(struct coroi_case *x)
{
	coroi_pipe_end(x->place, case_writes(x));
}

static const struct coroi_source source_of_streams = {
	.enter = stream_enter,
	.look = stream_look,
	.watch = stream_watch,
	.enqueue = stream_enqueue,
	.dequeue = stream_dequeue,
	.leave = stream_leave,
};

__attribute__((constructor)) static void stream_source_register(void)
{
	coroi_source_register(COROI_SOURCE_STREAM, &source_of_streams);
}
