/*
 * fds.h - what the tests of descriptors share.
 */
#ifndef FDS_H
#define FDS_H

#include "coro_io.h"
#include "test.h"

/* Two connected stream sockets, adopted by s. */
struct pair {
	coro_fd a, b;
};

/* pair_of - a new one, of Unix. pair_of_tcp - through the loopback device. pair_close - close both;
 * they are open. */
struct pair pair_of(coro_scheduler *s);
struct pair pair_of_tcp(coro_scheduler *s);
void pair_close(struct pair *p);

/* adopted - a descriptor of the test's, adopted by s. */
coro_fd adopted(coro_scheduler *s, int fd);

/* is_open - has the process a descriptor with that number? */
bool is_open(int fd);

/* listener - a TCP socket that listens at a port of the loopback device, which *to gets. */
struct sockaddr_in;
int listener(struct sockaddr_in *to);

#endif
