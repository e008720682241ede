package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/bench/internal/harness"
)

func TestSummariesOfWrkAreRead(t *testing.T) {
	r, err := parse("Running 1s test\nsummary 5000 2000000 412.000000 1020.500000 0\nRequests/sec: 1\n")
	require.NoError(t, err)
	assert.Equal(t, report{5000, 2500, 412, 1020.5}, r)
	_, err = parse("summary 5000 2000000 412.000000 1020.500000 3\n")
	assert.ErrorContains(t, err, "3 errors")
	_, err = parse("unable to connect\n")
	assert.ErrorContains(t, err, "no summary")
}

func TestNumbersOfConnectionsAreChecked(t *testing.T) {
	n, err := numbers("64,256")
	assert.NoError(t, err)
	assert.Equal(t, []int{64, 256}, n)
	for _, bad := range []string{"", "0", "64,", "x"} {
		_, err := numbers(bad)
		assert.Error(t, err, bad)
	}
}

func TestTheExperimentIsWellFormed(t *testing.T) {
	e := experiment(options{connections: []int{64, 256}, lwan: "lwan"})
	assert.NoError(t, harness.Check([]*harness.Experiment{e}))
}

// Every server answers the same.
func TestServersAnswerAlike(t *testing.T) {
	for _, system := range []string{sysCoro, sysEpoll, sysNetHTTP, sysFastHTTP} {
		t.Run(system, func(t *testing.T) {
			p := startSelf(t, system)
			before, err := p.cpu()
			require.NoError(t, err)
			for range 100 {
				r, err := http.Get("http://" + p.address)
				require.NoError(t, err)
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.NoError(t, r.Body.Close())
				assert.Equal(t, "200 OK", r.Status)
				assert.Equal(t, "Hello, World!\n", string(body))
				assert.Equal(t, "text/plain", r.Header.Get("Content-Type"))
				assert.NotEmpty(t, r.Header.Get("Date"))
			}
			for begin := time.Now(); ; { // some CPU time is counted, in ticks
				after, err := p.cpu()
				require.NoError(t, err)
				if after.user+after.system > before.user+before.system {
					break
				}
				require.Less(t, time.Since(begin), time.Minute)
				r, err := http.Get("http://" + p.address)
				require.NoError(t, err)
				require.NoError(t, r.Body.Close())
			}
			memory, err := p.memory()
			require.NoError(t, err)
			assert.Greater(t, memory, int64(1<<20))
		})
	}
}

// startSelf starts the test's own program as a server: see TestMain.
func startSelf(t *testing.T, system string) *process {
	p, err := startServer(options{}, system, 1)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.end()) })
	return p
}

// The program of the test is the server that it starts.
func TestMain(m *testing.M) {
	if !slices.Contains(os.Args, "-serve") {
		os.Exit(m.Run())
	}
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
