/*
 * current.h - the coroutine that runs on this thread, of any layer.
 *
 * There are three layers: manual coroutines, those of a dispatcher, and scheduled ones. On one
 * thread they nest: a scheduled coroutine may run a dispatcher, and any coroutine may resume a
 * manual one, which is the innermost then. The calls for any coroutine (coro_defer, coro_exit,
 * coro_call_on_stack and others) and the report of a fault ask the layers, the innermost first.
 *
 * After each suspension the current coroutine must be read again: the code may go on on another
 * thread.
 */
#ifndef COROI_CURRENT_H
#define COROI_CURRENT_H

#include "base/stack.h"

struct coroi_extras;
struct coroi_failure;
struct coroi_rec;
struct coroi_where;

/* coroi_tls - the value of a thread-local variable. The compiler never caches the value or the
 * address: after each call that suspends, a coroutine may be on another thread. */
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
 * The address at which this thread's worker keeps its current coroutine. NULL: the thread is no
 * worker. Code that runs coroutines of another layer hides the scheduled coroutine meanwhile: it
 * stores NULL at that address, so that scheduler calls find no coroutine.
 */
COROI_THREAD_LOCAL struct coroi_rec **coroi_scheduled_tls;

static inline struct coroi_rec **coroi_scheduled(void)
{
	return coroi_tls(coroi_scheduled_tls);
}

/* coroi_hide_scheduled - hide the scheduled coroutine of this thread. Returns: what
 * coroi_show_scheduled is to be given afterwards, on the same thread. */
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
	if (rec) /* on the same thread as before: a hidden coroutine cannot suspend */
		*coroi_scheduled() = rec;
}

enum coroi_layer_rank {
	COROI_LAYER_MANUAL,
	COROI_LAYER_DISPATCHED,
	COROI_LAYER_SCHEDULED,
	/* threads that work for a suspended coroutine, or run one that is between
	 * coro_thread_begin and coro_thread_end: `where` alone is set */
	COROI_LAYER_BLOCKING,
	COROI_LAYERS
};

/* What a layer does for its coroutine that runs on this thread. */
struct coroi_layer {
	/* The place of the stack that the coroutine is on. NULL: no coroutine of this layer runs
	 * here; then `where` is the only other call that is allowed. */
	struct coroi_stack **(*stack)(void);

	/* The place of the coroutine's extras, which are made if there are none. NULL: no
	 * memory. */
	struct coroi_extras **(*extras)(void);

	/* End the coroutine with a yield code: CORO_FINISHED, CORO_ABORT or CORO_FAILED. Does not
	 * return. */
	void (*end)(int status);

	/* Keep the failure, with which the coroutine is about to end. The callee owns its text.
	 * NULL: the layer tells nobody of it. */
	void (*fail)(struct coroi_failure f);

	/* Get a stack for coro_call_on_stack (NULL: no memory), and give it back. */
	struct coroi_stack *(*take)(unsigned class);
	void (*give)(struct coroi_stack *s);

	/* Fill *at in. False: this thread has nothing to do with the layer now.
	 * Async-signal-safe. */
	bool (*where)(struct coroi_where *at);
};

/* The layers, innermost first. NULL: the layer is not linked in. Written by constructors alone. */
extern const struct coroi_layer *coroi_layer[COROI_LAYERS];

/* coroi_innermost - the layer of the innermost coroutine that runs on this thread. NULL: no
 * coroutine does. */
const struct coroi_layer *coroi_innermost(void);

/* coroi_is_plain_thread - no coroutine of any layer runs on this thread, and the thread works for
 * none: it is on the stack that it was made with. */
bool coroi_is_plain_thread(void);

#endif
