package nats

import (
	"context"
	"log/slog"
	"regexp"
	"time"

	"github.com/nats-io/nuid"
)

// Options are those of a node. The zero value has the defaults.
type Options struct {
	// Cluster names the nodes that belong together, and what they keep on the servers: a stream
	// and two buckets. Letters, digits, - and _, at most 64. "coro" by default.
	Cluster string
	// Name is the node's, unique in the cluster; a random one by default. A node that takes the
	// name of one that has crashed waits for up to TTL.
	Name string
	// Partitions is how many there are, 1 to 65536; 1024 by default. All nodes have the same
	// number, which cannot be changed later.
	Partitions int
	// TTL is how long a node that does not answer keeps its partitions, 100 ms to an hour; 10 s
	// by default. All nodes should have the same.
	TTL time.Duration
	// Room is how many messages of a partition are at a node at a time, not acked; 1 to 10 000,
	// 256 by default.
	Room int
	// Tries is how often a message is handled that fails, before it is a dead letter, 1 to
	// 1 000 000; 5 by default.
	Tries int
	// Idle is the time without messages after which a key's actor ends, and its state is in the
	// bucket alone, 1 ms at least; 5 min by default.
	Idle time.Duration
	// Window is how many message ids of each key are remembered; 64 by default, at most 4096.
	// Each makes a snapshot 8 bytes longer.
	Window int
	// Replicas is how many servers have each message and state, 1 to 5; 1 by default. It counts
	// for the node that comes first.
	Replicas int
	// MaxBytes is how many bytes of messages are stored that are not handled yet; beyond that
	// Tell returns ErrFull. It counts for the node that comes first. The servers reserve as
	// much. 1 KiB to 1 PiB; by default 1 GiB, or as much less as it takes that the servers
	// could reserve twice as much.
	MaxBytes int64
	// Memory has messages and states kept in the servers' memory instead of files. It counts
	// for the node that comes first.
	Memory bool
	// OnDeadLetter is called with each message that cannot be handled, before it is acked: at
	// least once. It may wait, and the key's other messages wait too. If it panics, or calls
	// runtime.Goexit, the message is acked all the same.
	OnDeadLetter func(DeadLetter)
	// Inject writes what a trace needs from the sender's context into the header; Extract makes
	// the handler's context of it.
	Inject  func(context.Context, Header)
	Extract func(context.Context, Header) context.Context
	// Log is told about partitions that come and go, and errors that are tried again. By
	// default there is none. The node does not wait for its handler: beyond 1000 records that
	// wait for a slow one, records are dropped.
	Log *slog.Logger
}

// A DeadLetter is a message that was stored, and cannot be handled.
type DeadLetter struct {
	Kind, Key, ID string
	Data          []byte
	Header        Header
	Tries         int
	Err           error // of the last try
}

const mostTries = 1_000_000

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (o *Options) complete() error {
	orDefault(&o.Cluster, "coro")
	orDefault(&o.Name, nuid.Next())
	orDefault(&o.Partitions, 1024)
	orDefault(&o.TTL, 10*time.Second)
	orDefault(&o.Room, 256)
	orDefault(&o.Tries, 5)
	orDefault(&o.Idle, 5*time.Minute)
	orDefault(&o.Window, 64)
	orDefault(&o.Replicas, 1)
	orDefault(&o.Log, slog.New(slog.DiscardHandler))
	switch {
	case !nameForm.MatchString(o.Cluster):
		return errorf(ErrOption, "Cluster %q: 1 to 64 letters, digits, - and _", o.Cluster)
	case !nameForm.MatchString(o.Name):
		return errorf(ErrOption, "Name %q: 1 to 64 letters, digits, - and _", o.Name)
	case o.Partitions < 1 || o.Partitions > 65536:
		return errorf(ErrOption, "Partitions %d: 1 to 65536", o.Partitions)
	case o.TTL < 100*time.Millisecond || o.TTL > time.Hour:
		return errorf(ErrOption, "TTL %v: 100ms to 1h", o.TTL)
	case o.Room < 1 || o.Room > 10_000:
		return errorf(ErrOption, "Room %d: 1 to 10000", o.Room)
	case o.Tries < 1 || o.Tries > mostTries:
		return errorf(ErrOption, "Tries %d: 1 to %d", o.Tries, mostTries)
	case o.Idle < time.Millisecond:
		return errorf(ErrOption, "Idle %v: 1ms at least", o.Idle)
	case o.Window < 1 || o.Window > 4096:
		return errorf(ErrOption, "Window %d: 1 to 4096", o.Window)
	case o.MaxBytes != 0 && (o.MaxBytes < leastBytes || o.MaxBytes > 1<<50):
		return errorf(ErrOption, "MaxBytes %d: %d to %d, or 0 for the default", o.MaxBytes,
			leastBytes, int64(1<<50))
	case o.Replicas < 1 || o.Replicas > 5:
		return errorf(ErrOption, "Replicas %d: 1 to 5", o.Replicas)
	}
	return nil
}
