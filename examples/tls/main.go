// Command tls joins TLS connections, which are Go's, to a protocol engine in C.
//
// A *tls.Conn has no descriptor that C could read and write: Go's code encrypts and decrypts. So
// join.go makes a coro.Stream. One end is for the C coroutine (lines.c), which reads and writes as
// if it were the connection. Two goroutines copy between the other end and the TLS connection.
//
// It is for engines that are worth it: a request wakes two goroutines, one for each direction, and
// the coroutine's worker. Go alone wakes one goroutine. go test -bench . in this folder compares
// the two, with the client in the same process.
//
// To use it in a module of your own, copy the folder, and write the header beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header
package main

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../../csrc/include
#include "lines.h"
*/
import "C"

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"unsafe"

	"github.com/organzine/coro"
)

// upperLines is the engine. It gives up its end of the stream.
var upperLines = coro.MustFunc[coro.StreamEnd, uint64](unsafe.Pointer(&C.upper_lines_body))

// lineBytes is the longest line.
const lineBytes = C.LINE_BYTES

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// run has a client send lines to a server, both in this process, over TLS.
func run(ctx context.Context) (err error) {
	s, err := coro.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	server, client, err := configs()
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		return err
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			err = serve(s, conn.(*tls.Conn))
		}
		served <- err
	}()
	if err := ask(client, listener.Addr(), "hello, C", "this came through TLS"); err != nil {
		return err
	}
	return <-served
}

// serve has a coroutine of s answer the lines that come from conn. It returns when conn is closed.
func serve(s *coro.Scheduler, conn *tls.Conn) error {
	if err := conn.Handshake(); err != nil {
		return errors.Join(err, conn.Close())
	}
	_, err := join(conn, s, upperLines)
	return err
}

func ask(client *tls.Config, at net.Addr, lines ...string) error {
	conn, err := tls.Dial("tcp", at.String(), client)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers := bufio.NewScanner(conn)
	for _, line := range lines {
		if _, err := fmt.Fprintln(conn, line); err != nil {
			return err
		}
		if !answers.Scan() {
			return fmt.Errorf("no answer to %q: %w", line, answers.Err())
		}
		fmt.Println(answers.Text())
	}
	return nil
}
