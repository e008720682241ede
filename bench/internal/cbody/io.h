/*
 * io.h - requests and answers over TCP connections of the loopback device. One client thread has a
 * request under way on each connection, and sends the next when the answer has come.
 */
#ifndef CBODY_IO_H
#define CBODY_IO_H

#include <stdint.h>

#define CB_IO_REQUEST 60
#define CB_IO_ANSWER  160
#define CB_IO_SMALL   64

/* cb_io_connect - n connections; their ends. Returns: 0 or an errno, and then none. cb_io_close -
 * close n numbers. */
int cb_io_connect(int n, int32_t *server, int32_t *client);
void cb_io_close(int n, const int32_t *fd);

/* cb_io_ask - n connections, until `total` answers have come, on the calling thread. The first
 * CB_WAITS answers' times are in cb_waits. *cpu_ns: of the calling thread. Returns: the time, ns;
 * below 0: -errno. */
int64_t cb_io_ask(int n, const int32_t *client, int64_t total, int64_t *cpu_ns);

/* cb_io_cpu_ns - CPU time of the process. */
int64_t cb_io_cpu_ns(void);

/* cb_io_serve - the server's coroutine for a connection (arg: a coro_fd), until its end; it closes
 * the connection. cb_io_serve_small - the same, with a buffer of CB_IO_SMALL bytes instead of
 * 4096. */
void cb_io_serve(void *arg, void *result);
void cb_io_serve_small(void *arg, void *result);

/* cb_io_loop - a bare loop over an epoll set, edge-triggered: it serves n connections, idle ones
 * too, until cb_io_stop, on the calling thread. Returns: 0 or an errno. */
int cb_io_loop(int n, const int32_t *server);
void cb_io_stop(void);

#endif
