//go:build cgo

package coro_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/examplebody"
)

// Echo is a C body that reads and writes a connection, and closes it at its end:
//
//	void echo(void *arg, void *result)
//	{
//		coro_fd f = *(coro_fd *)arg;
//		char bytes[1024];
//		int64_t n;
//
//		while ((n = coro_read(f, bytes, sizeof bytes, CORO_FOREVER)) > 0)
//			if (coro_write_all(f, bytes, n, NULL, CORO_FOREVER) != CORO_OK)
//				break;
//		coro_fd_close(f);
//	}
var echoes = coro.MustFunc[coro.FD, coro.None](examplebody.Echo)

// Go accepts a connection, and a C coroutine serves it.
func ExampleScheduler_Adopt() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		check(err)
		fd, err := s.Adopt(conn.(*net.TCPConn))
		check(err)
		check(echoes.Spawn(s, fd))
	}()

	conn, err := net.Dial("tcp", l.Addr().String())
	check(err)
	_, err = io.WriteString(conn, "hello, C")
	check(err)
	check(conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	check(err)
	fmt.Printf("%s\n", answer)
	// Output: hello, C
}
