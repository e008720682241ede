package nats

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A proxy is between a node and the server. It can stall, as a network does that has failed, and
// cut its connections.
type proxy struct {
	l  net.Listener
	to string

	mu      sync.Mutex
	goesOn  sync.Cond
	stalled bool
	ended   bool
	conns   map[net.Conn]bool
}

func newProxy(t testing.TB, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{l: l, to: to, conns: map[net.Conn]bool{}}
	p.goesOn.L = &p.mu
	go p.accept()
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		p.stall(false)
		p.cut()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.l.Addr().String() }

func (p *proxy) accept() {
	for {
		a, err := p.l.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", p.to)
		if err != nil {
			a.Close()
			continue
		}
		p.mu.Lock()
		p.conns[a], p.conns[b] = true, true
		p.mu.Unlock()
		go p.copy(a, b)
		go p.copy(b, a)
	}
}

func (p *proxy) copy(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		for p.stalled && !p.ended {
			p.goesOn.Wait()
		}
		p.mu.Unlock()
		if err == nil {
			_, err = to.Write(b[:n])
		}
		if err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	p.mu.Lock()
	delete(p.conns, to)
	delete(p.conns, from)
	p.mu.Unlock()
}

func (p *proxy) stall(on bool) {
	p.mu.Lock()
	p.stalled = on
	p.mu.Unlock()
	p.goesOn.Broadcast()
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}
