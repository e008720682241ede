/*
 * probe.h - events in the life of coroutines, for tracing. Built with -DCOROI_PROBES, each event
 * calls coroi_probe. In other builds a probe is nothing.
 */
#ifndef COROI_PROBE_H
#define COROI_PROBE_H

/* X(identifier, name): a coroutine is spawned (has got a record), starts, waits, is woken, moves to
 * another worker, ends. */
#define COROI_PROBES_OF(X) \
	X(SPAWN, "spawn")  \
	X(START, "start") X(WAIT, "wait") X(WAKE, "wake") X(MOVE, "move") X(END, "end")

enum coroi_probe_event {
#define COROI_PROBE_EVENT(identifier, name) COROI_PROBE_##identifier,
	COROI_PROBES_OF(COROI_PROBE_EVENT)
#undef COROI_PROBE_EVENT
};

#ifdef COROI_PROBES
struct coroi_rec;

/* coroi_probe - called at each event, in the door of r's home or while no other thread knows r. It
 * must not wait, nor enter a door. Set before any scheduler is made; NULL: nothing is called. */
extern void (*coroi_probe)(enum coroi_probe_event event, const struct coroi_rec *r);

#define COROI_PROBE(event, r)                                  \
	do {                                                   \
		if (coroi_probe)                               \
			coroi_probe(COROI_PROBE_##event, (r)); \
	} while (0)
#else
#define COROI_PROBE(event, r) ((void)0)
#endif

#endif
