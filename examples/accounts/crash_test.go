package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// With this variable the test binary is the service, with the arguments that it has.
const isService = "ACCOUNTS_TEST"

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(isService); ok {
		log.SetOutput(io.Discard) // panics that are meant
		if err := run(strings.Fields(args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A process is the service in processes that follow each other.
type process struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	mu  sync.RWMutex // held while there is none
	url string
}

func (p *process) start() {
	p.cmd = exec.CommandContext(p.t.Context(), os.Args[0])
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", isService+"=-panics 300 -journal 5000 -idle 20ms -dir "+p.dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, p.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(p.t, err)
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
}

func (p *process) end(by syscall.Signal) error {
	require.NoError(p.t, p.cmd.Process.Signal(by))
	return p.cmd.Wait()
}

// Each request has a connection of its own: Shutdown waits for connections that were not used yet.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post sends a request until its outcome is known, whichever process tells it.
func (p *process) post(path string, o order) (status int, text string) {
	body, err := json.Marshal(o)
	if err != nil {
		p.t.Error(err)
	}
	for {
		p.mu.RLock()
		url := p.url
		p.mu.RUnlock()
		r, err := client.Post(url+path, "application/json", bytes.NewReader(body))
		if err != nil {
			continue
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err == nil && r.StatusCode != http.StatusServiceUnavailable {
			return r.StatusCode, string(text)
		}
	}
}

// Processes are ended while clients send transfers. Each transfer is done once, or not at all, as
// its client was told.
func TestEnds(t *testing.T) {
	for by, gently := range map[syscall.Signal]bool{syscall.SIGKILL: false, syscall.SIGTERM: true} {
		t.Run(by.String(), func(t *testing.T) {
			p := &process{t: t, dir: t.TempDir()}
			p.start()
			const accounts, clients, ends = 10, 8, 4
			want := make(map[string]int64)
			for i := range accounts {
				want[accountName(i)] = each
				status, text := p.post("/accounts/"+accountName(i)+"/deposit", order{ID: "d", Amount: each})
				require.Equal(t, 200, status, text)
			}
			var mu sync.Mutex // want, done
			var done []order
			answers, stop := make(chan struct{}), make(chan struct{})
			var all sync.WaitGroup
			for i := range clients {
				all.Go(func() {
					for n := 0; ; n++ {
						r := load{accounts: accounts}.transfer(fmt.Sprintf("%d-%d", i, n))
						o := order{ID: r.ID, From: r.Account, To: r.Other, Amount: r.Amount}
						if rand.IntN(10) == 0 {
							o.To = "nobody"
						}
						status, text := p.post("/transfers", o)
						mu.Lock()
						if status == http.StatusOK {
							want[o.From] -= o.Amount
							want[o.To] += o.Amount
							done = append(done, o)
						} else if status != http.StatusConflict && o.To != "nobody" {
							t.Errorf("%d %s", status, text)
						}
						mu.Unlock()
						select {
						case answers <- struct{}{}:
						case <-stop:
							return
						}
					}
				})
			}
			for range ends {
				for range 50 + rand.IntN(100) {
					<-answers
				}
				p.mu.Lock()
				if err := p.end(by); gently {
					require.NoError(t, err)
				}
				p.start()
				p.mu.Unlock()
			}
			close(stop)
			all.Wait()
			for _, o := range done[:min(50, len(done))] { // again: that changes nothing
				status, text := p.post("/transfers", o)
				require.Equal(t, 200, status, text)
			}
			require.NoError(t, p.end(syscall.SIGTERM))
			for account, balance := range want { // as the last process has left them
				s, err := readSnapshot(p.dir, account)
				require.NoError(t, err)
				require.Equal(t, balance, s.Balance, account)
			}
			t.Log(len(done), "transfers were done")
		})
	}
}
