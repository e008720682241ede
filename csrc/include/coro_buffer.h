/*
 * coro_buffer.h - memory with one owner at a time, which may pass from C to Go and back. A part of
 * coro.h.
 *
 * A buffer is a handle of 8 bytes, by index and generation, of memory that the library keeps. Who
 * has made it owns it, and either frees it or sends it on: in the argument or the result of a
 * coroutine, in a value of a channel, or in a message to an actor (coro_actor.h) or its answer, in
 * words that were declared to hold buffers.
 * Nothing is copied. A send makes the sender's handle stale, and the receiver gets another one. A
 * send that fails changes nothing: the sender owns the buffer as before. What nobody receives is
 * freed by the library.
 *
 *   Stale     Every call with a handle that was sent, freed, or never made is CORO_ESTALE, but
 *             of those of actors CORO_EINVAL. After
 *             2^40 owners of the same descriptor a handle that old may name a buffer again.
 *   Address   coro_buffer_at tells where the bytes are. The address is the owner's until the
 *             buffer is sent, freed or resized; nothing can tell who keeps it for longer. With
 *             AddressSanitizer a use of freed memory is reported.
 *   Contents  The bytes of a new buffer are what was there before.
 *   End       A buffer may outlive the scheduler that it was made in, and counts there.
 *   Thread    Any; one owner at a time.
 */
#ifndef CORO_BUFFER_H
#define CORO_BUFFER_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* A handle of a buffer. All zeros are none. */
typedef struct coro_buffer {
	uint64_t id;
} coro_buffer;

#define CORO_BUFFER_MAX ((size_t)1 << 40) /* most bytes of a buffer */

/* Which words of a payload hold buffers: the i-th 8 bytes are a coro_buffer if bit i is set, as
 * coro_buffer_word(offsetof(struct message, image)). */
#define coro_buffer_word(offset) (UINT64_C(1) << (offset) / 8)

/*
 * coro_buffer_make - make a buffer of so many bytes, which counts in the scheduler of the current
 * coroutine; coro_buffer_make_on - which counts in s.
 *
 * Thread:   a scheduled coroutine; of _make_on any.
 * Cost:     some 10 ns up to 64 KiB; more where the worker has none in hand, and beyond: memory is
 *           mapped then. _make_on takes a lock.
 * Returns:  CORO_OK and *out; CORO_ENOMEM, also at coro_options.buffer_limit; CORO_EINVAL if out or
 *           s is NULL, or bytes over CORO_BUFFER_MAX; CORO_EPERM outside a scheduled coroutine.
 */
int coro_buffer_make(size_t bytes, coro_buffer *out);
int coro_buffer_make_on(coro_scheduler *s, size_t bytes, coro_buffer *out);

/* coro_buffer_free - the end of the buffer. Cost: as coro_buffer_make. Returns: CORO_OK;
 * CORO_ESTALE; CORO_EBUSY while Go uses the buffer. */
int coro_buffer_free(coro_buffer b);

/* coro_buffer_at - the address of the bytes, aligned to 64, and in *bytes (if not NULL) how many
 * there are. NULL and 0: the handle is stale. Cost: some ns. */
void *coro_buffer_at(coro_buffer b, size_t *bytes);

/*
 * coro_buffer_resize - the buffer has so many bytes from now on; what it had of them stays, and
 * more is what was there before. Addresses of before are not valid any more. A buffer that becomes
 * smaller keeps its memory.
 *
 * Cost:    a few ns where its memory is large enough: a power of two up to 64 KiB, and pages
 *          beyond. Otherwise a buffer is made, and the bytes are copied.
 * Returns: CORO_OK; CORO_ESTALE, CORO_EBUSY, CORO_EINVAL, CORO_ENOMEM: nothing was changed.
 */
int coro_buffer_resize(coro_buffer b, size_t bytes);

/* coro_buffer_cut - keep the bytes from `from` up to `to`, which are moved to the front. Returns:
 * CORO_OK, CORO_ESTALE, CORO_EBUSY, CORO_EINVAL if not from <= to <= its bytes. */
int coro_buffer_cut(coro_buffer b, size_t from, size_t to);

#endif
