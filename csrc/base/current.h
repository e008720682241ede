/*
 * current.h - the coroutine that runs on this thread, of whatever layer.
 *
 * There are three layers: coroutines resumed by hand, those of a dispatcher, and scheduled ones. On
 * one thread they nest in that order: a scheduled coroutine may run a dispatcher, and any of them
 * may resume one by hand, which is the innermost then. The calls that are for any coroutine
 * (coro_defer, coro_exit, coro_call_on_stack and others) and the report of an overflow ask the
 * layers, innermost first.
 *
 * Who is current must be read anew after each suspension: a coroutine may continue on another
 * thread.
 */
#ifndef COROI_CURRENT_H
#define COROI_CURRENT_H

#include "base/stack.h"

struct coroi_extras;
struct coroi_rec;
struct coroi_where;

/* coroi_tls - what a thread-local variable holds, never cached by the compiler: a coroutine may
 * continue on another thread after each call that suspends. */
#if defined(__x86_64__)
#define coroi_tls(variable)                                                                     \
	({                                                                                      \
		void *coroi_value;                                                              \
		__asm__ volatile("movq " #variable "@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" \
				 : "=&r"(coroi_value));                                         \
		coroi_value;                                                                    \
	})
#else
#define coroi_tls(variable)                                                       \
	({                                                                        \
		void *coroi_value;                                                \
		uint64_t coroi_offset;                                            \
		__asm__ volatile("mrs %0, tpidr_el0\n\t"                          \
				 "adrp %1, :gottprel:" #variable "\n\t"           \
				 "ldr %1, [%1, :gottprel_lo12:" #variable "]\n\t" \
				 "ldr %0, [%0, %1]"                               \
				 : "=&r"(coroi_value), "=&r"(coroi_offset));      \
		coroi_value;                                                      \
	})
#endif

#define COROI_THREAD_LOCAL \
	extern __thread __attribute__((tls_model("initial-exec"), visibility("hidden")))

/*
 * Where this thread's worker keeps its current coroutine; NULL: the thread is no worker. Whoever
 * runs coroutines of another layer hides the scheduled one: it stores NULL there meanwhile, so that
 * scheduler calls find none.
 */
COROI_THREAD_LOCAL struct coroi_rec **coroi_scheduled_tls;

static inline struct coroi_rec **coroi_scheduled(void)
{
	return coroi_tls(coroi_scheduled_tls);
}

/* coroi_hide_scheduled - returns what to give to coroi_show_scheduled, on the same thread,
 * afterwards. */
static inline struct coroi_rec *coroi_hide_scheduled(void)
{
	struct coroi_rec **at = coroi_scheduled(), *rec = NULL;

	if (at) {
		rec = *at;
		*at = NULL;
	}
	return rec;
}

static inline void coroi_show_scheduled(struct coroi_rec *rec)
{
	if (rec) /* it has not moved: a coroutine that is hidden cannot suspend */
		*coroi_scheduled() = rec;
}

enum coroi_layer_rank {
	COROI_LAYER_MANUAL,
	COROI_LAYER_DISPATCHED,
	COROI_LAYER_SCHEDULED,
	COROI_LAYERS
};

/* What a layer tells of the coroutine of its own that runs on this thread. */
struct coroi_layer {
	/* The stack that it stands on; NULL: none of this layer runs here. The other calls are for
	 * one that does. */
	struct coroi_stack **(*stack)(void);

	/* Where its extras hang, which are there; NULL: no memory for them. */
	struct coroi_extras **(*extras)(void);

	/* End it with a yield code: CORO_FINISHED or CORO_ABORT. Does not return. */
	void (*end)(int status);

	/* A stack for coro_call_on_stack, and back; NULL: no memory. */
	struct coroi_stack *(*take)(unsigned class);
	void (*give)(struct coroi_stack *s);

	/* Fill *at in. False: this thread has nothing to do with the layer now.
	 * Async-signal-safe. */
	bool (*where)(struct coroi_where *at);
};

/* The layers that are linked in, innermost first; NULL: that one is not. Written by constructors
 * alone. */
extern const struct coroi_layer *coroi_layer[COROI_LAYERS];

/* coroi_innermost - the layer of the innermost coroutine that runs on this thread; NULL: none
 * does. */
const struct coroi_layer *coroi_innermost(void);

#endif
