//go:build ignore
/*
 * fault.c - see fault.h.
 *
 * The handler runs on the thread's alternate signal stack. It makes system calls alone (it writes,
 * and reads memory that may not be there), and then passes the signal on to the handler that was
 * installed before. In a Go program that is Go's handler. On a thread of Go's, and on a worker that
 * has been in Go, Go's handler prints its own report and exits. Another worker is unknown to Go:
 * there the process dies of the signal after our line.
 *
 * A handler that was installed before may mend the fault, and the thread goes on. Or it may not,
 * and the fault comes again: Go's does not end a worker if the program asks for SIGSEGV by
 * signal.Notify. So the number of lines is bounded.
 */
#include "base/fault.h"

#include "base/current.h"
#include "base/extras.h"
#include "base/list.h"
#include "base/text.h"

#include <string.h>

#define LINES_MOST 16
#define LEAF_STACK 1088 /* what a leaf may use (sync/gowait.h), and some for what calls it */

static struct fault {
	int sig;
	const char *name;
	struct sigaction before;
} faults[] = {{.sig = SIGSEGV, .name = "SIGSEGV"}, {.sig = SIGBUS, .name = "SIGBUS"},
	      {.sig = SIGFPE, .name = "SIGFPE"},   {.sig = SIGILL, .name = "SIGILL"},
	      {.sig = SIGTRAP, .name = "SIGTRAP"}, {.sig = SIGABRT, .name = "SIGABRT"}};

#define FAULTS (sizeof faults / sizeof *faults)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t lines; /* atomic */

static struct coroi_code own, leaf;
const struct coroi_fault_reader *coroi_fault_reader;

void coroi_fault_code(struct coroi_code own_code, struct coroi_code leaf_code)
{
	own = own_code;
	leaf = leaf_code;
}

static bool within(const struct coroi_code *c, uintptr_t pc)
{
	return pc >= c->from && pc < c->to;
}

/* -------------------------------------------------------------------------------------- names */

struct name {
	struct name *next;
	uintptr_t fn;
	char text[COROI_FAULT_NAME + 1];
};

static struct name *names; /* atomic; names are added, never removed */
static struct coroi_lock names_lock;

static struct name *find(uintptr_t fn)
{
	struct name *n = at_load_acq(&names);

	while (n && n->fn != fn)
		n = n->next;
	return n;
}

int coroi_fault_name(uintptr_t fn, const char *text, size_t bytes)
{
	int status = CORO_OK;

	coroi_lock(&names_lock);
	struct name *n = find(fn), *fresh = NULL;
	if (!n && !(n = fresh = coroi_alloc(sizeof *n, sizeof(void *)))) {
		status = CORO_ENOMEM;
	} else {
		n->fn = fn;
		memset(n->text, 0, sizeof n->text);
		memcpy(n->text, text,
		       strnlen(text, bytes < COROI_FAULT_NAME ? bytes : COROI_FAULT_NAME));
		if (fresh)
			/* a release, pairs with find: the name is seen whole */
			coroi_lifo_push(&names, fresh, fresh->next);
	}
	coroi_unlock(&names_lock);
	return status;
}

size_t coroi_fault_named(uintptr_t fn, char *text, size_t bytes)
{
	coroi_lock(&names_lock); /* a later name may be about to take its place */
	const struct name *n = find(fn);
	size_t length = coroi_text_get(n ? n->text : NULL, text, bytes);
	coroi_unlock(&names_lock);
	return length;
}

/* --------------------------------------------------------------------------------------- where */

bool coroi_where(struct coroi_where *at)
{
	struct coroi_where outer = {.worker = -1};
	bool any = false;

	for (int i = COROI_LAYER_SCHEDULED; !any && i < COROI_LAYERS; i++)
		any = coroi_layer[i] && coroi_layer[i]->where(&outer);
	for (int i = 0; i < COROI_LAYER_SCHEDULED; i++) {
		*at = (struct coroi_where){.worker = outer.worker, .scheduler = outer.scheduler};
		if (coroi_layer[i] && coroi_layer[i]->where(at))
			return true;
	}
	*at = outer;
	return any;
}

uintptr_t coroi_fault_return(const ucontext_t *u)
{
#if defined(__x86_64__)
	uintptr_t word = 0; /* nothing was pushed since the call */
	coroi_peek(&word, coroi_fault_sp(u), sizeof word);
	return word;
#else
	return (uintptr_t)u->uc_mcontext.regs[30];
#endif
}

/* in_a_leaf - was a leaf interrupted? Then the address that it returns to is a word of the stack,
 * no farther up than leaves use the stack, or is in a register. */
static COROI_NOINLINE bool in_a_leaf(const ucontext_t *u)
{
	uintptr_t word[LEAF_STACK / sizeof(uintptr_t)];

	if (!leaf.to)
		return false;
#if defined(__aarch64__)
	if (within(&leaf, (uintptr_t)u->uc_mcontext.regs[30]))
		return true;
#endif
	size_t n = coroi_peek(word, coroi_fault_sp(u) & ~(sizeof *word - 1), sizeof word);
	for (size_t i = 0; i < n / sizeof *word; i++)
		if (within(&leaf, word[i]))
			return true;
	return false;
}

/* ------------------------------------------------------------------------------------ the line */

static void flush(struct coroi_text *t)
{
	coroi_say(t->at, t->n);
	t->n = 0;
}

