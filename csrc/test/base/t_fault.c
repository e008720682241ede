/*
 * t_fault.c - the line that reports a fault, and how the process ends. Each fault is a child's.
 * internal/hard/crash_test.go does the same in a Go program, and t_probe.c with handlers that were there before.
 */
#include "../test.h"

#include "base/fault.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNSANITIZED __attribute__((noinline, no_sanitize("address", "undefined", "thread")))

/* child - run(arg) in a child. Returns its status and its text. */
static int child(void (*run)(void *), void *arg, char *text, size_t bytes)
{
	struct rlimit none = {0, 0};
	int fd;
	pid_t pid = child_start(&fd);

	if (pid == 0) {
		alarm(60);
		setrlimit(RLIMIT_CORE, &none);
		run(arg);
		_exit(0);
	}
	return child_end(pid, fd, text, bytes);
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* run_one - a scheduler with one coroutine. */
static void run_one(void *fn)
{
	coro_scheduler *s = start_with(1, 0);
	spawn(s, (coro_fn)fn, NULL, 0);
	coro_scheduler_wait(s);
}

/* --------------------------------------------------------------------------- kinds of faults */

static UNSANITIZED void strays(void *arg, void *result)
{
	volatile char *nowhere = arg ? arg : (char *)16;

	(void)result;
	__asm__("" : "+r"(nowhere));
	*nowhere = 1;
}

static UNSANITIZED void is_illegal(void *arg, void *result)
{
	(void)arg;
	(void)result;
#if defined(__x86_64__)
	__asm__ volatile("ud2");
#else
	__asm__ volatile(".inst 0");
#endif
}

/* On amd64 the instruction is not repeated: it is over when the signal comes. */
static UNSANITIZED void traps(void *arg, void *result)
{
	(void)arg;
	(void)result;
#if defined(__x86_64__)
	__asm__ volatile("int3");
#else
	__asm__ volatile("brk #0");
#endif
}

static void aborts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	abort();
}

static UNSANITIZED void jumps(void *arg, void *result)
{
	void (*volatile nobody)(void) = NULL;

	(void)arg;
	(void)result;
	nobody();
	__asm__ volatile(""); /* not a tail call */
}

TEST(fault_of_each_kind_has_its_line)
{
	static const struct {
		coro_fn fn;
		int sig;
		const char *line;
	} kinds[] = {
		{strays, SIGSEGV, "coro: SIGSEGV at address 0x10, pc 0x"},
		{is_illegal, SIGILL, "coro: SIGILL, pc 0x"},
		{traps, SIGTRAP, "coro: SIGTRAP, pc 0x"},
		{aborts, SIGABRT, "coro: SIGABRT, pc 0x"},
		{jumps, SIGSEGV,
		 "coro: SIGSEGV at address 0x0, pc 0x0 (no code is there), return address 0x"},
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		char text[4096], want[128];
		int status = child(run_one, (void *)kinds[i].fn, text, sizeof text);
		CHECK(WIFSIGNALED(status));
		CHECK_EQ(WTERMSIG(status), kinds[i].sig);
		CHECK(strstr(text, kinds[i].line));
		CHECK_EQ(count(text, "coro: "), 1);
		snprintf(want, sizeof want,
			 ", in the coroutine of function 0x%llx, handle 0x100000001, on worker 0 "
			 "of scheduler coro\n",
			 (unsigned long long)(uintptr_t)kinds[i].fn);
		CHECK(strstr(text, want));
	}
}

/* What was sent is no fault. */
static void is_sent(void *arg, void *result)
{
	(void)arg;
	(void)result;
	raise(SIGILL);
}

TEST(fault_that_was_sent_has_none)
{
	char text[4096];
	int status = child(run_one, (void *)is_sent, text, sizeof text);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL);
	CHECK_EQ(count(text, "coro: "), 0);
}

/* A thread that has nothing to do with coroutines. */
static void strays_outside(void *arg)
{
	coro_scheduler *s = start_with(1, 0);

	(void)s;
	strays(arg, NULL);
}

TEST(fault_outside_has_none)
{
	char text[4096];
	int status = child(strays_outside, NULL, text, sizeof text);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK_EQ(count(text, "coro: "), 0);
}

/* ------------------------------------------------------------------------------------- names */

static void strays_named(void *arg)
{
	const char *name = arg;

	CHECK_EQ(coroi_fault_name((uintptr_t)strays, "a longer name", 13), CORO_OK);
	CHECK_EQ(coroi_fault_name((uintptr_t)traps, "another", 7), CORO_OK);
	CHECK_EQ(coroi_fault_name((uintptr_t)strays, name, strlen(name)), CORO_OK);
	run_one((void *)strays);
}

/* A function that has a name needs no more memory for another. */
TEST(fault_name_needs_memory_once)
{
	fail_alloc = 0;
	CHECK_EQ(coroi_fault_name(1, "one", 3), CORO_ENOMEM);
	CHECK_EQ(coroi_fault_name(1, "one", 3), CORO_OK);
	fail_alloc = 0;
	CHECK_EQ(coroi_fault_name(1, "uno", 3), CORO_OK);
	fail_alloc = -1;
}

TEST(fault_names_the_function)
{
	char text[4096], name[100] = {0}, want[200];

	CHECK(WIFSIGNALED(child(strays_named, "name", text, sizeof text)));
	CHECK(strstr(text, ", in the coroutine of function name, handle 0x"));
	memset(name, 'n', sizeof name - 1);
	CHECK(WIFSIGNALED(child(strays_named, name, text, sizeof text)));
	snprintf(want, sizeof want, "of function %.*s, handle", COROI_FAULT_NAME, name);
	CHECK(strstr(text, want));
}

