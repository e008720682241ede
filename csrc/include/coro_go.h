/*
 * coro_go.h - calls into Go, and coroutines with a Go body. A part of coro.h.
 *
 * Only a scheduler that Go has made has a Go side; elsewhere these calls return CORO_EINVAL.
 */
#ifndef CORO_GO_H
#define CORO_GO_H

#ifndef CORO_H
#error "include coro.h"
#endif

/* Names a Go function that was exported by coro.ExportFunc, to be called, or by coro.ExportBody, to
 * be started. An id never names another function. 0 is never one. */
typedef uint32_t coro_go_id;

/* coro_go_function - the function exported under a name by coro.ExportFuncNamed; 0: none. Cost:
 * looks through the names, so ask once. */
coro_go_id coro_go_function(const char *name);

/*
 * coro_call_go - a goroutine calls a Go function, while the caller is suspended. The function may
 * block, for as long as it likes, and do what any Go code may. A cancel of the caller or of the
 * scheduler does not end a call that has begun: it ends the function's context.
 *
 * arg, arg_bytes:       exactly the bytes of its Go argument type; any number for a []byte, which
 *                       gets a copy.
 * result, result_bytes: room for its result; NULL and 0: the result is not wanted.
 * got:                  how many bytes the result has, whatever is returned; NULL: not wanted.
 *
 * Suspends.
 * Cost:    some hundred ns while calls keep coming, tens of us to wake what sleeps; docs/calls.md
 *          has figures.
 * Returns: CORO_OK; CORO_EFAILED if the function returned an error, panicked, or ended its
 *          goroutine; CORO_ETOOBIG if the result is larger than result_bytes: nothing was written,
 *          and if its size is fixed, the function was not called.
 *          The function was not called: CORO_EINVAL if id names none, arg_bytes is not the
 *          argument's size (*got then has that size), or the scheduler was not made by Go;
 *          CORO_ECANCELED if the caller or its scheduler was canceled before; CORO_ENOWAIT;
 *          CORO_EPERM outside a scheduled coroutine; CORO_ENOMEM of a dense one.
 */
int coro_call_go(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
		 size_t result_bytes, size_t *got);

/*
 * coro_call_go_inline - the same, but this worker's thread calls the function, on its own stack.
 *
 * For short functions that do not block: no channel, lock, file or network that may keep them
 * waiting. All coroutines of this worker wait meanwhile. There is no current coroutine: where a
 * call of this header needs one, it returns CORO_EPERM to the function. A function that ends its
 * goroutine (runtime.Goexit, FailNow of a test) ends the process.
 *
 * Suspends.
 * Cost:    50 to 100 ns if this one alone calls, about as much as a thread's callback; 15 to 40 ns
 *          each if many do.
 * Returns: as coro_call_go.
 */
int coro_call_go_inline(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
			size_t result_bytes, size_t *got);

/*
 * coro_call_error - the text of the current coroutine's last call that returned CORO_EFAILED: of
 * the error, or "panic: " with the value, and after an empty line the Go stack. At most bytes - 1
 * of it are copied to text, and a zero.
 *
 * Returns: the length of the whole text; 0: there was none, or no memory for it.
 */
size_t coro_call_error(char *text, size_t bytes);

/*
 * coro_deadline - the deadline of the Go context that the current coroutine was started with
 * (StartContext, or a Group), for waits that are to end in time. In a shield section it is the
 * section's, until that is over. CORO_FOREVER: there is none. A coroutine that a C body has spawned
 * inherits none. Of a dispatched one, one resumed by hand, and outside: CORO_FOREVER.
 *
 * Cost: 2 ns; in a shield section 20 to 50.
 */
uint64_t coro_deadline(void);

/*
 * coro_cancel_cause - why the current coroutine is canceled: the text of the Go context's cause
 * (context.Cause), if the coroutine was started with one that has ended; else "coro: canceled". At
 * most bytes - 1 of it are copied to text, and a zero. It tells the body of the cancel, as
 * coro_canceled does. Where there is no memory, and in a no-wait section, the text is "coro:
 * canceled".
 *
 * Suspends, if Go knows the coroutine; no cancel ends that.
 * Thread:  a scheduled coroutine.
 * Cost:    that of coro_call_go.
 * Returns: the length of the whole text; 0: the coroutine is not canceled.
 */
size_t coro_cancel_cause(char *text, size_t bytes);

/*
 * coro_spawn_go - start a coroutine whose body is a Go function, in the current scheduler. It runs
 * later, on a goroutine. It is woken, joined and canceled as any other, and may wait and do what
 * any Go code may. It is no daemon (CORO_DAEMON).
 *
 * id:             from coro.ExportBody.
 * arg, arg_bytes: exactly the bytes of its Go argument type.
 * out:            the child's handle, which is then to be joined or detached; coro_join gets the
 *                 result, or CORO_EFAILED if the function returned an error, panicked or ended its
 *                 goroutine. NULL: nobody waits for it.
 *
 * Where the Go types have a coro.Buffer (coro_buffer.h), those of the argument pass to the
 * function, and those of the result to the caller of coro_join. With an error of coro_spawn_go the
 * caller owns them as before.
 *
 * Thread:   a scheduled coroutine.
 * Blocking: may map 2 MiB, and make one system call if all goroutines sleep.
 * Cost:     about 50 ns, and 2 us of a goroutine.
 * Returns:  CORO_OK; CORO_EINVAL if id names no such function, arg_bytes is not the argument's
 *           size, or the scheduler was not made by Go; CORO_ENOMEM; CORO_EPERM; of an argument with
 *           buffers CORO_ESTALE and CORO_EBUSY. In a scheduler that is being canceled the child
 *           ends unstarted.
 */
int coro_spawn_go(coro_go_id id, const void *arg, size_t arg_bytes, coro_handle *out);

#endif
