/*
 * loop.h - the peer of examples/httpd: a bare epoll loop in C. It has the same parser, the same
 * checks and the same response, and none of the rest: no deadlines, no bodies, one handler.
 */
#ifndef LOOP_H
#define LOOP_H

/* loop_serve - accept from the listener, and serve with this number of threads. The connections are
 * dealt out in turn. Returns: an errno, if it could not begin; else never. */
int loop_serve(int listener, int threads);

#endif
