package nats

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Over is the Transport by a connection to NATS servers with JetStream. The connection stays the
// caller's. It should be made with nats.MaxReconnects(-1), as else it ends when the servers are away
// for two minutes.
func Over(conn *natsgo.Conn) Transport { return overNATS{conn} }

type overNATS struct{ conn *natsgo.Conn }

// streamLink is a link by NATS: a work-queue stream CLUSTER-messages with a subject for each
// partition, and buckets CLUSTER-members and CLUSTER-states.
type streamLink struct {
	conn    *natsgo.Conn
	js      jetstream.JetStream
	o       *Options
	stream  jetstream.Stream
	buckets map[bucket]store
	inboxes []*natsgo.Subscription
}

const (
	metaPartitions = "coro-partitions"
	callTime       = 5 * time.Second // one call of JetStream takes at most
)

// passing are error codes of a server that has no leader at the moment, or has lost one before the
// leader was done with a message.
var passing = []jetstream.ErrorCode{
	10008, // JetStream system temporarily unavailable
	10158, // duplicate message id is in process
	10163, // expected last sequence per subject temporarily unavailable
}

// clear makes an error of the NATS client one that names the remedy.
func clear(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled),
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errorf(ErrNoJetStream, "%v", err)
	case errors.Is(err, natsgo.ErrMaxPayload), errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum):
		return errorf(ErrTooLarge, "%v", err)
	case errors.Is(err, natsgo.ErrConnectionClosed), errors.Is(err, natsgo.ErrNoServers),
		errors.Is(err, natsgo.ErrTimeout), errors.Is(err, natsgo.ErrNoResponders),
		errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, natsgo.ErrDisconnected),
		errors.Is(err, natsgo.ErrConnectionReconnecting), errors.Is(err, natsgo.ErrReconnectBufExceeded),
		errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &api) && slices.Contains(passing, api.ErrorCode):
		return fmt.Errorf("nats: %w (%w)", ErrUnavailable, err)
	}
	return err // of the client: it begins with nats: too
}

func (t overNATS) open(ctx context.Context, o *Options) (link, error) {
	if t.conn == nil {
		return nil, errorf(ErrOption, "Over(nil): the connection that nats.Connect returned")
	}
	if t.conn.IsClosed() {
		return nil, clear(natsgo.ErrConnectionClosed)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	js, err := jetstream.New(t.conn)
	if err != nil {
		return nil, clear(err)
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		if errors.Is(err, natsgo.ErrNoResponders) {
			err = jetstream.ErrJetStreamNotEnabled
		}
		return nil, clear(err)
	}
	l := &streamLink{conn: t.conn, js: js, o: o, buckets: map[bucket]store{}}
	if err := l.makeStream(ctx); err != nil {
		return nil, err
	}
	for _, b := range []bucket{members, states} {
		kv, err := l.makeBucket(ctx, b)
		if err != nil {
			return nil, err
		}
		l.buckets[b] = &kvStore{kv}
	}
	return l, nil
}

func (l *streamLink) storage() jetstream.StorageType {
	if l.o.Memory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

func (l *streamLink) name() string { return l.o.Cluster + "-messages" }
func (l *streamLink) subject(partition any) string {
	return fmt.Sprintf("%s.p.%v", l.o.Cluster, partition)
}

func (l *streamLink) makeStream(ctx context.Context) error {
	s, err := l.js.Stream(ctx, l.name())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.js.CreateStream(ctx, jetstream.StreamConfig{
			Name:        l.name(),
			Description: "messages of actors",
			Subjects:    []string{l.subject("*")},
			Retention:   jetstream.WorkQueuePolicy,
			Storage:     l.storage(),
			Replicas:    l.o.Replicas,
			// The server's default is 1000. One that was left over may be there for a moment.
			MaxConsumers: l.o.Partitions + 64,
			Metadata:     map[string]string{metaPartitions: strconv.Itoa(l.o.Partitions)},
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was faster
			s, err = l.js.Stream(ctx, l.name())
		}
	}
	if err != nil {
		return clear(err)
	}
	c := s.CachedInfo().Config
	if n := c.Metadata[metaPartitions]; n != strconv.Itoa(l.o.Partitions) {
		return errorf(ErrOption, "Partitions %d: cluster %s has %q; give each node the same number, "+
			"or the cluster another name", l.o.Partitions, l.o.Cluster, n)
	}
	if c.Retention != jetstream.WorkQueuePolicy {
		return errorf(ErrOption, "stream %s is no work queue: give the cluster another name", l.name())
	}
	l.stream = s
	return nil
}

func (l *streamLink) publish(ctx context.Context, partition int, m *message) error {
	to := encodeMessage(l.subject(partition), m)
	to.Header.Set(jetstream.MsgIDHeader, m.kind+"/"+url.QueryEscape(m.key)+"/"+url.QueryEscape(m.id))
	ctx, cancel := context.WithTimeout(ctx, min(callTime, l.o.TTL))
	defer cancel()
	_, err := l.js.PublishMsg(ctx, to)
	return clear(err)
}

func (l *streamLink) store(b bucket) store { return l.buckets[b] }

func (l *streamLink) inbox(f func(string, *message)) (string, error) {
	prefix := l.conn.NewInbox() + "."
	s, err := l.conn.Subscribe(prefix+"*", func(m *natsgo.Msg) {
		a := decodeMessage(m.Header, m.Data)
		f(m.Subject, &a)
	})
	if err != nil {
		return "", clear(err)
	}
	l.inboxes = append(l.inboxes, s)
	return prefix, nil
}

func (l *streamLink) answer(address string, m *message) error {
	return clear(l.conn.PublishMsg(encodeMessage(address, m)))
}

func (l *streamLink) close() {
	for _, s := range l.inboxes {
		_ = s.Unsubscribe()
	}
}
