// Command accounts is a service of accounts and transfers between them, made of actors. README.md
// says what it shows. Amounts are whole numbers of the smallest unit.
//
//	POST /accounts/{id}/deposit  {"id": "d1", "amount": 100}
//	POST /transfers              {"id": "t1", "from": "anna", "to": "ben", "amount": 30}
//	GET  /accounts/{id}
//
// What was answered with 200 is on the disk. The id of a deposit or a transfer is its sender's: who
// gets no answer, or 503, sends the same again. On SIGTERM or Ctrl-C the service ends when all that
// it has begun is done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) (err error) {
	cfg := defaults()
	flags := flag.NewFlagSet("accounts", flag.ExitOnError)
	flags.StringVar(&cfg.dir, "dir", cfg.dir, "where the accounts are")
	flags.DurationVar(&cfg.limit, "limit", cfg.limit, "of a request, and of the end")
	flags.DurationVar(&cfg.idle, "idle", cfg.idle, "an account without requests leaves the memory")
	flags.Int64Var(&cfg.journal, "journal", cfg.journal, "bytes, at which the journal is shortened")
	address := flags.String("listen", "127.0.0.1:0", "the address; port 0: one that is free")
	lasts := flags.Duration("load", 0, "for how long to run random transfers, in place of a service")
	panics := flags.Int("panics", 0, "one of so many calls of an account panics, to try it out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *panics > 0 {
		cfg.fault = func(string) {
			if rand.IntN(*panics) == 0 {
				panic("to try it out")
			}
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s, err := open(cfg)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return errors.Join(err, s.end(ctx))
	}
	server := &http.Server{Handler: s.routes(), ReadTimeout: cfg.limit}
	ended := make(chan error, 3)
	go func() { ended <- server.Serve(listener) }()
	go func() { ended <- s.sys.Run(context.WithoutCancel(ctx)) }() // an actor has failed for good
	fmt.Printf("listening on http://%s\n", listener.Addr())
	if *lasts > 0 {
		l := load{accounts: 100, clients: 64, lasts: *lasts, do: s.do, rest: s.sys.Rest}
		go func() { ended <- l.run(ctx, os.Stdout) }()
	}
	select {
	case <-ctx.Done():
		stop() // a second signal ends the process
	case err = <-ended:
	}
	return errors.Join(err, shutDown(server, s))
}

// shutDown ends the server first and the actors after it, so that no request finds them gone.
func shutDown(server *http.Server, s *service) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.limit+time.Second)
	defer cancel()
	late := server.Shutdown(ctx)
	return errors.Join(late, server.Close(), s.end(ctx))
}
