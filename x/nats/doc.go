// Package nats has virtual actors past one machine: each key of a kind is an actor, which is at one
// node of a cluster at a time, is made by its first message, and has its state in a bucket of NATS
// JetStream. Nodes come and go; what was accepted is handled.
//
//	conn, err := natsgo.Connect(url, natsgo.MaxReconnects(-1))      // github.com/nats-io/nats.go
//	node, err := nats.Join(ctx, nats.Over(conn), nats.Options{})    // or nats.Loopback()
//	accounts, err := nats.Define(node, "account",
//		func(c *nats.Turn[Account], m Msg) error { … },
//		nats.Messages(nats.OneOf[Msg](Deposit{}, Balance{})))
//	err = node.Start()
//	err = accounts.Tell(ctx, "7", Deposit{100})                     // stored, when it returns
//	balance, err := nats.Ask[int64](ctx, accounts.To("7", Balance{}))
//	err = node.Leave(ctx)                                           // hands everything over
//
// Inside of a process a message of package actor takes well under a microsecond; here it takes
// milliseconds. Give a key to what has to be one across machines, and use package actor within.
//
// Promised: a message that Tell has accepted is handled, or becomes a dead letter, as long as the
// servers keep what they have stored. Messages of a key are handled in the order in which they were
// stored. What a handler does to its State counts once for each message, and once for each id
// within the window. At most one activation of a key can write. Not promised: that a handler is
// called once only for each message, so what it does elsewhere has to be idempotent (Turn.ID,
// Turn.Token); that there is only one activation at a time; that an answer comes; that the answer
// of an Unchanged turn is from the last state.
//
// # The protocol
//
// The servers have, for each cluster: a work-queue stream, in which each partition has a subject; a
// bucket of members, with an entry for each node and each partition; a bucket of states, with an
// entry for each key. Where there are replicas, the buckets are read at the server that leads:
// another may not have the last writes yet.
//
//	sender
//	NSD1  partition = hash(kind, key) mod Partitions
//	NSD2  publish to the partition's subject, with the id as Nats-Msg-Id; again with the same id
//	      until the stream has acknowledged it, or the context ends
//
//	session: what makes a node live
//	NSN1  create node.NAME = {session, serves}; if there is one of another node, it is
//	      overwritten when it has not changed for 1.25 TTL
//	NSN2  each TTL/4 write it again if its revision is that of the last time. The session lasts
//	      for a TTL from before the last write that was acknowledged. When it is over, or the
//	      entry is another's, all holds are lost (NHD9), and the node goes on at NSN1
//	NSN3  all nodes watch the bucket. Who sees that an entry has not changed for 1.25 TTL, by a
//	      clock of its own, deletes it, if it has still that revision. Clocks are not compared
//
//	hold: a node's time with a partition
//	NHD1  the owner of a partition is the node with the highest hash(node, partition) of those
//	      that serve. The bucket's order is the same for all watchers
//	NHD2  the owner takes the lease, if it was given back, if its holder's session is not there
//	      any more, or if it is its own: it writes lease.PARTITION = {node, session}, if the
//	      entry has still the revision seen. The new revision is the hold's token
//	NHD3  it creates the consumer pPARTITION-TOKEN. A work queue has one consumer a subject: the
//	      one that is there is deleted first. So old owners pull nothing more, and their acks
//	      are acks of nothing. The new consumer begins with the first message that was not acked
//	NHD4  it reads the lease: if it is another's by now, it deletes its consumer, and NHD9
//	NHD5  deliveries are numbered 1, 2, 3… If one is missing, NHD9: those after it do not
//	      overtake it. The numbers count within one connection: a delivery by another one, or an
//	      error of the client, such as a missing heartbeat, is NHD9, too. A message that comes
//	      again while it is in hand is left out; one that was finished is acked
//	NHD6  messages that have come together go to their keys' actors, one batch for each
//	NHD7  an actor loads the snapshot, when it has none, and its revision. A token higher than
//	      the hold's: NHD9. It leaves out messages that the snapshot says were handled (place,
//	      id), handles the others, writes the snapshot {token, place, ids, state} if the entry
//	      has still that revision, sends the answers, and acks. Another revision: it loads
//	      again. A failed message is handled again at its place, alone, with the state of the
//	      snapshot; then it is a dead letter
//	NHD8  another node is the owner: finish the batches in hand, delete the consumer, give the
//	      lease back ({}, if it has still the token as revision). Where that fails it is tried
//	      again
//	NHD9  lost: stop at once, write nothing, ack nothing, go on at NHD1; if another node is the
//	      owner by now, the lease is given back
//
//	streams
//	NSV1  a node remembers when the stream and the buckets were made that it has found at its
//	      Join
//	NSV2  each TTL/2 it asks for them. Where the servers say for TTL/2 that one is not there, or
//	      is another one, the node fails. No answer says nothing
//	NSV3  a bucket's first revision is the time at which it is made, in µs: tokens grow also
//	      where the members were deleted, and made again, so that snapshots of before count as
//	      older
//	NSV4  the stream refuses what is beyond MaxBytes, so that NSN2, NHD2 and NHD7 can write
//	      while it is full
//
// What happens if a node dies, or is cut off, after each step:
//
//	NSD2: the message is stored or not. The sender that tries again with the same id stores one
//	NSN1, NSN2, NSN3: its session ends in NSN3; another node may delete it, too: one of the
//	    deletes counts
//	NHD2: the session ends; another node takes the lease, with a higher token
//	NHD3: the same; the consumer is deleted in the next owner's NHD3. If it is not dead, but
//	    late, its consumer may have replaced that of the next owner: NHD4 deletes it; the next
//	    owner finds its own gone, by an error of the client (NHD5), and takes its lease again
//	NHD5, NHD6: nothing was acked: the next owner's consumer begins with the same messages
//	NHD7: before the write: as NHD5. After the write: the next owner finds the messages in the
//	    snapshot, and acks them; answers are lost. A late write of an old owner fails if the
//	    new one has written; if not, it counts, and the new owner's write fails: that loads
//	    again
//	NHD8: the batches are finished, or come again; the lease is given back, or its holder's
//	    session ends
//
// The order of a key holds across owners: each consumer begins with the first message that is not
// acked, its deliveries have no gaps, and failed messages are handled at their place.
//
// If the server dies: one that is killed has what it has acknowledged, and may have forgotten acks;
// such messages come again, and are found in the snapshot. It may have forgotten deliveries, too,
// and give their numbers to other messages, and some of these are lost as the connection is: so the
// numbers of NHD5 do not count across connections. After a power failure a server without
// sync_interval: always, or without replicas, may have lost the last messages and snapshots.
//
// A process that is stopped past its TTL, and goes on: its handler's write is refused (NHD7), its
// acks are those of a consumer that is gone (NHD3), its renewal fails (NSN2). Only the answer of an
// Unchanged turn, for which nothing is written, may be sent from an old state.
package nats
