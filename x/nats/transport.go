package nats

import (
	"context"
	"time"
)

// A Transport is what carries messages and keeps states: NATS ([Over]), or memory ([Loopback]).
type Transport interface {
	open(ctx context.Context, o *Options) (link, error)
}

// A link is one node's end of a Transport.
type link interface {
	// publish stores a message: once for each id within a window. It may have been stored if an
	// error is returned.
	publish(ctx context.Context, partition int, m *message) error
	// consume makes the only consumer of a partition: those of other tokens end. It delivers
	// the messages that are not acked, from the first one on, by one goroutine at a time, at
	// most `room` of them beyond those acked. lost is called when the consumer is gone.
	consume(ctx context.Context, partition int, token uint64, room int,
		deliver func(*delivery), lost func(error)) (consumer, error)
	// store is a bucket of entries with revisions.
	store(b bucket) store
	// check tells whether all that open has found is there: ErrGone, if the servers say that it
	// is not; natsgo.ErrConnectionClosed, if they will never say anything again; or another
	// error.
	check(ctx context.Context) error
	// inbox lets answers come to f. An answer is for an address that begins with the prefix.
	inbox(f func(address string, m *message)) (prefix string, err error)
	answer(address string, m *message) error
	close()
}

type consumer interface {
	stop()                        // deliver is not called any more, once stop has returned
	remove(context.Context) error // of what the server has of it
}

type bucket string

const (
	members bucket = "members" // node.NAME: sessions; lease.PARTITION: who owns it
	states  bucket = "states"  // KIND.KEY: snapshots
)

// An entry is one of a bucket. Revisions of a bucket grow with each change of any entry.
type entry struct {
	key      string
	value    []byte // nil: deleted
	revision uint64
}

type store interface {
	get(ctx context.Context, key string) (entry, error) // errNoEntry
	// put writes the entry if its revision is that one; 0: if there is none. Else errRevision.
	put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	delete(ctx context.Context, key string, revision uint64) error // errRevision
	// watch calls f with each entry, then with the zero entry, then with each change, in the
	// order of revisions, by one goroutine.
	watch(ctx context.Context, f func(entry)) (stop func(), err error)
}

// A message is one on its way.
type message struct {
	id        string // for de-duplication
	kind, key string
	reply     string // the address of the answer, or ""
	fail      string // of an answer: the error
	header    Header
	data      []byte
}

// bytes is what the message takes, about.
func (m *message) bytes() int64 {
	n := len(m.id) + len(m.kind) + len(m.key) + len(m.reply) + len(m.data)
	for name, v := range m.header {
		n += len(name) + len(v)
	}
	return int64(n)
}

// A delivery is a message as a consumer delivers it.
type delivery struct {
	message
	seq   uint64    // the place in the stream: a redelivered message has the same
	time  time.Time // when it was stored
	order uint64    // the number of the delivery: 1, 2, 3… of one consumer
	ack   func()

	answered *message // held until the snapshot is written
}

// A Header goes with a message: for traces.
type Header map[string]string
