/*
 * sanitize.h - what AddressSanitizer must be told of stacks and switches. Nothing in other builds.
 */
#ifndef COROI_SANITIZE_H
#define COROI_SANITIZE_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define COROI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COROI_ASAN 1
#endif
#endif

#ifdef COROI_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* coroi_native_bounds - of this thread's own stack. */
static inline void coroi_native_bounds(const void **low, size_t *bytes)
{
#ifdef COROI_ASAN
	pthread_attr_t attr;
	void *base;
	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &base, bytes);
		pthread_attr_destroy(&attr);
		*low = base;
	}
#else
	(void)low;
	(void)bytes;
#endif
}

/* coroi_unpoison - a stack gets a new user: what the last one's frames left in the shadow goes. */
static inline void coroi_unpoison(const void *low, size_t bytes)
{
#ifdef COROI_ASAN
	__asan_unpoison_memory_region(low, bytes);
#else
	(void)low;
	(void)bytes;
#endif
}

/* coroi_fiber_leave - called just before a switch to the stack [low, low+bytes). *fake keeps what the present
 * context needs when it arrives again; NULL if it will not. */
static inline void coroi_fiber_leave(void **fake, const void *low, size_t bytes)
{
#ifdef COROI_ASAN
	__sanitizer_start_switch_fiber(fake, low, bytes);
#else
	(void)fake;
	(void)low;
	(void)bytes;
#endif
}

/* coroi_fiber_arrive - called first after a switch; tells the bounds of the stack that was left. */
static inline void coroi_fiber_arrive(void *fake, const void **low, size_t *bytes)
{
#ifdef COROI_ASAN
	__sanitizer_finish_switch_fiber(fake, low, bytes);
#else
	(void)fake;
	(void)low;
	(void)bytes;
#endif
}

#endif
