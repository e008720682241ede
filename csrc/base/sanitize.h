/*
 * sanitize.h - what the sanitizers are told of stacks, switches and the door. Empty in other
 * builds.
 *
 *   AddressSanitizer   which stack a switch goes to, and that a stack has a new user.
 *   ThreadSanitizer    takes each stack for a thread of its own, a fiber, and is told which one
 *                      continues. It does not see what the assembly does: coroi_tell_open says that
 *                      a switch opens the door.
 *   Valgrind           where stacks are. Only with COROI_VALGRIND defined, since valgrind's header
 *                      comes in a package of its own.
 *
 * A fiber remembers the calls that it is in. coroi_jump and coroi_restart give a stack up in the
 * middle of some calls, so each new context on it gets a new fiber.
 */
#ifndef COROI_SANITIZE_H
#define COROI_SANITIZE_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define COROI_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define COROI_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COROI_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define COROI_TSAN 1
#endif
#endif

#ifdef COROI_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef COROI_TSAN
#include <sanitizer/tsan_interface.h>
#include <setjmp.h>
#endif
#ifdef COROI_VALGRIND
#include <valgrind/memcheck.h>
#endif

/* A stack, as the sanitizers know it. */
struct coroi_fiber {
#ifdef COROI_ASAN
	const void *low;
	size_t bytes;
#endif
#ifdef COROI_TSAN
	void *tsan; /* NULL: nothing has run on it */
#endif
#ifdef COROI_VALGRIND
	unsigned id;
#endif
};

/* Always inline: ThreadSanitizer counts the calls of the present fiber, and these change which one
 * that is. */
#define COROI_TELL static inline __attribute__((always_inline))

/* coroi_fiber_add - there is a stack [low, low+bytes) from now on. coroi_fiber_remove - it is no
 * stack any more. */
COROI_TELL void coroi_fiber_add(struct coroi_fiber *p, char *low, size_t bytes)
{
	(void)p;
	(void)low;
	(void)bytes;
#ifdef COROI_ASAN
	p->low = low;
	p->bytes = bytes;
#endif
#ifdef COROI_VALGRIND
	p->id = VALGRIND_STACK_REGISTER(low, low + bytes - 1);
#endif
}

COROI_TELL void coroi_fiber_remove(struct coroi_fiber *p)
{
	(void)p;
#ifdef COROI_TSAN
	if (p->tsan)
		__tsan_destroy_fiber(p->tsan);
	p->tsan = NULL;
#endif
#ifdef COROI_VALGRIND
	VALGRIND_STACK_DEREGISTER(p->id);
#endif
}

/* coroi_fiber_fresh - a stack with no context on it gets a new user: what the last one left there
 * is gone. */
COROI_TELL void coroi_fiber_fresh(struct coroi_fiber *p, char *low, char *top)
{
	(void)p;
	(void)low;
	(void)top;
#ifdef COROI_ASAN
	__asan_unpoison_memory_region(low, (size_t)(top - low));
#endif
#ifdef COROI_TSAN
	if (p->tsan)
		__tsan_destroy_fiber(p->tsan);
	p->tsan = __tsan_create_fiber(0);
#endif
#ifdef COROI_VALGRIND
	VALGRIND_MAKE_MEM_UNDEFINED(low, top - low);
#endif
}

/* coroi_tell_kept - coro gives this memory out piece by piece: until then nobody may touch it.
 * coroi_tell_given - a piece of it is given out. COROI_RED_ZONE - bytes that are kept behind each
 * piece, so that an overrun is seen. */
#ifdef COROI_ASAN
#define COROI_RED_ZONE ((size_t)16)
#else
#define COROI_RED_ZONE ((size_t)0)
#endif

COROI_TELL void coroi_tell_kept(const void *p, size_t bytes)
{
	(void)p;
	(void)bytes;
#ifdef COROI_ASAN
	__asan_poison_memory_region(p, bytes);
#endif
}

COROI_TELL void coroi_tell_given(const void *p, size_t bytes)
{
	(void)p;
	(void)bytes;
#ifdef COROI_ASAN
	__asan_unpoison_memory_region(p, bytes);
#endif
}

/* coroi_fiber_give - the frames on the stack have been copied away, and keep their fiber.
 * coroi_fiber_take - frames, with the fiber *own, are about to be copied back below base. */
COROI_TELL void coroi_fiber_give(struct coroi_fiber *p)
{
	(void)p;
#ifdef COROI_TSAN
	p->tsan = NULL;
#endif
}

COROI_TELL void coroi_fiber_take(struct coroi_fiber *p, const struct coroi_fiber *own, char *low,
				 char *base)
{
	(void)p;
	(void)own;
	(void)low;
	(void)base;
#ifdef COROI_ASAN
	__asan_unpoison_memory_region(low, (size_t)(base - low));
#endif
#ifdef COROI_TSAN
	if (p->tsan)
		__tsan_destroy_fiber(p->tsan);
	p->tsan = own->tsan;
#endif
#ifdef COROI_VALGRIND
	VALGRIND_MAKE_MEM_UNDEFINED(low, base - low);
#endif
}

