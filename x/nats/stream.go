package nats

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Over is the Transport by a connection to NATS servers with JetStream. The connection stays the
// caller's. It should be made with nats.MaxReconnects(-1), as else it ends when the servers are
// away for two minutes.
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
	made    map[string]time.Time // the streams, those of buckets too, and when they were made
	inboxes []*natsgo.Subscription
}

const (
	metaPartitions = "coro-partitions"
	defaultBytes   = 1 << 30 // see createStream
	leastBytes     = 1 << 10
)

// passing are error codes of a server that has no leader at the moment, or has lost one before the
// leader was done with a message.
var passing = []jetstream.ErrorCode{
	10008, // JetStream system temporarily unavailable
	10158, // duplicate message id is in process
	10163, // expected last sequence per subject temporarily unavailable
}

// full are error codes of a store that has no room.
var full = []jetstream.ErrorCode{
	10002, // resource limits exceeded for account
	10023, // insufficient resources
	10028, // insufficient memory resources available
	10047, // insufficient storage resources available
}

// isFull tells whether the servers have no room for a message, or for a stream.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (slices.Contains(full, api.ErrorCode) ||
		// These have several meanings: a message could not be stored; no server takes a
		// stream.
		api.ErrorCode == 10077 && strings.HasPrefix(api.Description, "maximum ") ||
		api.ErrorCode == 10005 && strings.Contains(api.Description, "insufficient "))
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
	case errors.Is(err, natsgo.ErrMaxPayload),
		errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum):
		return errorf(ErrTooLarge, "%v", err)
	case isFull(err):
		return errorf(ErrFull, "%v", err)
	case errors.Is(err, natsgo.ErrConnectionClosed), errors.Is(err, natsgo.ErrNoServers),
		errors.Is(err, natsgo.ErrTimeout), errors.Is(err, natsgo.ErrNoResponders),
		errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, natsgo.ErrDisconnected),
		errors.Is(err, natsgo.ErrConnectionReconnecting),
		errors.Is(err, natsgo.ErrReconnectBufExceeded),
		errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &api) && slices.Contains(passing, api.ErrorCode):
		return fmt.Errorf("nats: %w (%w)", ErrUnavailable, err)
	}
	return err // of the client: it begins with nats: too
}

func (t overNATS) open(ctx context.Context, o *Options) (link, error) {
	if t.conn == nil {
		return nil, errorf(ErrOption,
			"Over(nil): the connection that nats.Connect returned")
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
	l := &streamLink{conn: t.conn, js: js, o: o, buckets: map[bucket]store{},
		made: map[string]time.Time{}}
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
		s, err = l.createStream(ctx)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was faster
			s, err = l.js.Stream(ctx, l.name())
		}
	}
	if err != nil {
		return clear(err)
	}
	c := s.CachedInfo().Config
	if n := c.Metadata[metaPartitions]; n != strconv.Itoa(l.o.Partitions) {
		return errorf(ErrOption,
			"Partitions %d: cluster %s has %q; give each node the same number, "+
				"or the cluster another name", l.o.Partitions, l.o.Cluster, n)
	}
	if c.Retention != jetstream.WorkQueuePolicy {
		return errorf(ErrOption,
			"stream %s is no work queue: give the cluster another name", l.name())
	}
	l.stream, l.made[l.name()] = s, s.CachedInfo().Created
	return nil
}

// createStream makes the stream. It has a bound, so that the buckets have room while it is full:
// what is handled needs snapshots, leases and sessions first. Without Options.MaxBytes the bound is
// defaultBytes, or less where the servers cannot reserve twice as much.
func (l *streamLink) createStream(ctx context.Context) (jetstream.Stream, error) {
	c := jetstream.StreamConfig{
		Name:        l.name(),
		Description: "messages of actors",
		Subjects:    []string{l.subject("*")},
		Retention:   jetstream.WorkQueuePolicy,
		Discard:     jetstream.DiscardNew,
		MaxBytes:    l.o.MaxBytes,
		Duplicates:  idsLast,
		Storage:     l.storage(),
		Replicas:    l.o.Replicas,
		// The server's default is 1000. One that was left over may be there for a moment.
		MaxConsumers: l.o.Partitions + 64,
		Metadata:     map[string]string{metaPartitions: strconv.Itoa(l.o.Partitions)},
	}
	if c.MaxBytes > 0 {
		s, err := l.js.CreateStream(ctx, c)
		if isFull(err) {
			err = fmt.Errorf("MaxBytes %d: the servers cannot reserve so much: %w",
				c.MaxBytes, err)
		}
		return s, err
	}
	for c.MaxBytes = 2 * defaultBytes; ; c.MaxBytes /= 2 {
		s, err := l.js.CreateStream(ctx, c)
		switch {
		case err == nil:
			c.MaxBytes /= 2
			return l.js.UpdateStream(ctx, c)
		case !isFull(err) || c.MaxBytes < 4*leastBytes:
			return s, err
		}
	}
}

// check implements link.
func (l *streamLink) check(ctx context.Context) error {
	if l.conn.IsClosed() {
		return clear(natsgo.ErrConnectionClosed)
	}
	var gone []string
	for _, of := range []struct{ name, what, lost string }{
		{l.name(), "stream", "accepted messages that were not handled"},
		{bucketStream(l.bucketName(states)), "bucket", "the states of all keys"},
		{bucketStream(l.bucketName(members)), "bucket",
			"sessions and leases, but no messages"},
	} {
		s, err := l.js.Stream(ctx, of.name)
		switch {
		case err == nil && s.CachedInfo().Created.Equal(l.made[of.name]):
			continue
		case err != nil && !errors.Is(err, jetstream.ErrStreamNotFound):
			return clear(err)
		}
		how := "is not there"
		if err == nil {
			how = "was deleted and made again"
		}
		gone = append(gone, fmt.Sprintf("%s %s %s, and lost are %s", of.what,
			strings.TrimPrefix(of.name, bucketStream("")), how, of.lost))
	}
	if gone != nil {
		return errorf(ErrGone, "%s", strings.Join(gone, "; "))
	}
	return nil
}

func (l *streamLink) publish(ctx context.Context, partition int, m *message) error {
	to := encodeMessage(l.subject(partition), m)
	to.Header.Set(jetstream.MsgIDHeader,
		m.kind+"/"+url.QueryEscape(m.key)+"/"+url.QueryEscape(m.id))
	ctx, cancel := context.WithTimeout(ctx, min(callTime, l.o.TTL))
	defer cancel()
	_, err := l.js.PublishMsg(ctx, to)
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, natsgo.ErrNoResponders) {
		if gone := l.check(ctx); errors.Is(gone, ErrGone) { // or none leads it at the moment
			return gone
		}
	}
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
