package main

import (
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
	if err := s.script("start"); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "server.log"))
		os.RemoveAll(dir)
		return nil, fmt.Errorf("%w\n%s", err, log)
	}
	return s, nil
}

// conninfo says where the server is, for libpq and for pgx.
func (s *server) conninfo() string {
	return "host=" + s.dir + " user=postgres dbname=postgres"
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
