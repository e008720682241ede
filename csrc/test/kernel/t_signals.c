/*
 * t_signals.c - coro_unblock_signals: programs that bodies start hear signals.
 */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool is_blocked(int signal)
{
	sigset_t now;

	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	return sigismember(&now, signal) == 1;
}

/* ends_it - does SIGTERM end a program that is started here? */
static bool ends_it(void)
{
	char *argv[] = {"sleep", "60", NULL};
	pid_t pid;
	int status;

	CHECK_EQ(posix_spawnp(&pid, "sleep", NULL, NULL, argv, environ), 0);
	CHECK_EQ(kill(pid, SIGTERM), 0);
	for (int i = 0; i < 50; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
		sleep_us(2000);
	}
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return false;
}

static void starts_one(void *arg)
{
	CHECK(!is_blocked(SIGTERM) && !is_blocked(SIGINT) && !is_blocked(SIGPIPE));
	*(bool *)arg = ends_it();
}

static void starts_two(void *arg)
{
	bool heard = true;

	(void)arg;
	CHECK(is_blocked(SIGTERM));
	CHECK(!ends_it());
	CHECK_EQ(coro_unblock_signals(starts_one, &heard), CORO_OK);
	CHECK(heard);
	CHECK(is_blocked(SIGTERM) && is_blocked(SIGPIPE));
}

static void body(void *arg, void *result)
{
	(void)result;
	starts_two(arg);
	CHECK_EQ(coro_blocking(starts_two, arg), CORO_OK);
}

TEST(signals_are_heard_by_programs)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, body, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

static void nothing(void *arg)
{
	(*(int *)arg)++;
}

/* A write to a broken pipe leaves a SIGPIPE pending on a worker. It ends nobody later. */
static void breaks_a_pipe(void *arg, void *result)
{
	int ends[2], called = 0;
	sigset_t pending;

	(void)arg;
	(void)result;
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(close(ends[0]), 0);
	CHECK_EQ(write(ends[1], "", 1), -1);
	CHECK_EQ(errno, EPIPE);
	CHECK_EQ(close(ends[1]), 0);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(sigismember(&pending, SIGPIPE));
	CHECK_EQ(coro_unblock_signals(nothing, &called), CORO_OK);
	CHECK_EQ(called, 1);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(!sigismember(&pending, SIGPIPE));
}

static void waits(void *status)
{
	*(int *)status = coro_yield();
}

static void waits_inside(void *arg, void *result)
{
	int status = 77;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_unblock_signals(waits, &status), CORO_OK);
	CHECK_EQ(status, CORO_ENOWAIT);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_unblock_signals(NULL, &status), CORO_EINVAL);
}

TEST(signals_of_broken_pipes_and_waits_inside)
{
	coro_scheduler *s = start_with(1, 0);
	int called = 0;

	spawn(s, breaks_a_pipe, NULL, 0);
	spawn(s, waits_inside, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
	CHECK_EQ(coro_unblock_signals(nothing, &called), CORO_OK); /* any thread */
	CHECK_EQ(called, 1);
	CHECK(!is_blocked(SIGTERM));
}
