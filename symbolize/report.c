//go:build cgo && linux && (amd64 || arm64)
/*
 * report.c - see report.h.
 *
 * Everything here runs in a signal handler, but for the installing. The frames come from libgcc's
 * unwinder, which reads the unwind information of the C code and goes through the frame of the
 * signal; the base of a coroutine's stack ends it. The names come from libbacktrace, through the
 * function that cgosymbolizer gives to Go's runtime.
 */
#include "report.h"

#include "base/overflow.h"
#include "base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* As runtime.SetCgoTraceback has it. */
struct symbol {
	uintptr_t pc;
	const char *file;
	uintptr_t line;
	const char *function;
	uintptr_t entry;
	uintptr_t more; /* there are others at this pc: inlined */
	uintptr_t data;
};

extern void cgoSymbolizer(void *);

static const struct {
	int number;
	const char *name;
} faults[] = {{SIGSEGV, "SIGSEGV"},
	      {SIGBUS, "SIGBUS"},
	      {SIGFPE, "SIGFPE"},
	      {SIGILL, "SIGILL"},
	      {SIGABRT, "SIGABRT"}};

#define PATIENCE 5 /* s */
#define FAULTS   (sizeof faults / sizeof *faults)

static struct sigaction before[FAULTS];
static int reported; /* atomic: the first fault is the one that matters */

/* ------------------------------------------------------------------------------------- text */

static void flush(struct coroi_text *t)
{
	if (write(2, t->at, t->n) < 0)
		return;
	t->n = 0;
}

/* ----------------------------------------------------------------------------------- frames */

#define FRAMES 64

struct frames {
	uintptr_t from; /* where the signal came: what is above it is the handler's */
	uintptr_t pc[FRAMES];
	int n;
	bool more;
};

static _Unwind_Reason_Code collect(struct _Unwind_Context *c, void *arg)
{
	struct frames *f = arg;
	int before_it = 0;
	uintptr_t pc = _Unwind_GetIPInfo(c, &before_it);

	if (f->n == 0 && pc != f->from)
		return _URC_NO_REASON;
	if (pc == 0 && f->n) /* what called the base of the stack */
		return _URC_NORMAL_STOP;
	f->more = f->n == FRAMES;
	if (f->more)
		return _URC_NORMAL_STOP;
	f->pc[f->n++] = before_it ? pc : pc - 1; /* of a call: within it, not after it */
	return _URC_NO_REASON;
}

static uintptr_t interrupted(const ucontext_t *u)
{
#if defined(__x86_64__)
	return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#else
	return (uintptr_t)u->uc_mcontext.pc;
#endif
}

/* caller - where a call went to no code at all, through a null pointer, say: nothing was pushed
 * since. */
static uintptr_t caller(const ucontext_t *u)
{
#if defined(__x86_64__)
	return *(uintptr_t *)u->uc_mcontext.gregs[REG_RSP] - 1;
#else
	return (uintptr_t)u->uc_mcontext.regs[30] - 1;
#endif
}

static void put_frame(struct coroi_text *t, uintptr_t pc)
{
	struct symbol s = {.pc = pc};

	do {
		cgoSymbolizer(&s);
		coroi_text_put(t, "\t");
		coroi_text_put(t, s.function ? s.function : "?");
		coroi_text_put(t, "\n\t\t");
		if (s.file) {
			coroi_text_put(t, s.file);
			coroi_text_put(t, ":");
			coroi_text_number(t, s.line, 10);
			coroi_text_put(t, " ");
		}
		coroi_text_put(t, "pc=");
		coroi_text_number(t, pc, 16);
		coroi_text_put(t, "\n");
		flush(t);
	} while (s.more);
}

/* ----------------------------------------------------------------------------------- report */

static void put_where(struct coroi_text *t, const struct coroi_where *at)
{
	if (at->fn) {
		struct symbol s = {.pc = at->fn};
		coroi_text_put(t, ", in a coroutine of function ");
		cgoSymbolizer(&s);
		if (s.function)
			coroi_text_put(t, s.function);
		else
			coroi_text_number(t, at->fn, 16);
	}
	if (at->handle) {
		coroi_text_put(t, ", handle ");
		coroi_text_number(t, at->handle, 16);
	}
	if (at->worker >= 0) {
		coroi_text_put(t, ", on worker ");
		coroi_text_number(t, (uint64_t)at->worker, 10);
	}
}

static void report(const char *name, const siginfo_t *info, const ucontext_t *u,
		   const struct coroi_where *at)
{
	struct coroi_text t = {.n = 0};
	struct frames f = {.from = interrupted(u)};

	coroi_text_put(&t, "coro: ");
	coroi_text_put(&t, name);
	if (info->si_code > 0) {
		coroi_text_put(&t, " at address ");
		coroi_text_number(&t, (uintptr_t)info->si_addr, 16);
	}
	flush(&t); /* before what may go wrong */
	put_where(&t, at);
	coroi_text_put(&t, "\n");
	flush(&t);
	_Unwind_Backtrace(collect, &f);
	if (f.n == 0)
		f.pc[f.n++] = f.from;
	if (f.n == 1 && info->si_addr == (void *)f.from)
		f.pc[f.n++] = caller(u);
	for (int i = 0; i < f.n; i++)
		put_frame(&t, f.pc[i]);
	if (f.more)
		coroi_text_put(&t, "\t...\n");
	flush(&t);
}

/* look - report what there is to be reported. */
static __attribute__((noinline)) void look(const char *name, const siginfo_t *info,
					   const ucontext_t *u)
{
	struct coroi_where at;

	/* From the kernel, or from abort and raise; not from another process. */
	if ((info->si_code <= 0 && info->si_code != SI_TKILL) || !coroi_where(&at))
		return;
	if (!__atomic_exchange_n(&reported, 1, __ATOMIC_SEQ_CST))
		report(name, info, u, &at);
	else
		/* the first ends the process, when it has said why */
		nanosleep(&(struct timespec){.tv_sec = PATIENCE}, NULL);
}

static void handler(int sig, siginfo_t *info, void *context)
{
	size_t i = 0;

	while (faults[i].number != sig)
		i++;
	look(faults[i].name, info, context);

	/* Tail calls, as in the core's: Go counts the frames between it and the kernel. */
	if (before[i].sa_flags & SA_SIGINFO)
		before[i].sa_sigaction(sig, info, context);
	else if (before[i].sa_handler != SIG_DFL && before[i].sa_handler != SIG_IGN)
		before[i].sa_handler(sig);
	else
		sigaction(sig, &before[i], NULL); /* the default, when it happens again */
}

void coroi_report_install(void)
{
	for (size_t i = 0; i < FAULTS; i++) {
		if (sigaction(faults[i].number, NULL, &before[i]))
			continue;
		struct sigaction now = before[i];
		now.sa_sigaction = handler;
		now.sa_flags = (before[i].sa_flags & ~SA_RESETHAND) | SA_SIGINFO | SA_ONSTACK;
		sigaction(faults[i].number, &now, NULL);
	}
}
