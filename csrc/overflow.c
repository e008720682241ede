//go:build cgo && linux
/*
 * overflow.c - say which coroutine ran into its guard, before the process ends.
 *
 * The handler runs on the thread's alternate signal stack, calls only write(2), and then hands the signal to
 * whoever had it before. In a Go program that is Go's handler: on a thread of Go's it prints its own report and exits;
 * on a worker, which Go does not know, the process dies of the signal after our line.
 */
#include "overflow.h"

#include "bare.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct text {
	char at[256];
	size_t n;
};

static void put(struct text *t, const char *s)
{
	while (*s && t->n < sizeof t->at)
		t->at[t->n++] = *s++;
}

static void put_number(struct text *t, uint64_t v, unsigned base)
{
	char digits[24];
	int n = 0;
	do {
		digits[n++] = "0123456789abcdef"[v % base];
	} while (v /= base);
	while (n && t->n < sizeof t->at)
		t->at[t->n++] = digits[--n];
}

static bool in_guard(const struct coroi_stack *s, const char *p)
{
	return s && p < s->low && p >= s->low - COROI_GUARD_BYTES;
}

static void report(const struct coroi_stack *s, uintptr_t fn, uint64_t handle, int worker)
{
	struct text t = {.n = 0};

	put(&t, "coro: stack overflow: the coroutine of function 0x");
	put_number(&t, fn, 16);
	if (worker >= 0) {
		put(&t, ", handle 0x");
		put_number(&t, handle, 16);
		put(&t, ", on worker ");
		put_number(&t, (uint64_t)worker, 10);
	}
	put(&t, " used up its stack of ");
	put_number(&t, coroi_stack_class_bytes(s->class) >> 10, 10);
	put(&t, " KiB; give it a larger one, or call what is deep through coro_call_on_stack\n");
	if (write(2, t.at, t.n) < 0)
		return;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	const char *address = info->si_addr;
	struct coroi_worker *w = coroi_self();
	coro_t *co = coroi_bare();

	if (info->si_code > 0 && co && in_guard(co->stack, address))
		report(co->stack, (uintptr_t)co->body, 0, -1);
	else if (info->si_code > 0 && w && w->current && in_guard(w->current->stack, address))
		report(w->current->stack, (uintptr_t)w->current->fn, coroi_handle(w->current), w->id);

	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	} else {
		/* The default: the access is tried again when we return, and ends the process. */
		sigaction(SIGSEGV, &before, NULL);
	}
}

static void install(void)
{
	struct sigaction now;

	if (sigaction(SIGSEGV, NULL, &before))
		return;
	now = before;
	now.sa_sigaction = handler;
	now.sa_flags = (before.sa_flags & ~SA_RESETHAND) | SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGSEGV, &now, NULL);
}

void coroi_overflow_install(void)
{
	pthread_once(&once, install);
}
