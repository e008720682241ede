package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for an event that must come. No passing test waits that long.
const patience = time.Minute

// build makes the program, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "httpd")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "httpd")
	out, err := exec.Command("go", append(buildFlags, "-o", path, ".")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(status)
}

// A server is a process.
type server struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
}

func start(t *testing.T, flags ...string) *server {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	s := &server{t: t, cmd: exec.Command(path, flags...)}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { // a test that has ended the server itself finds it ended
		if s.cmd.ProcessState == nil {
			s.end()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	s.address = strings.TrimSpace(strings.TrimPrefix(line, "listening on http://"))
	return s
}

func (s *server) signal() { require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM)) }

// end ends the server, which is to end well, a sanitizer's findings included.
func (s *server) end() {
	s.t.Helper()
	s.signal()
	s.wait()
}

func (s *server) wait() {
	s.t.Helper()
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	require.NoError(s.t, s.cmd.Wait())
}

func (s *server) dial() *net.TCPConn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address)
	require.NoError(s.t, err)
	require.NoError(s.t, c.SetDeadline(time.Now().Add(patience)))
	return c.(*net.TCPConn)
}

// talk sends the pieces, each in a segment of its own, and returns all that comes until the server
// closes. The server sees the end of what is sent.
func (s *server) talk(pieces ...string) (string, error) {
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	for i, piece := range pieces {
		if i > 0 {
			time.Sleep(2 * time.Millisecond)
		}
		// The server may have answered, and closed, before all was sent.
		if _, err := io.WriteString(c, piece); err != nil {
			break
		}
	}
	_ = c.(*net.TCPConn).CloseWrite()
	all, err := io.ReadAll(c)
	return string(all), err
}

// An answer is a response as net/http reads it.
type answer struct {
	status int
	body   string
	close  bool
}

func (a answer) String() string {
	end := ""
	if a.close {
		end = " close"
	}
	return fmt.Sprintf("%d %q%s", a.status, a.body, end)
}

// answers reads responses to requests of the methods. After an interim response comes another. All
// responses must be well-formed, and nothing may follow them.
func answers(text string, methods ...string) ([]answer, error) {
	in := bufio.NewReader(strings.NewReader(text))
	var out []answer
	for {
		if _, err := in.Peek(1); err == io.EOF {
			return out, nil
		}
		method := http.MethodGet
		if i := len(out); i < len(methods) {
			method = methods[i]
		}
		r, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return out, err
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return out, err
		}
		if _, err := http.ParseTime(r.Header.Get("Date")); err != nil && r.StatusCode != 100 {
			return out, err
		}
		out = append(out, answer{r.StatusCode, string(body), r.Close})
	}
}

// statuses is the short form that tables have: "200 200 400c".
func statuses(list []answer) string {
	var words []string
	for _, a := range list {
		word := fmt.Sprint(a.status)
		if a.close {
			word += "c"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// atOnce calls f for 0 to n-1, some at once.
func atOnce(n int, f func(int)) {
	var all sync.WaitGroup
	free := make(chan struct{}, 64)
	for i := range n {
		free <- struct{}{}
		all.Go(func() {
			f(i)
			<-free
		})
	}
	all.Wait()
}

// soon is a context for what must not take long.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}