/* coroi_fiber_lost - the frames that keep this fiber, copied away, are not coming back. */
COROI_TELL void coroi_fiber_lost(const struct coroi_fiber *own)
{
	(void)own;
#ifdef COROI_TSAN
	__tsan_destroy_fiber(own->tsan);
#endif
}

/* coroi_fiber_again - a switch has gone to the context at sp, which has that many bytes and is kept
 * for the next time. */
COROI_TELL void coroi_fiber_again(void *sp, size_t bytes)
{
	(void)sp;
	(void)bytes;
#ifdef COROI_VALGRIND
	/* to memcheck, what is below the stack pointer after a ret is undefined */
	VALGRIND_MAKE_MEM_DEFINED(sp, bytes);
#endif
}

/* coroi_fiber_below - what lies in [low, to), below the stack pointer, is about to be written. */
COROI_TELL void coroi_fiber_below(char *low, const char *to)
{
	(void)low;
	(void)to;
#ifdef COROI_ASAN
	__asan_unpoison_memory_region(low, (size_t)(to - low));
#endif
#ifdef COROI_VALGRIND
	VALGRIND_MAKE_MEM_UNDEFINED(low, to - low);
#endif
}

/* coroi_fiber_native - *p is this thread's own stack. */
COROI_TELL void coroi_fiber_native(struct coroi_fiber *p)
{
	(void)p;
#ifdef COROI_ASAN
	pthread_attr_t attr;
	void *base;
	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &base, &p->bytes);
		pthread_attr_destroy(&attr);
		p->low = base;
	}
#endif
#ifdef COROI_TSAN
	p->tsan = __tsan_get_current_fiber();
#endif
}

/* coroi_fiber_here - *p is the present stack, which is about to be left and to be switched back to.
 * Its bounds are known only on the other side, see coroi_fiber_arrive. */
COROI_TELL void coroi_fiber_here(struct coroi_fiber *p)
{
	(void)p;
#ifdef COROI_TSAN
	p->tsan = __tsan_get_current_fiber();
#endif
}

/* coroi_fiber_leave - to be called just before a switch to a context on `to`. *fake keeps what the
 * present context needs when it arrives again; fake is NULL if it will not. */
COROI_TELL void coroi_fiber_leave(void **fake, const struct coroi_fiber *to)
{
	(void)fake;
	(void)to;
#ifdef COROI_ASAN
	__sanitizer_start_switch_fiber(fake, to->low, to->bytes);
#endif
#ifdef COROI_TSAN
	__tsan_switch_to_fiber(to->tsan, 0);
#endif
}

/* coroi_fiber_arrive - to be called first after a switch; *from (if not NULL) gets the bounds of
 * the stack that was left. */
COROI_TELL void coroi_fiber_arrive(void *fake, struct coroi_fiber *from)
{
	(void)fake;
	(void)from;
#ifdef COROI_ASAN
	__sanitizer_finish_switch_fiber(fake, from ? &from->low : NULL, from ? &from->bytes : NULL);
#endif
}

/* coroi_fiber_restart - to be called just before a new context replaces the one on `to`, on that
 * stack or on one that was called from there. */
COROI_TELL void coroi_fiber_restart(struct coroi_fiber *to, char *low, char *top)
{
	(void)to;
	(void)low;
	(void)top;
#ifdef COROI_ASAN
	__sanitizer_start_switch_fiber(NULL, to->low, to->bytes);
	__asan_unpoison_memory_region(low, (size_t)(top - low));
#endif
#ifdef COROI_TSAN
	void *old = to->tsan;
	to->tsan = __tsan_create_fiber(0);
	__tsan_switch_to_fiber(to->tsan, 0);
	__tsan_destroy_fiber(old);
#endif
}

/* coroi_fork_call and coroi_fork_return, for ThreadSanitizer: of a setjmp it knows that the calls
 * since then are over. */
#ifdef COROI_TSAN
__attribute__((noinline, unused)) static int
coroi_fiber_call(void **save, void (*fn)(void *arg, void *result), void *arg, void *result)
{
	jmp_buf here;

	*save = &here;
	if (_setjmp(here))
		return 1;
	fn(arg, result);
	return 0;
}

__attribute__((noreturn)) COROI_TELL void coroi_fiber_return(void *to)
{
	longjmp(*(jmp_buf *)to, 1);
}
#endif

/* coroi_tell_unmapped - the memory is about to be unmapped. What was a stack may be mapped again
 * for anything, and AddressSanitizer would still see frames there. */
COROI_TELL void coroi_tell_unmapped(void *base, size_t bytes)
{
	(void)base;
	(void)bytes;
#ifdef COROI_ASAN
	__asan_unpoison_memory_region(base, bytes);
#endif
}

/* coroi_tell_open - the switch that follows opens the door with this busy word. */
COROI_TELL void coroi_tell_open(void *busy)
{
	(void)busy;
#ifdef COROI_TSAN
	__tsan_release(busy);
#endif
}

#endif
