/* buffer.h - bodies that are sent buffers, and send some. */
#ifndef TESTBODY_BUFFER_H
#define TESTBODY_BUFFER_H

#include "coro.h"

/* Bodies with buffers. What a body is to do with the buffer that it has got: */
enum testbody_buffer_does {
	TESTBODY_BUFFER_RETURN, /* make capitals of it, and return it */
	TESTBODY_BUFFER_FREE,
	TESTBODY_BUFFER_FAIL,      /* return it, and fail */
	TESTBODY_BUFFER_CANCEL,    /* wait for the cancel, and return it */
	TESTBODY_BUFFER_ABORT,     /* return it, and abort */
	TESTBODY_BUFFER_CHILD,     /* a child of C's does the first */
	TESTBODY_BUFFER_CALL,      /* call the Go function with it, and return what that returns */
	TESTBODY_BUFFER_NO_RESULT, /* the same, without the result */
	TESTBODY_BUFFER_DROP,      /* the same as of CHILD, and nobody wants the child's result */
	TESTBODY_BUFFER_SPAWN_GO,  /* start the Go body with it, and return what that returns */
	TESTBODY_BUFFER_DROP_GO,   /* the same, and nobody wants the result */
};

struct testbody_buffer_arg {
	int32_t does;
	coro_buffer buffer;
	int64_t id; /* of the Go function, or body */
};

struct testbody_buffer_result {
	int64_t status;
	coro_buffer buffer;
};

CORO_DECLARE_BODY(testbody_buffer);

#endif
