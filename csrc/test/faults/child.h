/*
 * child.h - what is better tried in another process.
 */
#ifndef CHILD_H
#define CHILD_H

#include <sys/types.h>

/* in_child - what became of a process that ran run(arg), as waitpid tells it, and what it said to
 * stderr. */
int in_child(void (*run)(int), int arg, char *text, size_t bytes);

/* overflows - the body of a coroutine that runs into its guard. */
void overflows(void *arg, void *result);

#endif
