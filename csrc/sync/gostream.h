/*
 * gostream.h - streams: the calls for Go, and the words that Go reads and writes.
 *
 * This is apart from stream.h, which includes it, as gochan.h is from chan.h. Go does STM1 and STM2
 * of stream.h itself, with these words of a pipe: so a read or a write that waits for nothing makes
 * no call.
 */
#ifndef COROI_GOSTREAM_H
#define COROI_GOSTREAM_H

#include "sync/gowait.h"

struct coroi_pipe;

#define COROI_PIPE_RING    48
#define COROI_PIPE_BYTES   56
#define COROI_PIPE_WRITER  128
#define COROI_PIPE_READER  256
#define COROI_SIDE_AT      0
#define COROI_SIDE_SEEN    8
#define COROI_SIDE_WAKE_AT 16
#define COROI_SIDE_USED    24
#define COROI_SIDE_CODE    28

/* The bits of `at` beside the position. */
#define COROI_PIPE_WAITED  1
#define COROI_PIPE_ENDED   2
#define COROI_PIPE_REFUSED 4
#define COROI_PIPE_SHIFT   3

/* coroi_stream_keep - s, an end of a new stream, is Go's, and so is all memory of the stream.
 * Returns the other end, which is C's. */
coro_stream *coroi_stream_keep(coro_stream *s);

/* coroi_stream_pipe - the direction of s that it writes, or reads. */
struct coroi_pipe *coroi_stream_pipe(coro_stream *s, bool writes);

/* coroi_stream_is_given_up - C has given up its end of Go's stream. */
bool coroi_stream_is_given_up(coro_stream *s);

/* coroi_stream_destroy - every use of Go's stream is CORO_EINVAL from now on; the memory stays.
 * Returns CORO_OK, CORO_EINVAL, CORO_EBUSY: calls with the stream go on. */
int coroi_stream_destroy(coro_stream *s);

/* coroi_stream_release - free Go's stream, destroyed or not. Nothing is freed while calls go on. */
void coroi_stream_release(coro_stream *s);

/* coroi_pipe_open - allocate the bytes of p, by the writer. Returns CORO_OK, CORO_ENOMEM. */
int coroi_pipe_open(struct coroi_pipe *p);

/* coroi_pipe_tell - STM4: `at` of the writer, or the reader, has said that the other side waits. */
int coroi_pipe_tell(struct coroi_pipe *p, bool writes);

/* coroi_pipe_wait_gowaiter - STM3, by the writer or the reader: g waits, COROI_WAITS; or there is
 * no reason to wait, CORO_OK; or CORO_EINVAL. */
int coroi_pipe_wait_gowaiter(struct coroi_pipe *p, bool writes, struct coroi_gowaiter *g);

#endif
