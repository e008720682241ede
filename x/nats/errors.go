package nats

import (
	"errors"
	"fmt"
)

// Errors that calls of this package return, mostly with more words: test with [errors.Is].
var (
	// ErrOption: an option, or an argument, is wrong.
	ErrOption = errors.New("wrong option")
	// ErrName: a node of the cluster that lives has the name.
	ErrName = errors.New("a live node has this name: " +
		"give each node a name of its own, or leave Options.Name empty")
	// ErrKey: the key is empty, or longer than [MaxKey] bytes. Nothing was sent.
	ErrKey = errors.New("wrong key: a key has 1 to 256 bytes")
	// ErrKind: no kind of this name was defined on the node that got the message.
	ErrKind = errors.New("no such kind: Define the same kinds on each node before Start")
	// ErrUnavailable: the servers do not answer. A message may have been stored all the same.
	ErrUnavailable = errors.New("the NATS servers do not answer: " +
		"see that they run, and that the connection has nats.MaxReconnects(-1)")
	// ErrNoJetStream: the server, or the account, has no JetStream.
	ErrNoJetStream = errors.New("no JetStream: start nats-server with -js (jetstream {} in its " +
		"configuration), and enable JetStream for the account")
	// ErrGone: the stream of messages, or a bucket, that the node has found at its Join was
	// deleted. The error says which, and what is lost. The node has ended.
	ErrGone = errors.New("what the cluster had on the servers is gone: Join makes it again")
	// ErrFull: as many bytes of messages are stored, and not handled yet, as Options.MaxBytes
	// allows; or the servers' store is full. The message was refused. If a try of the same Tell
	// before had no answer, that one may be stored all the same: send it again with the same
	// ID.
	ErrFull = errors.New("no room for more messages: send it later, have more nodes handle " +
		"messages, or raise the limit (Options.MaxBytes; max_file_store, max_memory_store of servers)")
	// ErrLeft: Leave was called.
	ErrLeft = errors.New("the node has left the cluster: Join again")
	// ErrInside: a handler has called Leave of its node, or Ask of its own actor, or a hook
	// has. Nothing was done.
	ErrInside = errors.New("within a handler or a hook, that it would wait for")
	// ErrNoAnswer: the handler returned without an answer.
	ErrNoAnswer = errors.New("no answer: the handler has to call Turn.Answer")
	// ErrDead: the message that asked has become a dead letter.
	ErrDead = errors.New("the message has become a dead letter")
	// ErrDecode: bytes that the Codec cannot decode.
	ErrDecode = errors.New("cannot be decoded")
	// ErrTooLarge: the message is larger than the server allows (max_payload).
	ErrTooLarge = errors.New("the message is too large: raise max_payload of the servers, " +
		"or send a reference to what is large")
)

// Errors of transports, for the package itself.
var (
	errRevision = errors.New("another revision than expected")
	errNoEntry  = errors.New("no entry")
	errDeposed  = errors.New("another node owns the partition by now")
)

func errorf(of error, format string, args ...any) error {
	return fmt.Errorf("nats: %w: %s", of, fmt.Sprintf(format, args...))
}
