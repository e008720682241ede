package nats

import "time"

// The figures of this package that are tuning: with others it would be slower, or would ask the
// servers more often, and no less right. None has a bench row: each is short beside a round trip to
// a server that is in trouble, or long beside one that is not. What a user may set has its default
// in Options, and parts of Options.TTL stand where they are argued for.
const (
	// retryFirst is the first pause before a batch is handled again, or a state is written
	// again. Each next one is twice as long, up to a quarter of the TTL.
	retryFirst = 5 * time.Millisecond

	// callFirst is the first pause before a call of JetStream is made again (persist).
	callFirst = 10 * time.Millisecond

	// viewPause is how long a node waits for its view of the members, which comes later than a
	// change, and for partitions that others take or release.
	viewPause = 10 * time.Millisecond

	// callTime is the longest that one call of JetStream takes.
	callTime = 5 * time.Second

	// pullExpiry is how long a request for messages stays at the server, at least, and
	// pullHeartbeat how often the server says meanwhile that it is there.
	pullExpiry    = 4 * time.Second
	pullHeartbeat = 2 * time.Second

	// idsLast is how long ids of messages are remembered, by JetStream and by Loopback, which
	// takes some 60 bytes for each (x/nats/README.md).
	idsLast = 2 * time.Minute

	// takingAtOnce is how many partitions a node takes at the same time.
	takingAtOnce = 16

	// logMost is how many records wait for Options.Log; later ones are dropped, and counted.
	// logEnd is how long the end of a node waits for the last ones.
	logMost = 1000
	logEnd  = time.Second
)
