/* sealed.h - buffers whose bytes tell whether they are whole, and a body that passes such buffers
 * on. Go's half is in buffer_random_test.go. */
#ifndef TESTBODY_SEALED_H
#define TESTBODY_SEALED_H

#include "coro.h"

/* A sealed buffer begins with this, and the others of its bytes follow from the seed. */
struct testbody_seal {
	uint64_t seed, bytes;
};

/* What the body does with the buffer that it has got: */
enum testbody_sealed_does {
	TESTBODY_SEALED_RETURN, /* seal it anew, and return it */
	TESTBODY_SEALED_FREE,
	TESTBODY_SEALED_OTHER,   /* free it, and return another one */
	TESTBODY_SEALED_RESIZE,  /* resize it, seal it anew, and return it */
	TESTBODY_SEALED_SEND,    /* send it to the channel; return it if that fails */
	TESTBODY_SEALED_RECV,    /* free it, and return what comes from the channel */
	TESTBODY_SEALED_SELECT,  /* the same, by coro_select */
	TESTBODY_SEALED_CHILD,   /* a child does the first */
	TESTBODY_SEALED_DROP,    /* the same, and nobody wants the child's result */
	TESTBODY_SEALED_CALL,    /* call the Go function with it, and return what that returns */
	TESTBODY_SEALED_UNHEARD, /* the same, without the result */
	TESTBODY_SEALED_FAIL,    /* return it, and fail; exit; abort */
	TESTBODY_SEALED_EXIT,
	TESTBODY_SEALED_ABORT,
	TESTBODY_SEALED_PARK, /* wait for the cancel, and return it */
	TESTBODY_SEALED_DOES
};

struct testbody_sealed_arg {
	coro_buffer buffer, second; /* the second is freed, if there is one */
	uint64_t chan;              /* of struct testbody_sealed_value */
	uint64_t seed;
	int64_t id; /* of the Go function */
	int64_t does;
};

struct testbody_sealed_value {
	uint64_t number;
	coro_buffer buffer;
};

struct testbody_sealed_result {
	int64_t broken; /* what was not as it should be */
	coro_buffer buffer;
};

CORO_DECLARE_BODY(testbody_sealed);

#endif
