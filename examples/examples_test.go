//go:build cgo

// Package examples_test builds the programs of this folder, here and in a module of its own, runs
// them and checks their output.
package examples_test

import (
	"bufio"
	"bytes"
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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/internal/race"
)

// patience is how long a test waits for an event that must come. No passing test waits that long.
const patience = 3 * time.Minute

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(soon(t), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
	return string(out)
}

// program builds an example and returns its path.
func program(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() || race.Enabled {
		t.Skip("builds programs, and not with the race detector")
	}
	out := filepath.Join(t.TempDir(), filepath.Base(name))
	run(t, ".", nil, "go", "build", "-buildvcs=false", "-o", out, "./"+name)
	return out
}

// outputs is what the programs print that end by themselves.
var outputs = map[string]string{
	"hello-c":  "longest sequence up to 100000: from 77031, 350 steps\n",
	"hello-go": "17984 primes below 200000\n",
	"samefringe": `balanced and leaning left: same true, after 1000 leaves
leaning left and right: same true, after 1000 leaves
another third leaf: same false, after 3 leaves
one leaf less: same false, after 1000 leaves
`,
	"forkjoin": `1000000 numbers: sorted true, the same ones true, median 2142479329
10 queens: 724 ways
a tree of 200000 nodes, 81 deep: sum right true
`,
	"tls":      "HELLO, C\nTHIS CAME THROUGH TLS\n",
	"pipeline": "4000 blocks of up to 256 words, checksum 5040e93287169aa5\n",

	"recipes/tokenizer": "16800000 bytes: 2100000 words, 1200000 numbers, 1200000 signs\n",
	"recipes/images":    "300 images of 320 by 200: 4800000 bytes\n",
	"recipes/matrix":    "512 by 512 numbers in blocks of 64: trace 31716187\n",
	"recipes/rows":      "59405 of 300000 rows, as many as Go finds true, the first: 17,Oslo,17\n",
	"recipes/fanout":    "9200000 bytes are 12266668 in base64, the same as in Go true\n",
	"recipes/frames": "20000 frames with 22200505 bytes, then: a frame has more than 1048576 bytes: " +
		"coro: the other end of the stream has failed: code -10001\n",
}

func TestExamplesPrintTheirResults(t *testing.T) {
	for name, output := range outputs {
		t.Run(name, func(t *testing.T) {
			path := program(t, name)
			for _, procs := range []string{"1", "4"} {
				assert.Equal(t, output, run(t, ".", []string{"GOMAXPROCS=" + procs},
					path))
			}
		})
	}
}

// How many times as fast depends on the machine.
func TestRecipesBTree(t *testing.T) {
	out := run(t, ".", nil, program(t, "recipes/btree"))
	assert.Regexp(t, `^501641 of 1000000 keys found among 12000000
24 coroutines that prefetch: [0-9.]+ times as fast as one that does not
$`, out)
}

// A user copies the folder into another module, and has the header written beside it.
func TestExamplesBuildInAnotherModule(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("builds programs, and not with the race detector")
	}
	repository, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	env := []string{"GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local"}
	run(t, dir, env, "go", "mod", "init", "example.org/outside")
	run(t, dir, env, "go", "mod", "edit", "-require=github.com/organzine/coro@v0.0.0",
		"-replace=github.com/organzine/coro="+repository)
	run(t, dir, env, "go", "build", "-o", "coro", "github.com/organzine/coro/cmd/coro")
	for name := range outputs {
		copyExample(t, dir, env, name)
	}
	copyExample(t, dir, env, "service")
	copyExample(t, dir, env, "echo")
	copyExample(t, dir, env, "accounts")
	copyExample(t, dir, env, "recipes/btree")
	main := filepath.Join(dir, "service", "main.go")
	text, err := os.ReadFile(main)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("github.com/organzine/coro/examples/"),
		[]byte("example.org/outside/"), 1)
	require.NoError(t, os.WriteFile(main, text, 0o666))
	for _, test := range []string{"service/bodies/bodies_test.go", "accounts/accounts_test.go",
		"accounts/crash_test.go", "accounts/journal_test.go"} { // testify
		require.NoError(t, os.Remove(filepath.Join(dir, test)))
	}
	run(t, dir, env, "go", "build", "./...")
	assert.Equal(t, outputs["hello-c"], run(t, dir, env, "go", "run", "./hello-c"))
}

func copyExample(t *testing.T, dir string, env []string, name string) {
	t.Helper()
	to := filepath.Join(dir, name)
	require.NoError(t, os.CopyFS(to, os.DirFS(name)))
	for _, pattern := range []string{"*.c", "*/*.c"} {
		if c, _ := filepath.Glob(filepath.Join(to, pattern)); len(c) > 0 {
			run(t, filepath.Dir(c[0]), env, filepath.Join(dir, "coro"), "header", "coro_io.h",
				"coro_actor.h")
		}
	}
}

// A process is a server that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string // or the address
	output *bufio.Reader
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startProgram(t, "service", args...)
}

func startProgram(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(soon(t), program(t, name), args...)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.output = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	line, err := p.output.ReadString('\n')
	require.NoError(t, err)
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return p
}

// counts asks how many requests were accepted and answered.
func (p *process) counts() (accepted, answered int64) {
	p.t.Helper()
	_, text, err := p.get("/counts")
	require.NoError(p.t, err)
	_, err = fmt.Sscan(text, &accepted, &answered)
	require.NoError(p.t, err)
	return accepted, answered
}

// accepted waits until n requests were accepted.
func (p *process) accepted(n int64) {
	p.t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if accepted, _ := p.counts(); accepted >= n {
			return
		}
		require.Less(p.t, time.Since(begin), patience, "%d requests are accepted", n)
	}
}

