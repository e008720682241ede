/* echo.h - the body of a connection. */
#ifndef ECHO_H
#define ECHO_H

/* echo - send back what comes, until the client has sent all, or is silent for a minute. arg points
 * to the connection, a coro_fd, which stays open: Serve closes it. */
void echo(void *arg, void *result);

#endif
