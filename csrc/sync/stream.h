/*
 * stream.h - a stream: two pipes, one for each direction. A pipe is a ring of bytes with one writer
 * and one reader.
 *
 *      ring  |       | byte | byte | byte |       |
 *                      ^ reader.at          ^ writer.at
 *
 * Each side has a word `at`: how many bytes have passed it, and three bits. WAITED: the other side
 * waits, and is to be told. ENDED, REFUSED: the writer, the reader has closed the pipe. Each side
 * counts its bytes with a read-modify-write of its own word, which returns the bits, too: so no
 * bit is missed, and no second look at another word is needed. The bytes are copied with no lock
 * held.
 *
 *   STM1  write. The writer loads the reader's `at` (acquire; pairs with the add of STM2: the bytes
 *         were read before they are overwritten), copies into the free part, and adds to its own
 *         (sequentially consistent; the release of the bytes). With WAITED in the result: STM4
 *   STM2  read. The reader loads the writer's `at` (acquire; pairs with the add of STM1: the bytes
 *         are there), copies out, and adds to its own. With WAITED in the result, and if the
 *         position has come to the writer's wake_at: STM4
 *   STM3  wait, under the lock. The side that waits sets WAITED in the other side's word. If the
 *         word as it was before has a reason not to wait, the side goes on, and WAITED stays. Else
 *         it adds a waiter to its queue (WTQ1 of waitq.h)
 *   STM4  tell, under the lock: clear WAITED, take the waiter, and wake it after the lock. There
 *         may be none: it was withdrawn (WTQ3), or STM3 has not added one
 *   STM5  close, under the lock: store the code, then set ENDED or REFUSED in both words (release
 *         of the code; pairs with the acquire of the word by the other side), and wake both sides
 *   STM6  free the ring, under the lock, if ENDED and REFUSED are set and no side is in use. A side
 *         is used from a compare-and-swap of `used` from 0 on; the next step of its user is to load
 *         its own `at`. Both are sequentially consistent, as STM5 and its look at `used` are. So
 *         STM6 sees the user, or the user sees that the pipe is closed, and does not touch the ring
 *
 * Nothing is lost: STM3 and the adds of STM1 and STM2 change the same word. If the add is first,
 * STM3 sees the bytes, or the room. If STM3 is first, the add sees WAITED. The waiter is in the
 * queue when STM4 looks, as both hold the lock.
 *
 * A writer waits until wake_at: half of the ring is free, or room for all that is left to write. So
 * a reader of few bytes does not wake the writer for each read. wake_at is stored before STM3, and
 * loaded after the add of STM2 that has seen WAITED; with another wait's wake_at the reader wakes
 * in vain, or STM3 of the later wait has seen the reader's position.
 *
 * A waiter is woken to look again, and may be woken in vain.
 */
#ifndef COROI_STREAM_H
#define COROI_STREAM_H

#include "sync/gostream.h"

#include <stddef.h>

/* One side of a pipe. */
struct coroi_side {
	uint64_t at;   /* atomic: bytes that have passed, << COROI_PIPE_SHIFT, and bits */
	uint64_t seen; /* the position of the other side, as this side has loaded it last */
	/* of the writer: the position of the reader that ends its wait. Atomic, relaxed: STM3 */
	uint64_t wake_at;
	uint32_t used; /* atomic: a call, or a case of a select, uses the side. STM6 */
	int32_t code;  /* what the other side is told; set by STM5 */
};

struct coroi_pipe {
	/* What changes with a wait alone. */
	struct coroi_object object;
	struct coroi_waitq readers, writers;
	unsigned char *ring; /* NULL: not yet, or STM6. Set by the writer, under the lock */
	uint64_t bytes;      /* of the ring: a power of two */

	struct coroi_side writer __attribute__((aligned(COROI_APART)));
	struct coroi_side reader __attribute__((aligned(COROI_APART)));
};
_Static_assert(offsetof(struct coroi_pipe, ring) == COROI_PIPE_RING &&
		       offsetof(struct coroi_pipe, bytes) == COROI_PIPE_BYTES &&
		       offsetof(struct coroi_pipe, writer) == COROI_PIPE_WRITER &&
		       offsetof(struct coroi_pipe, reader) == COROI_PIPE_READER &&
		       offsetof(struct coroi_side, at) == COROI_SIDE_AT &&
		       offsetof(struct coroi_side, seen) == COROI_SIDE_SEEN &&
		       offsetof(struct coroi_side, wake_at) == COROI_SIDE_WAKE_AT &&
		       offsetof(struct coroi_side, used) == COROI_SIDE_USED &&
		       offsetof(struct coroi_side, code) == COROI_SIDE_CODE,
	       "Go finds them there");

struct coroi_stream_pair;

/* One end. */
struct coro_stream {
	struct coroi_pipe *in, *out;
	struct coroi_stream_pair *pair;
	uint32_t given_up; /* atomic */
};

/* The two ends and the two pipes of a stream, in one allocation. */
struct coroi_stream_pair {
	struct coro_stream ends[2];
	uint32_t kept; /* atomic: ends that are not given up */
	bool of_go;    /* Go frees the stream */
	struct coroi_pipe pipes[2];
};

static inline struct coroi_side *coroi_pipe_side(struct coroi_pipe *p, bool writes)
{
	return writes ? &p->writer : &p->reader;
}

/* coroi_pipe_begin - use a side of p. Returns CORO_OK, CORO_EBUSY. coroi_pipe_end - end that. */
int coroi_pipe_begin(struct coroi_pipe *p, bool writes);
void coroi_pipe_end(struct coroi_pipe *p, bool writes);

/* coroi_pipe_ready - the side that is in use can go on: 1; it can, with this status: below 0; it
 * would wait: 0. */
int coroi_pipe_ready(struct coroi_pipe *p, bool writes);

/* coroi_pipe_wait_as - STM3: x, a waiter at p, is added to its queue. p is entered, and stays so.
 * False: there is no reason to wait. */
bool coroi_pipe_wait_as(struct coroi_pipe *p, bool writes, struct coroi_waiter *x);

#endif
