/*
 * coro_stream.h - streams of bytes between Go and C, and between coroutines. A part of coro.h.
 *
 * A stream has two ends, and each end two directions. What is written at one end is read at the
 * other, in order. Each direction holds a number of bytes at most: a write waits for room, a read
 * for bytes. One end of a stream that Go has made (coro.NewStream) is Go's, an io.Reader and an
 * io.Writer. The other end is C's: an argument of a body.
 *
 *   Ends         A direction is ended by its writer, and refused by its reader: coro_stream_close.
 *                The other end is told a code. A reader gets what was written before first.
 *   Memory       An end is its user's until coro_stream_free. The bytes of a direction are
 *                allocated by its first write, and freed once both ends have closed it, or
 *                with the stream, if a call used it then.
 *   Thread       Any, of any scheduler. One call reads and one writes at an end at a time.
 *   Deadlines, Cancel  As in coro_sync.h. With a deadline of 0 a call does what can be done at
 *                once.
 *   Cost         Some ns and the copy, where nothing is to be waited for. A reader that waits is
 *                woken by the first bytes; a writer that waits, when half of the room is free, or
 *                room for all that it has left.
 */
#ifndef CORO_STREAM_H
#define CORO_STREAM_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* One end of a stream. */
typedef struct coro_stream coro_stream;

#define CORO_STREAM_BYTES_MAX ((size_t)1 << 30)

/* The directions of an end: in coro_stream_close, and in a coro_case. */
#define CORO_STREAM_IN  0x101u
#define CORO_STREAM_OUT 0x102u

/*
 * coro_stream_new - a stream with the ends *a and *b. Each direction has room for `bytes`, rounded
 * up to a power of two (1 to CORO_STREAM_BYTES_MAX).
 *
 * Blocking: one allocation, of some hundred bytes.
 * Returns:  CORO_OK, CORO_EINVAL, CORO_ENOMEM.
 */
int coro_stream_new(coro_stream **a, coro_stream **b, size_t bytes);

/*
 * coro_stream_free - give an end up, when every other call with it has returned. What it has not
 * closed is closed with CORO_ECANCELED. NULL is allowed. Nobody may use the end afterwards.
 *
 * Returns: CORO_OK; CORO_EBUSY: another call with the end goes on. Then the end is closed, and not
 *          given up.
 */
int coro_stream_free(coro_stream *s);

/* coro_stream_drop - coro_stream_free for coro_defer. */
void coro_stream_drop(void *stream);

/*
 * coro_stream_read - read up to `bytes` as soon as there are any. Suspends. Nothing is waited for
 * if bytes is 0: then 0 is returned.
 *
 * Returns: the number of bytes; 0: the end, which the writer has closed with code 0. Below 0: the
 *          code of the writer; CORO_ECLOSED, this end has closed the direction; CORO_EBUSY, another
 *          call reads here; CORO_ETIMEDOUT, CORO_ECANCELED, CORO_ENOWAIT, CORO_EPERM, CORO_ENOMEM,
 *          CORO_EINVAL as in coro_sync.h.
 */
int64_t coro_stream_read(coro_stream *s, void *buffer, size_t bytes, uint64_t deadline);

/*
 * coro_stream_write - write all of `bytes`. Suspends.
 *
 * Returns: the number of bytes: all; or fewer, if the call ended after some were written. Below 0,
 *          and nothing was written: the code of the reader, which has closed the direction;
 *          CORO_ECLOSED, the reader has closed it with code 0, or this end has; CORO_EBUSY, another
 *          call writes here; CORO_ENOMEM, also for the bytes of the direction; and the others of
 *          coro_stream_read.
 */
int64_t coro_stream_write(coro_stream *s, const void *buffer, size_t bytes, uint64_t deadline);

/*
 * coro_stream_close - close CORO_STREAM_IN, CORO_STREAM_OUT or both (`|`) at this end. The calls
 * that wait here, or at the other end, end. A direction that this end has closed before is not
 * changed.
 *
 * code: what the other end is told. 0: reads find the end, writes CORO_ECLOSED. Below 0: both
 * return the code, in Go an error: of CORO_OF_ERRNO (coro_io.h) a syscall.Errno.
 *
 * Blocking: never. Returns: CORO_OK, CORO_EINVAL.
 */
int coro_stream_close(coro_stream *s, uint32_t directions, int code);

#endif
