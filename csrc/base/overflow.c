//go:build cgo && linux
/*
 * overflow.c - a line that says which coroutine ran into its guard, before the process ends.
 *
 * The handler runs on the thread's alternate signal stack, calls only write(2), and then passes the
 * signal on to the handler that was installed before. In a Go program that is Go's handler. On a
 * thread of Go's, and on a worker that has been in Go, Go's handler prints its own report and
 * exits. Another worker is unknown to Go: there the process dies of the signal after our line.
 */
#include "base/overflow.h"

#include "base/current.h"
#include "base/text.h"

static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool in_guard(const struct coroi_stack *s, const char *p)
{
	return s && p < s->low && p >= s->low - COROI_GUARD_BYTES;
}

bool coroi_where(struct coroi_where *at)
{
	const struct coroi_layer *scheduled = coroi_layer[COROI_LAYER_SCHEDULED];
	struct coroi_where outer = {.worker = -1};
	bool any = scheduled && scheduled->where(&outer);

	for (int i = 0; i < COROI_LAYER_SCHEDULED; i++) {
		*at = (struct coroi_where){.worker = outer.worker};
		if (coroi_layer[i] && coroi_layer[i]->where(at))
			return true;
	}
	*at = outer;
	return any;
}

static void report(const struct coroi_where *at)
{
	struct coroi_text t = {.n = 0};

	coroi_text_put(&t, "coro: stack overflow: the coroutine of function ");
	coroi_text_number(&t, at->fn, 16);
	if (at->handle) {
		coroi_text_put(&t, ", handle ");
		coroi_text_number(&t, at->handle, 16);
		coroi_text_put(&t, ", on worker ");
		coroi_text_number(&t, (uint64_t)at->worker, 10);
	}
	coroi_text_put(&t, " used up its stack of ");
	coroi_text_number(&t, coroi_stack_class_bytes(at->stack->class) >> 10, 10);
	coroi_text_put(
		&t,
		" KiB; give it a larger one, or call what is deep through coro_call_on_stack\n");
	coroi_say(t.at, t.n);
}

static __attribute__((noinline)) void look(const siginfo_t *info)
{
	struct coroi_where at;

	if (info->si_code > 0 && coroi_where(&at) && in_guard(at.stack, info->si_addr))
		report(&at);
}

static void handler(int sig, siginfo_t *info, void *context)
{
	look(info);

	/* Tail calls: the handler before ours sees the stack as if the kernel had called it. Go's
	 * handler counts frames. */
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	} else if (info->si_code > 0) {
		/* The default action: when we return, the access is repeated, and ends the
		 * process. */
		coroi_signal(SIGSEGV, &before, NULL);
	} else if (before.sa_handler == SIG_DFL) {
		coroi_signal(SIGSEGV, &before, NULL);
		raise(SIGSEGV); /* the signal was sent, by a kill: it comes again when we return */
	}
}

static void install(void)
{
	struct sigaction now;

	if (!coroi_signal(SIGSEGV, NULL, &before))
		return;
	now = before;
	now.sa_sigaction = handler;
	now.sa_flags = (before.sa_flags & ~SA_RESETHAND) | SA_SIGINFO | SA_ONSTACK;
	coroi_signal(SIGSEGV, &now, NULL);
}

void coroi_overflow_install(void)
{
	pthread_once(&once, install);
}