// end sends SIGTERM, and returns the last output of the process.
func (p *process) end() (string, error) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(p.output)
	require.NoError(p.t, err)
	return string(rest), p.cmd.Wait()
}

// Each request has a connection of its own, so the client's library sends none a second time.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (p *process) get(path string) (status int, text string, err error) {
	response, err := client.Get(p.url + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func TestServiceAnswers(t *testing.T) {
	p := start(t)
	for path, want := range map[string]string{
		"/steps?n=77031":      "200 350\n",
		"/longest?below=1000": "200 178 steps from 871\n",
		"/nap?for=1ms":        "200 slept\n",
		"/total?items=3,5,3":  "200 2042\n",
		"/total?items=3,4":    "400 bad request: there is no such item\n",
		"/total?items=": "400 bad request: items must be numbers: " +
			"strconv.ParseUint: parsing \"\": invalid syntax\n",
		"/steps?n=0": "400 bad request: n must be from 1 to 1000000000\n",
		"/nap?for=ever": "400 bad request: for must be a duration: " +
			"time: invalid duration \"ever\"\n",
	} {
		status, text, err := p.get(path)
		assert.NoError(t, err)
		assert.Equal(t, want, fmt.Sprint(status, " ", text), path)
	}
	status, text, err := p.get("/metrics")
	assert.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	assert.Regexp(t, `(?m)^coro_live [0-9]+$`, text)
	assert.Regexp(t, `(?m)^coro_switches_total [1-9][0-9]*$`, text)
	said, err := p.end()
	assert.NoError(t, err)
	assert.Equal(t, "answered 8 of 8 requests\n", said)
}

// Clients go on sending while SIGTERM comes. Every accepted request is answered rightly, and every
// client knows whether its request was.
func TestServiceLosesNothing(t *testing.T) {
	p := start(t, "-limit", "2m")
	requests := map[string]string{
		"/steps?n=77031":     "350\n",
		"/longest?below=100": "118 steps from 97\n",
		"/nap?for=20ms":      "slept\n",
		"/total?items=1,2":   "349\n",
	}
	var answers atomic.Int64
	var told atomic.Bool // SIGTERM is on its way
	var clients sync.WaitGroup
	const sleepers = 20
	for range sleepers { // in service when it comes, and for a while
		clients.Go(func() {
			status, text, err := p.get("/nap?for=500ms")
			assert.NoError(t, err)
			assert.Equal(t, "200 slept\n", fmt.Sprint(status, " ", text))
			answers.Add(1)
		})
	}
	p.accepted(sleepers)
	for range 8 {
		clients.Go(func() {
			for {
				for path, want := range requests {
					status, text, err := p.get(path)
					if err != nil {
						// Refused: the service does not listen any more, or
						// had not accepted the connection yet.
						assert.True(t, told.Load(), "refused too early: %v",
							err)
						return
					}
					assert.Equal(t, fmt.Sprint(200, " ", want),
						fmt.Sprint(status, " ", text), path)
					answers.Add(1)
				}
			}
		})
	}
	p.accepted(sleepers + 100)
	told.Store(true)
	said, err := p.end()
	assert.NoError(t, err)
	clients.Wait()
	n := answers.Load()
	assert.Equal(t, fmt.Sprintf("answered %d of %d requests\n", n, n), said)
}

// A request that is not done within the limit is canceled, and its client is told.
func TestServiceHasALimit(t *testing.T) {
	p := start(t, "-limit", "10ms")
	var clients sync.WaitGroup
	clients.Go(func() {
		status, _, err := p.get("/nap?for=24h")
		assert.NoError(t, err)
		assert.Equal(t, http.StatusServiceUnavailable, status)
	})
	p.accepted(1)
	said, err := p.end()
	assert.Error(t, err, "it says that it was not in time")
	clients.Wait()
	assert.Equal(t, "answered 1 of 1 requests\n", said)
}

// Every client gets what it has sent, byte by byte, and the end after the last one.
func TestEchoSendsBackWhatComes(t *testing.T) {
	p := startProgram(t, "echo")
	var clients sync.WaitGroup
	for i := range 50 {
		clients.Go(func() {
			c, err := net.Dial("tcp", p.url)
			if !assert.NoError(t, err) {
				return
			}
			defer c.Close()
			assert.NoError(t, c.SetDeadline(time.Now().Add(patience)))
			want := make([]byte, i*10_000+1)
			for j := range want {
				want[j] = byte(i + j*7 + j>>8)
			}
			clients.Go(func() {
				_, err := c.Write(want)
				assert.NoError(t, err)
				assert.NoError(t, c.(*net.TCPConn).CloseWrite())
			})
			got, err := io.ReadAll(c)
			assert.NoError(t, err)
			assert.True(t, bytes.Equal(want, got), "client %d: %d of %d bytes", i,
				len(got), len(want))
		})
	}
	clients.Wait()
	_, err := p.end()
	assert.NoError(t, err)
}

// A client that stays is closed when the grace is over.
func TestEchoEndsWithClientsThatStay(t *testing.T) {
	p := startProgram(t, "echo", "-grace", "100ms")
	c, err := net.Dial("tcp", p.url)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = c.Write([]byte("x"))
	require.NoError(t, err)
	answer := make([]byte, 2)
	n, err := c.Read(answer)
	require.NoError(t, err)
	assert.Equal(t, "x", string(answer[:n]))
	_, err = p.end()
	assert.NoError(t, err)
	rest, err := io.ReadAll(c)
	assert.NoError(t, err)
	assert.Empty(t, rest)
}
