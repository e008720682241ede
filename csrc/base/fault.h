/*
 * fault.h - the report of a fault: one line on stderr that says which coroutine ran, before the
 * process ends.
 *
 * The faults are SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP where the kernel has caused them, and
 * SIGABRT by abort(3). The threads are those that coro has made, and those on which a coroutine
 * runs. A stack overflow is a SIGSEGV in the guard of the stack that is in use.
 */
#ifndef COROI_FAULT_H
#define COROI_FAULT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct coroi_stack;

/* coroi_fault_install - install handlers for these signals, once in a process. To be called after
 * the language's runtime has installed its own. Thread: any. */
void coroi_fault_install(void);

/* Code at the addresses from `from` on, and before `to`. */
struct coroi_code {
	uintptr_t from, to;
};

/* coroi_fault_code - name code that is not C. `own` is that of the language: what faults there is
 * the runtime's business, which may recover from it, and is not reported. `leaf` calls leaves, C
 * functions that run on a stack of the language: what faults in one is reported. To be called once,
 * before other threads use the core. */
void coroi_fault_code(struct coroi_code own, struct coroi_code leaf);

/* coroi_fault_name - the name by which reports call a function. They show its first
 * COROI_FAULT_NAME bytes. A later name takes the place of an earlier one. What is stored is never
 * freed. Returns CORO_OK or CORO_ENOMEM. Thread: any. */
#define COROI_FAULT_NAME 63
int coroi_fault_name(uintptr_t fn, const char *name, size_t bytes);

/* coroi_fault_named - copy the name that a function has so into text, which has room for bytes of
 * them, 1 or more. Returns the length of the name; 0: it has none. Thread: any. */
size_t coroi_fault_named(uintptr_t fn, char *text, size_t bytes);

/* What somebody who can read the program's symbols adds. Both are called by the handler. */
struct coroi_fault_reader {
	const char *(*name)(uintptr_t fn); /* the name of a function; NULL: not known */
	void (*frames)(const siginfo_t *info, const ucontext_t *context); /* after the line */
};
extern const struct coroi_fault_reader *coroi_fault_reader; /* NULL: nobody; set before main */

/* coroi_fault_pc - the instruction that was interrupted. coroi_fault_jumped - the thread has gone
 * to an address where no code is. coroi_fault_return - where it would return to then, if it has
 * come there by a call. */
static inline uintptr_t coroi_fault_pc(const ucontext_t *u)
{
#if defined(__x86_64__)
	return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#else
	return (uintptr_t)u->uc_mcontext.pc;
#endif
}

static inline uintptr_t coroi_fault_sp(const ucontext_t *u)
{
#if defined(__x86_64__)
	return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#else
	return (uintptr_t)u->uc_mcontext.sp;
#endif
}

static inline bool coroi_fault_jumped(const siginfo_t *info, const ucontext_t *u)
{
	return info->si_signo == SIGSEGV && info->si_code > 0 &&
	       (uintptr_t)info->si_addr == coroi_fault_pc(u);
}

uintptr_t coroi_fault_return(const ucontext_t *u);

/* What a thread is doing. */
struct coroi_where {
	int worker;            /* -1: the thread is no worker */
	const char *scheduler; /* of the worker, or of the coroutine; NULL: none */
	/* how the thread has to do with the coroutine; NULL: the coroutine runs on it */
	const char *what;
	uintptr_t fn;    /* function of the innermost coroutine; 0: no coroutine runs */
	uint64_t handle; /* handle of that coroutine; 0: it is manual, or dispatched */
	/* the stack of that coroutine; NULL: no coroutine runs, or its stack is not known, as it is
	 * a dense one that is still to be copied in */
	const struct coroi_stack *stack;
};

/* coroi_where - tell what this thread is doing. False: nothing with coroutines.
 * Async-signal-safe. */
bool coroi_where(struct coroi_where *at);

#endif
