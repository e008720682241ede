package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A server is a PostgreSQL server of our own in a temporary folder. server.sh starts and stops it.
type server struct {
	dir string
}

func startServer() (*server, error) {
	dir, err := os.MkdirTemp("", "coro-postgres-")
	if err != nil {
		return nil, err
	}
	s := &server{dir}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// conninfo says where the server is, for libpq and for pgx.
func (s *server) conninfo() string {
	return "host=" + s.dir + " user=postgres dbname=postgres"
}

// start starts the server again.
func (s *server) start() error {
	err := s.script("start")
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
		err = fmt.Errorf("%w\n%s", err, log)
	}
	return err
}

// stop stops the server at once. remove removes what is left of it.
func (s *server) stop() error {
	return s.script("stop")
}

func (s *server) remove() error {
	return os.RemoveAll(s.dir)
}

func (s *server) script(what string) error {
	if text, err := exec.Command("./server.sh", what, s.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("server.sh %s: %w: %s", what, err, text)
	}
	return nil
}
