package nats

import "context"

// A Turn is a handler's, while it handles one message.
type Turn[S any] struct {
	// State is the key's. It is encoded, and written, after the messages that have come
	// together; then they are acked.
	State *S

	ctx       context.Context
	of        *delivery
	token     uint64
	answer    any
	answered  bool
	unchanged bool
}

// Context ends when the partition is another node's: then what the handler does is in vain.
func (t *Turn[S]) Context() context.Context { return t.ctx }

// Key is the actor's.
func (t *Turn[S]) Key() string { return t.of.key }

// ID is the message's: the same each time that it is handled. It is what others need to do
// something once only.
func (t *Turn[S]) ID() string { return t.of.id }

// Header is the message's.
func (t *Turn[S]) Header(name string) string { return t.of.header[name] }

// Token is the fencing token: that of a later owner of the key is higher. Others that are written
// to can refuse a token that is lower than the last one.
func (t *Turn[S]) Token() uint64 { return t.token }

// Answer is what Ask returns, as JSON. It is sent when the state is written. The last one counts.
// One that cannot be encoded is a failed try of the message, as an error of the handler.
func (t *Turn[S]) Answer(v any) { t.answer, t.answered = v, true }

// Unchanged says that the message has changed nothing, so that no snapshot is written for it. It
// may be handled again then. Its answer may be from an old state, if the node was stopped
// meanwhile, and another has taken the partition: what must not be so does without Unchanged.
func (t *Turn[S]) Unchanged() { t.unchanged = true }
