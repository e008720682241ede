/*
 * t_filter.c - filters of system calls (seccomp) that are older than a call, and answer it with
 * EPERM: the core does without the call, as where the kernel does not know it.
 */
#include "fds.h"

#include "base/sysio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* refuse - from now on the system call `number` fails with `with` in all threads. False: filters
 * are not to be had here. */
static bool refuse(long number, int with)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)with),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p) == 0)
		return true;
	report("no filter of system calls here");
	return false;
}

/* ------------------------------------------------------------------------------------ sleeping */

static struct pair pair;

static void waits(void *arg, void *result)
{
	char byte;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_read(pair.a, &byte, 1, coro_now() + 1000 * MS), CORO_ETIMEDOUT);
}

static void sleeps_in_its_set(int with)
{
	struct rusage before, after;

	if (!refuse(SYS_epoll_pwait2, with))
		return;
	coro_scheduler *s = start_with(1, 0);
	pair = pair_of(s);
	spawn(s, waits, NULL, 0);
	until_waiting(s, 1);
	getrusage(RUSAGE_SELF, &before);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	getrusage(RUSAGE_SELF, &after);
	CHECK(after.ru_nvcsw - before.ru_nvcsw < 30); /* 250 of naps */
	pair_close(&pair);
	finish(s);
}

TEST(filter_refuses_epoll_pwait2)
{
	sleeps_in_its_set(EPERM);
}

TEST(filter_does_not_know_epoll_pwait2)
{
	sleeps_in_its_set(ENOSYS);
}

/* --------------------------------------------------------------------------------------- files */

static uint64_t done;

static void reads_and_writes(void *arg, void *result)
{
	char path[] = "/tmp/coro-filter-XXXXXX", bytes[20];
	int fd = mkstemp(path);
	struct iovec v[2] = {{bytes, 3}, {bytes + 3, 17}};
	coro_fd f;

	(void)arg;
	(void)result;
	CHECK(fd >= 0);
	unlink(path);
	CHECK_EQ(coro_fd_adopt(&f, fd, 0), CORO_OK);
	CHECK_EQ(coro_write(f, "0123456789", 10, CORO_FOREVER), 10);
	CHECK_EQ(coro_pwrite(f, "ab", 2, 4), 2);
	for (int i = 0; i < 2; i++) { /* the second time it is known */
		CHECK_EQ(coro_pread(f, bytes, sizeof bytes, 0), 10);
		CHECK_EQ(memcmp(bytes, "0123ab6789", 10), 0);
	}
	CHECK_EQ(lseek(fd, 4, SEEK_SET), 4);
	CHECK_EQ(coro_readv(f, v, 2, CORO_FOREVER), 6);
	CHECK_EQ(memcmp(bytes, "ab6789", 6), 0);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	add_one(&done);
}

static void files_go_on(long number, int with)
{
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};

	if (!refuse(number, with))
		return;
	coro_scheduler *s = start_with(1, 0);
	run_alone(s, NULL, reads_and_writes);
	s = start_with(1, 0);
	run_alone(s, &dense, reads_and_writes);
	CHECK_EQ(seen(&done), 2);
}

TEST(filter_refuses_preadv2)
{
	files_go_on(SYS_preadv2, EPERM);
}

TEST(filter_refuses_pwritev2)
{
	files_go_on(SYS_pwritev2, EPERM);
}

TEST(filter_does_not_know_preadv2)
{
	files_go_on(SYS_preadv2, ENOSYS);
}

/* An EPERM that is the file's own comes to the caller, and costs later calls nothing. */
static void writes_sealed(void *arg, void *result)
{
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char bytes[4];
	coro_fd f;

	(void)arg;
	(void)result;
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "abcd", 4), 4);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	CHECK_EQ(coro_fd_adopt(&f, fd, 0), CORO_OK);
	CHECK_EQ(coro_pwrite(f, "ab", 2, 0), CORO_OF_ERRNO(EPERM));
	CHECK_EQ(coro_pread(f, bytes, 4, 0), 4);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
}

TEST(filter_is_not_taken_for_a_seal)
{
	coro_scheduler *s = start_with(1, 0);

	run_alone(s, NULL, writes_sealed);
}

/* --------------------------------------------------------------------------------- membarrier */

static void yields(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&done);
}

/* A filter that comes after the start of the process, and before the scheduler. */
TEST(filter_refuses_membarrier)
{
	if (!refuse(SYS_membarrier, EPERM))
		return;
	coro_scheduler *s = start_with(2, 0);
	CHECK_EQ(stats(s).membarrier, 0);
	for (int i = 0; i < 100; i++)
		spawn(s, yields, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 100);
	finish(s);
}
