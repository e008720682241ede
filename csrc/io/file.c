//go:build ignore
/* file.c - see file.h. */
#include "io/file.h"

#include "base/sysio.h"
#include "io/blocking.h"

#include <errno.h>
#include <string.h>

/* A call on a file, as a thread of the pool makes it. */
struct job {
	int fd, n;
	const struct iovec *v;
	int64_t offset, result;
	enum { READ, WRITE, SYNC } what;
};

static int64_t file_call(const struct job *j, bool now)
{
	return j->what == WRITE ? coroi_sys_pwrite(j->fd, j->v, j->n, j->offset, now)
				: coroi_sys_pread(j->fd, j->v, j->n, j->offset, now);
}

static void file_job(void *arg)
{
	struct job *j = arg;

	j->result = j->what == SYNC ? coroi_sys_fsync(j->fd) : file_call(j, false);
}

static int64_t result_of(int64_t n)
{
	return n < 0 ? CORO_OF_ERRNO(-n) : n;
}

/* reported_as - the public function that has led to j. */
static coro_fn reported_as(const struct job *j)
{
	bool own = j->offset < 0; /* the file's own position */
	uintptr_t reads = own ? (uintptr_t)coro_read : (uintptr_t)coro_pread,
		  writes = own ? (uintptr_t)coro_write : (uintptr_t)coro_pwrite;

	return (coro_fn)(j->what == SYNC   ? (uintptr_t)coro_fsync
			 : j->what == READ ? reads
					   : writes);
}

/* by_thread - a thread makes the call of j, whose memory, buffers too, is the job's meanwhile. */
static int64_t by_thread(struct job *j)
{
	int status = coroi_blocking(file_job, j, reported_as(j));

	return status ? status : result_of(j->result);
}

/* A dense coroutine waits without its stack: the thread has buffers of its own. */
struct aside {
	struct job job;
	struct iovec v;
	unsigned char bytes[] __attribute__((aligned(16)));
};

#define ASIDE_MOST ((size_t)256 << 10) /* bytes of a call that is made so: it may be short */

/* copy - between the job's buffer and n buffers v. */
static void copy(struct aside *a, const struct iovec *v, int n, size_t bytes, bool in)
{
	size_t at = 0;

	for (int i = 0; i < n && at < bytes; i++) {
		size_t some = v[i].iov_len < bytes - at ? v[i].iov_len : bytes - at;
		if (some && in)
			memcpy(a->bytes + at, v[i].iov_base, some);
		else if (some)
			memcpy(v[i].iov_base, a->bytes + at, some);
		at += some;
	}
}

static int64_t by_thread_aside(const struct job *j)
{
	size_t bytes = 0;

	for (int i = 0; i < j->n && bytes < ASIDE_MOST; i++)
		bytes += j->v[i].iov_len < ASIDE_MOST ? j->v[i].iov_len : ASIDE_MOST;
	if (bytes > ASIDE_MOST)
		bytes = ASIDE_MOST;
	struct aside *a = coroi_aside_get(sizeof *a + bytes);
	if (!a)
		return CORO_ENOMEM;
	a->job = *j;
	a->v = (struct iovec){a->bytes, bytes};
	a->job.v = &a->v;
	a->job.n = 1;
	if (j->what == WRITE)
		copy(a, j->v, j->n, bytes, true);
	int64_t n = by_thread(&a->job);
	if (j->what == READ && n > 0)
		copy(a, j->v, j->n, (size_t)n, false);
	coroi_aside_put(a);
	return n;
}

static int64_t elsewhere(const struct job *j)
{
	struct job own = *j;

	return coroi_is_dense(coroi_current(coroi_self())) ? by_thread_aside(j) : by_thread(&own);
}

/* is_for_thread - the call at once has come to n, and a thread's may do better: the page cache has
 * not what is wanted, or the file system, the kernel or a filter does not know RWF_NOWAIT. */
static bool is_for_thread(int64_t n)
{
	return n < 0 &&
	       (n == -EAGAIN || n == -EOPNOTSUPP || n == -EINVAL || coroi_is_refused((int)-n));
}

int64_t coroi_file_transfer(struct coroi_slot *p, coro_fd f, bool writes, const struct iovec *v,
			    int n, int64_t offset)
{
	struct job j = {.fd = coroi_fd_number(f),
			.n = n,
			.v = v,
			.offset = offset,
			.what = writes ? WRITE : READ};

	int64_t now = at_load_rlx(&p->no_nowait) ? -EAGAIN : file_call(&j, true);
	if (!is_for_thread(now))
		return result_of(now);
	int64_t came = elsewhere(&j);
	/* of -EINVAL and -EPERM it is not known whether they mean this call, or its flag */
	if (now == -EOPNOTSUPP || now == -ENOSYS || (now == -EPERM && came >= 0))
		at_store_rlx(&p->no_nowait, 1);
	return came;
}

/* on_file - enter f for a call at an offset, or one that needs none (0). */
static int on_file(coro_fd f, int64_t offset, struct coroi_slot **p)
{
	if (offset < 0)
		return CORO_EINVAL;
	if (coroi_spend_here(coroi_here()))
		coroi_spent(CORO_FOREVER);
	int status = coroi_fd_enter_here(f, COROI_FD_REFERENCE, p);
	if (!status && (*p)->kind != COROI_KIND_FILE) {
		coroi_fd_leave(*p, f, COROI_FD_REFERENCE);
		status = CORO_OF_ERRNO(ESPIPE);
	}
	return status;
}

static int64_t at_offset(coro_fd f, bool writes, void *buffer, size_t bytes, int64_t offset)
{
	struct iovec v = {buffer, bytes};
	struct coroi_slot *p;
	int status = on_file(f, offset, &p);

	if (status)
		return status;
	int64_t n = coroi_file_transfer(p, f, writes, &v, 1, offset);
	if (n > 0 && (size_t)n < bytes) { /* what the page cache has, or the end */
		v = (struct iovec){(char *)buffer + n, bytes - (size_t)n};
		int64_t more = coroi_file_transfer(p, f, writes, &v, 1, offset + n);
		n += more > 0 ? more : 0;
	}
	coroi_fd_leave(p, f, COROI_FD_REFERENCE);
	return n;
}

int64_t coro_pread(coro_fd f, void *buffer, size_t bytes, int64_t offset)
{
	return at_offset(f, false, buffer, bytes, offset);
}

int64_t coro_pwrite(coro_fd f, const void *buffer, size_t bytes, int64_t offset)
{
	return at_offset(f, true, (void *)(uintptr_t)buffer, bytes, offset);
}

int coro_fsync(coro_fd f)
{
	struct coroi_slot *p;
	int status = on_file(f, 0, &p);

	if (status)
		return status;
	struct job j = {.fd = coroi_fd_number(f), .what = SYNC};
	status = (int)elsewhere(&j);
	coroi_fd_leave(p, f, COROI_FD_REFERENCE);
	return status;
}
