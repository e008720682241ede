package nats

// dead makes a message a dead letter. It is called before the ack.
func (n *Node) dead(d *delivery, tries int, err error) {
	n.o.Log.Error("dead letter", "kind", d.kind, "key", d.key, "id", d.id, "tries", tries, "err", err)
	if d.reply != "" {
		d.answered = &message{fail: errorf(ErrDead, "%v", err).Error()}
	}
	if n.o.OnDeadLetter == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			n.o.Log.Error("OnDeadLetter has panicked", "value", v)
		}
	}()
	n.o.OnDeadLetter(DeadLetter{d.kind, d.key, d.id, d.data, d.header, tries, err})
}
