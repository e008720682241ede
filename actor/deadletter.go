package actor

import "sync/atomic"

// A Cause is why a message is a dead letter.
type Cause int

const (
	Stopped Cause = iota // its actor has ended, or the state that has called After for it
	Failed               // its actor's behaviour has failed with it
	Refused              // a subscriber of a Topic has not accepted it: its mailbox is full
	causes
)

func (c Cause) String() string {
	switch c {
	case Stopped:
		return "stopped"
	case Failed:
		return "failed"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// A DeadLetter is a message that was accepted, by an actor or a Topic, and is not handled. When
// OnDeadLetter has seen it, the caller that waits for the answer gets Err: see Reply.
type DeadLetter struct {
	To      string // the actor's name, or that of a reference that has subscribed
	Message any
	Cause   Cause
	Err     error // ErrStopped, a *Failure, or the error of a subscriber that has refused
}

type deadLetters [causes]atomic.Uint64

// dead makes the message at hand a dead letter.
func (p *pool[M]) dead(c *actorOf[M], n *node[M], cause Cause, err error) {
	if n.x == nil || n.x.call == nil {
		p.deadMessage(c, *n.message(), cause, err)
	} else if n.x.failed != nil && cause == Failed {
		n.x.failed(err)
	}
	n.failAsker(err)
}

func (p *pool[M]) deadMessage(c *actorOf[M], m M, cause Cause, err error) {
	p.sys.dead[cause].Add(1)
	if hook := &p.sys.onDeadLetter; hook.IsThere() {
		hook.tell(DeadLetter{c.name(), m, cause, err})
	}
	if p.replies != nil {
		p.failReplies(m, err)
	}
}

// dropped tells those that wait for the answer to the message at hand, which is forgotten.
func (p *pool[M]) dropped(n *node[M], err error) {
	if p.replies != nil && (n.x == nil || n.x.call == nil) {
		p.failReplies(*n.message(), err)
	}
	n.failAsker(err)
}
