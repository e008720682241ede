/* streams.h - bodies that use a stream. */
#include "coro.h"

/* The argument of each: the stream, which the body gives up at its end, and how the body goes. */
struct testbody_stream {
	uint64_t stream;
	uint64_t bytes; /* of its buffer, at most 4096 */
	uint64_t slow;  /* not 0: it yields, and sleeps now and then, between two calls */
};

/* testbody_stream_flip - read all, and write each byte with its bits turned around. Result: the number of
 * bytes, or what a call has returned. */
void testbody_stream_flip(void *arg, void *result);

/* testbody_stream_fails - read one byte, and close with the code -70000. */
void testbody_stream_fails(void *arg, void *result);

/* testbody_stream_closes - close both directions with the code -bytes. */
void testbody_stream_closes(void *arg, void *result);

/* testbody_stream_goodbye - write "goodbye", end that direction, and read all. Result: the number
 * of bytes, or what a read has returned. */
void testbody_stream_goodbye(void *arg, void *result);

/* testbody_stream_reads, testbody_stream_writes - read, or write zeros, until a call returns 0 or less. Result:
 * that. */
void testbody_stream_reads(void *arg, void *result);
void testbody_stream_writes(void *arg, void *result);

/* testbody_stream_keeps - return without giving the stream up. */
void testbody_stream_keeps(void *arg, void *result);