/* ------------------------------------------------------------------------- code that is not C */

/* The runtime of a language is left alone with what happens in its code. */
static void strays_in_own_code(void *arg)
{
	uintptr_t at = (uintptr_t)strays;

	(void)arg;
	coroi_fault_code((struct coroi_code){at, at + 256}, (struct coroi_code){0, 0});
	run_one((void *)strays);
}

/* A leaf is what this calls. */
static UNSANITIZED void calls_a_leaf(void *arg)
{
	strays(arg, NULL);
	__asm__ volatile(""); /* not a tail call */
}

static void strays_in_a_leaf(void *arg)
{
	uintptr_t at = (uintptr_t)calls_a_leaf;

	coroi_fault_install();
	coroi_fault_code((struct coroi_code){1, 2}, (struct coroi_code){at, at + 64});
	calls_a_leaf(arg);
}

TEST(fault_in_the_code_of_a_language_has_none)
{
	char text[4096];
	int status = child(strays_in_own_code, NULL, text, sizeof text);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK_EQ(count(text, "coro: "), 0);
}

TEST(fault_in_a_leaf_has_a_line)
{
	char text[4096];
	int status = child(strays_in_a_leaf, NULL, text, sizeof text);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(strstr(text, ", in a call by Go of a channel, semaphore, lock or wait group that is "
			   "no valid one"));
}

/* A thread without a stack is looked at, too: what is not there is not read. */
TEST(fault_peeks_at_memory_that_may_be_missing)
{
	size_t page = coroi_page();
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	char got[16];

	CHECK_EQ(mprotect(two + page, page, PROT_NONE), 0);
	memcpy(two + page - 4, "text", 4);
	/* An emulator or a sandbox may lack the call: then nothing is read. */
	struct iovec to = {got, 4}, from = {two + page - 4, 4};
	bool readable = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 4;
	memset(got, 0, sizeof got);
	errno = 7;
	CHECK_EQ(coroi_peek(got, (uintptr_t)(two + page - 4), 4), readable ? 4 : 0);
	CHECK(!readable || memcmp(got, "text", 4) == 0);
	CHECK(coroi_peek(got, (uintptr_t)(two + page - 4), 8) <= 4);
	CHECK_EQ(coroi_peek(got, (uintptr_t)(two + page), 8), 0);
	CHECK_EQ(coroi_peek(got, 16, 8), 0);
	CHECK_EQ(errno, 7);
	munmap(two, 2 * page);
}

/* ------------------------------------------------------------------------ handlers that mend */

#define PAGES 40

static char *page_of[PAGES];

static void mends(int sig, siginfo_t *info, void *context)
{
	size_t page = coroi_page();

	(void)sig;
	(void)context;
	CHECK_EQ(mprotect((void *)((uintptr_t)info->si_addr & ~(page - 1)), page,
			  PROT_READ | PROT_WRITE),
		 0);
}

static void touches(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < PAGES; i++)
		strays(page_of[i], NULL);
}

static void is_mended(void *arg)
{
	struct sigaction a = {.sa_sigaction = mends, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	size_t page = coroi_page();

	CHECK_EQ(sigaction(SIGSEGV, &a, NULL), 0);
	char *all = mmap(NULL, PAGES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < PAGES; i++)
		page_of[i] = all + (size_t)i * page;
	run_one(arg);
	for (int i = 0; i < PAGES; i++)
		CHECK_EQ(*page_of[i], 1);
}

/* The coroutine goes on, and the lines come to an end. */
TEST(fault_that_is_mended)
{
	char text[16384];
	int status = child(is_mended, (void *)touches, text, sizeof text);

	CHECK_EQ(status, 0);
	CHECK_EQ(count(text, "coro: SIGSEGV at address 0x"), 16);
}

/* ------------------------------------------------------------------------- what a thread does */

static struct coroi_where seen_there;
static coro_handle whose;

static void looks(void *arg)
{
	(void)arg;
	CHECK(coroi_where(&seen_there));
}

static void looks_here_and_there(void *arg, void *result)
{
	struct coroi_where here;
	uintptr_t me = (uintptr_t)looks_here_and_there;

	(void)arg;
	(void)result;
	whose = coro_self();
	CHECK(coroi_where(&here));
	CHECK(here.worker == 0 && here.fn == me && here.handle == whose && here.stack);
	CHECK(!here.what && strcmp(here.scheduler, "coro") == 0);
	CHECK_EQ(coro_blocking(looks, NULL), CORO_OK);
	CHECK(seen_there.worker == -1 && seen_there.fn == me && seen_there.handle == whose);
	CHECK(!seen_there.stack && strstr(seen_there.what, "coro_blocking"));
	CHECK(strcmp(seen_there.scheduler, "coro") == 0);
	CHECK_EQ(coro_thread_begin(), CORO_OK);
	looks(NULL);
	CHECK(seen_there.worker == -1 && seen_there.fn == me && seen_there.handle == whose);
	CHECK(seen_there.stack && strstr(seen_there.what, "coro_thread_begin"));
	CHECK_EQ(coro_thread_end(), CORO_OK);
	CHECK(coroi_where(&here));
	CHECK(here.worker == 0 && here.handle == whose && !here.what);
}

TEST(fault_knows_what_a_thread_does)
{
	struct coroi_where at;
	coro_scheduler *s = start_with(1, 0);

	spawn(s, looks_here_and_there, NULL, 0);
	finish(s);
	CHECK(whose);
	CHECK(!coroi_where(&at));
}
