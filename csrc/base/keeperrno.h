/* keeperrno.h - system calls that leave errno as it was. For sys.c and sysio.c. */
#ifndef COROI_KEEPERRNO_H
#define COROI_KEEPERRNO_H

#include <errno.h>

/* KEEP_ERRNO - the function restores the errno that it found. It always stores: compilers assume
 * that some functions which do set errno, posix_memalign for one, never set it. */
#define KEEP_ERRNO __attribute__((cleanup(coroi_put_errno), unused)) const int errno_found = errno

static inline void coroi_put_errno(const int *found)
{
	*(volatile int *)&errno = *found;
}

#endif