static void put_function(struct coroi_text *t, uintptr_t fn)
{
	const struct name *n = find(fn);
	const char *text = n ? n->text : NULL;

	if (!text && coroi_fault_reader) {
		flush(t); /* before what may go wrong */
		text = coroi_fault_reader->name(fn);
	}
	if (text)
		coroi_text_put(t, text);
	else
		coroi_text_number(t, fn, 16);
}

static void put_where(struct coroi_text *t, const struct coroi_where *at)
{
	if (at->what) {
		coroi_text_put(t, ", ");
		coroi_text_put(t, at->what);
	}
	if (at->fn) {
		coroi_text_put(t, at->what ? " " : ", in ");
		coroi_text_put(t, "the coroutine of function ");
		put_function(t, at->fn);
	}
	if (at->handle) {
		coroi_text_put(t, ", handle ");
		coroi_text_number(t, at->handle, 16);
	}
	if (at->worker >= 0) {
		coroi_text_put(t, ", on worker ");
		coroi_text_number(t, (uint64_t)at->worker, 10);
	}
	if (at->scheduler) {
		coroi_text_put(t, at->worker >= 0 ? " of scheduler " : ", scheduler ");
		coroi_text_put(t, at->scheduler);
	}
}

static bool in_guard(const struct coroi_stack *s, const char *p)
{
	return s && p < s->low && p >= s->low - COROI_GUARD_BYTES;
}

static void put_fault(struct coroi_text *t, const struct fault *f, const siginfo_t *info,
		      const ucontext_t *u)
{
	coroi_text_put(t, f->name);
	/* SI_KERNEL: the kernel does not know the address, as of one that no machine has */
	if ((f->sig == SIGSEGV || f->sig == SIGBUS) && info->si_code != SI_KERNEL) {
		coroi_text_put(t, " at address ");
		coroi_text_number(t, (uintptr_t)info->si_addr, 16);
	}
	coroi_text_put(t, ", pc ");
	coroi_text_number(t, coroi_fault_pc(u), 16);
	if (coroi_fault_jumped(info, u)) {
		coroi_text_put(t, " (no code is there), return address ");
		coroi_text_number(t, coroi_fault_return(u), 16);
	}
}

static void report(const struct fault *f, const siginfo_t *info, const ucontext_t *u,
		   const struct coroi_where *at)
{
	struct coroi_text t = {.n = 0};
	bool overflow = f->sig == SIGSEGV && at && in_guard(at->stack, info->si_addr);

	coroi_text_put(&t, "coro: ");
	if (overflow)
		coroi_text_put(&t, "stack overflow: ");
	put_fault(&t, f, info, u);
	if (at)
		put_where(&t, at);
	else
		coroi_text_put(&t, ", in a call by Go of a channel, semaphore, lock or wait group "
				   "that is no valid one: a zero value, a copy, or overwritten");
	if (overflow) {
		coroi_text_put(&t, ": its stack of ");
		coroi_text_number(&t, coroi_stack_class_bytes(at->stack->class) >> 10, 10);
		coroi_text_put(&t, " KiB is used up; give it a larger one, or call what is deep "
				   "through coro_call_on_stack");
	}
	coroi_text_put(&t, "\n");
	flush(&t);
	if (coroi_fault_reader)
		coroi_fault_reader->frames(info, u);
}

static COROI_NOINLINE void look(const struct fault *f, const siginfo_t *info, const ucontext_t *u)
{
	struct coroi_where at;

	/* From the kernel, or from abort; not sent by anybody. */
	if (info->si_code <= 0 && (f->sig != SIGABRT || info->si_code != SI_TKILL))
		return;
	if (within(&own, coroi_fault_pc(u)))
		return;
	bool coroutine = coroi_where(&at);
	if ((coroutine || in_a_leaf(u)) && at_add(&lines, 1) <= LINES_MOST)
		report(f, info, u, coroutine ? &at : NULL);
}

/* ---------------------------------------------------------------------------------- the handler */

static void handler(int sig, siginfo_t *info, void *context)
{
	struct fault *f = faults;

	while (f->sig != sig)
		f++;
	look(f, info, context);

	/* Tail calls: the handler before ours sees the stack as if the kernel had called it. Go's
	 * handler counts frames. */
	const struct sigaction *before = &f->before;
	if (before->sa_flags & SA_SIGINFO) {
		before->sa_sigaction(sig, info, context);
	} else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
		before->sa_handler(sig);
	} else if (info->si_code > 0 && sig != SIGTRAP) {
		/* The default action: when we return, the access is repeated, and ends the
		 * process. */
		coroi_signal(sig, before, NULL);
	} else if (info->si_code > 0 || before->sa_handler == SIG_DFL) {
		static const struct sigaction deadly = {.sa_handler = SIG_DFL};
		coroi_signal(sig, &deadly, NULL);
		raise(sig); /* the cause does not come again: the signal does when we return */
	}
}

static void install(void)
{
	for (struct fault *f = faults; f < faults + FAULTS; f++) {
		struct sigaction now;
		if (!coroi_signal(f->sig, NULL, &f->before))
			continue;
		now = f->before;
		now.sa_sigaction = handler;
		now.sa_flags = (f->before.sa_flags & ~SA_RESETHAND) | SA_SIGINFO | SA_ONSTACK;
		coroi_signal(f->sig, &now, NULL);
	}
}

void coroi_fault_install(void)
{
	pthread_once(&once, install);
}
