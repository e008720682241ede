package nats

import (
	"context"
	"errors"
	"time"

	natsgo "github.com/nats-io/nats.go"
)

// watchOver ends the node where going on is of no use: the connection was closed, or what the
// cluster has on the servers is gone. Servers that are down, or without a leader, say nothing of
// that; and what they say must hold for half a TTL.
func (n *Node) watchOver() {
	defer n.ends.Done()
	var since time.Time // that it is gone
	for {
		wait := n.o.TTL / 2
		if !since.IsZero() {
			wait = n.o.TTL / 8
		}
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(wait):
		}
		asked := time.Now()
		ctx, cancel := context.WithTimeout(n.ctx, n.callTimeout())
		err := n.link.check(ctx)
		cancel()
		switch {
		case errors.Is(err, natsgo.ErrConnectionClosed):
			n.fail(err)
			return
		case !errors.Is(err, ErrGone): // it is there, or nobody knows
			since = time.Time{}
		case since.IsZero():
			since = asked
		case asked.Sub(since) >= n.o.TTL/2:
			n.fail(err)
			return
		}
	}
}
