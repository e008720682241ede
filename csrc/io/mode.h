/*
 * mode.h - O_NONBLOCK, which coro sets and gives back.
 *
 * The flag is part of the open file description, and not of the number. Other numbers (dup) and
 * other processes share the description, and it stays when the number is closed: what a shell has
 * given to a program as standard output is its next command's, too. A command that finds it
 * non-blocking fails with EAGAIN where it would wait. So a descriptor that was blocking is blocking
 * again when coro is done with it, however that ends.
 *
 * But the description may be adopted under several numbers: a terminal mostly is standard input
 * and output in one. The flag then goes with the last of them. A descriptor that was blocking
 * *owes*. One that was not, while an adopted one of the same description owes, *shares*. Those that
 * owe or share are in a table, by the file that they are of, whose every line has a lock.
 *
 *   MOD1  adopting: lock; set the flag. It was not set: the descriptor owes. It was set, and one in
 *         the table owes for this description: it shares. Unlock
 *   MOD2  the end, while the number is still the caller's: lock; leave the table. The descriptor
 *         owes, and another shares: that one owes now. Nobody shares: clear the flag. Unlock.
 *         close(2) comes after that
 *
 * The flag is set and cleared in the lock: a descriptor that is adopted meanwhile finds it as it
 * was, and owes itself, or finds one that owes, and is found by it.
 *
 * Whether two numbers are of one description tells kcmp(2). Where that is refused, two of the same
 * file with the same access mode are taken for it. What sets or clears the flag in other processes,
 * or without coro, is not known here.
 */
#ifndef COROI_MODE_H
#define COROI_MODE_H

#include "io/slot.h"

/* Of `mode` of a slot. An accepted socket, or a file, is plain, and costs nothing here. */
enum { COROI_MODE_PLAIN, COROI_MODE_OWES, COROI_MODE_SHARES };

/* coroi_mode_begin - MOD1 for the number fd, whose slot p is the caller's. file: as coroi_kind has
 * told. Returns: 0 or -errno. */
int coroi_mode_begin(struct coroi_slot *p, int fd, uint32_t file);

/* coroi_mode_end - MOD2. Nobody uses the descriptor. */
void coroi_mode_end(struct coroi_slot *p, int fd);

#endif
