/*
 * select.h - coro_select by a gowaiter, in parts, and with buffers in what is sent.
 *
 * The gowaiter has room for coroi_select_bytes and, after them, for the values. The caller fills in
 * its cases: each has a value to send, whose buffers have passed, or the place of a value to
 * receive.
 */
#ifndef COROI_SELECT_H
#define COROI_SELECT_H

#include "sync/gowait.h"

/* coroi_select_bytes - the bytes that n cases need. */
size_t coroi_select_bytes(uint32_t n);

/* coroi_select_cases - the cases of g. */
coro_case *coroi_select_cases(struct coroi_gowaiter *g);

/* coroi_select_gowaiter - begin the select. Returns CORO_OK, COROI_WAITS or an error. */
int coroi_select_gowaiter(struct coroi_gowaiter *g, uint32_t n);

/* coroi_select_done - end a select that was done, at once or after waiting: the gowaiter leaves all
 * queues. Returns the index of the case that was done; its status is set then. */
int coroi_select_done(struct coroi_gowaiter *g);

/* coroi_select_sends_buffers - some case does, right or wrong. coroi_select_passing - coro_select,
 * then. coroi_select_passed - coro_select by a caller that has passed the buffers. */
bool coroi_select_sends_buffers(const coro_case *cases, uint32_t n);
int coroi_select_passing(coro_case *cases, uint32_t n, uint64_t deadline);
int coroi_select_passed(coro_case *cases, uint32_t n, uint64_t deadline);

#endif
