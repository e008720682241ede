//go:build cgo

package coro_test

import (
	"context"
	"errors"
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

	fmt.Println(answerTo("hello, C", l.Addr()))
	// Output: hello, C
}

// No goroutine has a part in what is served, but that Serve returns to.
func ExampleScheduler_Serve() {
	s, err := coro.New()
	check(err)
	defer s.Close(context.Background())

	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	ctx, quit := context.WithCancelCause(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, echoes) }()
	fmt.Println(answerTo("one", l.Addr()))
	fmt.Println(answerTo("two", l.Addr()))
	quit(errors.New("enough")) // closes l, and lets connections finish
	fmt.Println(<-served)
	// Output:
	// one
	// two
	// enough
}

// answerTo is what a server sends back to text.
func answerTo(text string, at net.Addr) string {
	conn, err := net.Dial(at.Network(), at.String())
	check(err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	check(err)
	check(conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	check(err)
	return string(answer)
}
