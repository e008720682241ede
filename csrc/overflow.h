/*
 * overflow.h - naming the coroutine that overflows its stack.
 */
#ifndef COROI_OVERFLOW_H
#define COROI_OVERFLOW_H

/* coroi_overflow_install - handle SIGSEGV, once a process; after the language runtime has its own handler. */
void coroi_overflow_install(void);

#endif
