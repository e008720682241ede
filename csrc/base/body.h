/*
 * body.h - a C body that Go was given: a function, or the description that CORO_BODY has made.
 *
 * Go has one untyped pointer for both. The bytes there do not tell them apart for certain: code may
 * begin with any. Where they lie does. A function lies in a segment of the program or of a library
 * that is executed. A description is a variable that is not const, so that each linker puts it
 * where nothing is executed, and the bytes are looked at only there. Code that a program makes at
 * run time lies in no segment, and is a function, too.
 */
#ifndef COROI_BODY_H
#define COROI_BODY_H

#include "coro.h"

enum coroi_body_kind {
	COROI_BODY_FUNCTION,
	COROI_BODY_DESCRIBED,
	COROI_BODY_NEITHER, /* a variable of another kind */
};

/*
 * coroi_body_look - what p is; *out is a copy of the description, if p is the address of one.
 *
 * Blocking: the lock of the dynamic loader.
 * Cost:     about 1 us.
 */
enum coroi_body_kind coroi_body_look(const void *p, struct coro_body_desc *out);

#endif
