package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// streamConsumer is the consumer of a partition for one owner: its name has the token, so that acks
// of owners before it are acks of nothing.
//
// It lasts as long as the client hears from it without a break. A server that was killed may have
// forgotten the last deliveries, and count the next ones from 1 again: if some of those are lost on
// their way, a later one has the number that the client expects. So a delivery by another
// connection, or any error, is the consumer's end.
type streamConsumer struct {
	l    *streamLink
	name string
	at   jetstream.ConsumeContext
	mu   sync.Mutex // of deliver
	ends bool
}

func (l *streamLink) consume(ctx context.Context, partition int, token uint64, room int,
	deliver func(*delivery), lost func(error)) (consumer, error) {
	prefix := fmt.Sprintf("p%d-", partition)
	c := &streamConsumer{l: l, name: fmt.Sprintf("%s%d", prefix, token)}
	connection := l.conn.Stats().Reconnects
	create := func() (jetstream.Consumer, error) {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		return l.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable:       c.name,
			FilterSubject: l.subject(partition),
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       2 * l.o.TTL,
			MaxAckPending: room,
			MaxDeliver:    -1,
			DeliverPolicy: jetstream.DeliverAllPolicy,
		})
	}
	from, err := create()
	var api *jetstream.APIError
	// A work queue has one consumer a subject: here is that of an owner before.
	if errors.As(err, &api) && (api.ErrorCode == 10099 || api.ErrorCode == 10100) {
		names := l.stream.ConsumerNames(ctx)
		for name := range names.Name() {
			if strings.HasPrefix(name, prefix) && name != c.name {
				if err := l.removeConsumer(ctx, name); err != nil {
					return nil, err
				}
			}
		}
		if err := names.Err(); err != nil {
			return nil, clear(err)
		}
		from, err = create()
	}
	if err != nil {
		return nil, clear(err)
	}
	handle := func(m jetstream.Msg) {
		meta, err := m.Metadata()
		if err == nil && l.conn.Stats().Reconnects != connection {
			err = errors.New("the connection is another")
		}
		if err != nil {
			lost(err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.ends {
			deliver(&delivery{message: decodeMessage(m.Headers(), m.Data()),
				seq: meta.Sequence.Stream, time: meta.Timestamp,
				order: meta.Sequence.Consumer, ack: func() { _ = m.Ack() }})
		}
	}
	c.at, err = from.Consume(handle, jetstream.PullMaxMessages(room),
		jetstream.PullExpiry(max(pullExpiry, l.o.TTL)),
		jetstream.PullHeartbeat(pullHeartbeat),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { lost(err) }))
	if err != nil {
		return nil, clear(err)
	}
	return c, nil
}

func (c *streamConsumer) stop() {
	c.mu.Lock()
	c.ends = true
	c.mu.Unlock()
	c.at.Stop()
}

func (c *streamConsumer) remove(ctx context.Context) error {
	return c.l.removeConsumer(ctx, c.name)
}

func (l *streamLink) removeConsumer(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := l.stream.DeleteConsumer(ctx, name); err != nil &&
		!errors.Is(err, jetstream.ErrConsumerNotFound) {
		return clear(err)
	}
	return nil
}
