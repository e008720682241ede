package main

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"
)

// A watch looks at the threads and the resident memory of this process every millisecond, and keeps
// the most of each.
type watch struct {
	stop, stopped          chan struct{}
	threads, kib           int
	threadsFirst, kibFirst int
}

func startWatch() *watch {
	runtime.GC() // makes the runtime's own threads
	w := &watch{stop: make(chan struct{}), stopped: make(chan struct{})}
	time.Sleep(50 * time.Millisecond)
	w.look()
	w.threadsFirst, w.kibFirst = w.threads, w.kib
	go func() {
		defer close(w.stopped)
		for tick := time.Tick(time.Millisecond); ; {
			select {
			case <-tick:
				w.look()
			case <-w.stop:
				return
			}
		}
	}()
	return w
}

// end returns how many threads and KiB there were at most beyond those at the start.
func (w *watch) end() (threads, kib int) {
	close(w.stop)
	<-w.stopped
	return w.threads - w.threadsFirst, w.kib - w.kibFirst
}

func (w *watch) look() {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	w.threads = max(w.threads, number(status, "\nThreads:"))
	w.kib = max(w.kib, number(status, "\nVmRSS:"))
}

// number is the number after a name in /proc/self/status.
func number(status []byte, name string) int {
	_, rest, _ := bytes.Cut(status, []byte(name))
	n, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
	if err != nil {
		panic(err)
	}
	return n
}
