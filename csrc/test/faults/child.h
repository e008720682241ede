/*
 * child.h - tests that need a process of their own.
 */
#ifndef CHILD_H
#define CHILD_H

#include <sys/types.h>

/* in_child - run(arg) in a child process. Returns its status, as waitpid has it, and what the child
 * wrote to stderr. */
int in_child(void (*run)(int), int arg, char *text, size_t bytes);

/* overflows - the body of a coroutine that runs into its guard. */
void overflows(void *arg, void *result);

#endif
