//go:build cgo && linux && (amd64 || arm64)
/*
 * report.c - see report.h.
 *
 * Everything here runs in the core's signal handler, but for the installing. The frames come from
 * libgcc's unwinder, which reads the unwind information of the C code and goes through the frame of
 * the signal; the base of a coroutine's stack ends it. The names come from libbacktrace, through
 * the function that cgosymbolizer gives to Go's runtime.
 */
#include "report.h"

#include "base/fault.h"
#include "base/sys.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
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

#define PATIENCE_MS 5000

static int busy; /* atomic: a thread writes its frames */

/* ----------------------------------------------------------------------------------- frames */

#define FRAMES_MOST 64

static void put_frame(uintptr_t pc)
{
	struct symbol s = {.pc = pc};

	do {
		struct coroi_text t = {.n = 0};
		cgoSymbolizer(&s);
		coroi_text_put(&t, "\t");
		coroi_text_put(&t, s.function ? s.function : "?");
		coroi_text_put(&t, "\n\t\t");
		if (s.file) {
			coroi_text_put(&t, s.file);
			coroi_text_put(&t, ":");
			coroi_text_number(&t, s.line, 10);
			coroi_text_put(&t, " ");
		}
		coroi_text_put(&t, "pc=");
		coroi_text_number(&t, pc, 16);
		coroi_text_put(&t, "\n");
		coroi_say(t.at, t.n);
	} while (s.more);
}

struct frames {
	uintptr_t from; /* where the signal came: what is above it is the handler's */
	int n;
};

/* put_next - write the next frame at once: the one after it may be destroyed, and end us. */
static _Unwind_Reason_Code put_next(struct _Unwind_Context *c, void *arg)
{
	struct frames *f = arg;
	int before_it = 0;
	uintptr_t pc = _Unwind_GetIPInfo(c, &before_it);

	if (f->n == 0 && pc != f->from)
		return _URC_NO_REASON;
	if (pc == 0) /* what called the base of the stack */
		return _URC_NORMAL_STOP;
	if (f->n++ == FRAMES_MOST) {
		coroi_say("\t...\n", 5);
		return _URC_NORMAL_STOP;
	}
	put_frame(before_it ? pc : pc - 1); /* of a call: within it, not after it */
	return _URC_NO_REASON;
}

/* ----------------------------------------------------------------------------------- report */

/* name - the name of the function that begins at fn. */
static const char *name(uintptr_t fn)
{
	struct symbol s = {.pc = fn};

	cgoSymbolizer(&s);
	return s.function;
}

/* begin - have other threads wait that have a fault now, too: the first one ends the process, when
 * it has written its frames. False: another thread does not come to an end with its own. */
static bool begin(void)
{
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		if (!__atomic_exchange_n(&busy, 1, __ATOMIC_SEQ_CST))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

static void write_frames(const siginfo_t *info, const ucontext_t *u)
{
	struct frames f = {.from = coroi_fault_pc(u)};

	if (!begin())
		return;
	if (coroi_fault_jumped(info, u)) { /* the unwinder would look at the code there */
		put_frame(f.from);
		put_frame(coroi_fault_return(u) - 1);
	} else {
		_Unwind_Backtrace(put_next, &f);
		if (f.n == 0)
			put_frame(f.from);
	}
	__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
}

void coroi_report_install(void)
{
	static const struct coroi_fault_reader reader = {.name = name, .frames = write_frames};

	coroi_fault_reader = &reader;
}
