/*
 * select.h - coro_select by a gowaiter, in parts.
 *
 * The gowaiter has room for coroi_select_bytes and, after them, for the values. Its cases are to be
 * filled in, of which each has something to send, or somewhere to receive it.
 */
#ifndef COROI_SELECT_H
#define COROI_SELECT_H

#include "sync/gowait.h"

size_t coroi_select_bytes(uint32_t n);
coro_case *coroi_select_cases(struct coroi_gowaiter *g);

/* coroi_select_gowaiter - CORO_OK, COROI_WAITS or an error. */
int coroi_select_gowaiter(struct coroi_gowaiter *g, uint32_t n);

/* coroi_select_done - when it is done, at once or after waiting: the index of the case, which has
 * its status from now on. The gowaiter is in no queue any more. */
int coroi_select_done(struct coroi_gowaiter *g);

#endif
