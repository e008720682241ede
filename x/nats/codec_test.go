package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// badCodec is JSON that cannot have number 2.
type badCodec struct {
	Codec
	bad func()
}

func (c badCodec) Decode(data []byte, into any) error {
	err := c.Codec.Decode(data, into)
	if m, ok := into.(*entryOf); ok && m.Number == 2 {
		c.bad()
	}
	return err
}

// batchOf is messages that have come together, and the numbers of those that were acked.
func batchOf(t *testing.T, numbers ...int) (batch []*delivery, acked *[]int) {
	acked = new([]int)
	for _, i := range numbers {
		data, err := json.Marshal(entryOf{Number: i})
		require.NoError(t, err)
		batch = append(batch, &delivery{message: message{id: fmt.Sprint(i), kind: "ledger", key: "x", data: data},
			seq: uint64(i), time: time.Now(), ack: func() { *acked = append(*acked, i) }})
	}
	return batch, acked
}

// A Codec panics within a batch: that message alone is a dead letter.
func TestACodecThatPanics(t *testing.T) {
	var dead []DeadLetter
	n := join(t, Loopback(), Options{Partitions: 1, OnDeadLetter: func(d DeadLetter) {
		dead = append(dead, d)
	}})
	k, err := Define(n, "ledger", func(c *Turn[[]int], m entryOf) error {
		*c.State = append(*c.State, m.Number)
		return nil
	}, Messages(badCodec{JSON, func() { panic("number 2") }}))
	require.NoError(t, err)
	h := &hold{n: n, token: 1, ctx: n.ctx}
	a := &activation[[]int, entryOf]{k: k, h: h, key: "x"}
	batch, acked := batchOf(t, 1, 2, 3)
	require.NoError(t, a.Receive(nil, batch))
	require.False(t, h.lost.Load())
	require.Equal(t, []int{1, 2, 3}, *acked)
	require.Len(t, dead, 1)
	require.ErrorIs(t, dead[0].Err, ErrDecode)
	require.ErrorContains(t, dead[0].Err, "number 2")
	require.Equal(t, "[1,3]", stateOf(t, n, "x"))
}

// What ends a batch otherwise, here an ack, loses the hold: nothing of the batch is forgotten.
func TestABatchThatEndsByAPanic(t *testing.T) {
	n := join(t, Loopback(), Options{Partitions: 1})
	k, err := Define(n, "ledger", func(c *Turn[[]int], m entryOf) error {
		*c.State = append(*c.State, m.Number)
		return nil
	})
	require.NoError(t, err)
	h := &hold{n: n, token: 1}
	h.ctx, h.cancel = context.WithCancel(n.ctx)
	a := &activation[[]int, entryOf]{k: k, h: h, key: "x"}
	batch, acked := batchOf(t, 1, 2, 3)
	ack := batch[1].ack
	batch[1].ack = func() { panic("of a client") }
	require.Panics(t, func() { _ = a.Receive(nil, batch) })
	require.True(t, h.lost.Load())
	batch[1].ack = ack
	a.h = &hold{n: n, token: 1, ctx: n.ctx}
	require.NoError(t, a.Receive(nil, batch))
	require.Equal(t, []int{1, 1, 2, 3}, *acked)
	require.Equal(t, "[1,2,3]", stateOf(t, n, "x"))
}

// stateOf is the state of a ledger, as it is written.
func stateOf(t *testing.T, n *Node, key string) string {
	e, err := n.link.store(states).get(n.ctx, snapshotKey("ledger", key))
	require.NoError(t, err)
	s, err := decodeSnapshot(e.value)
	require.NoError(t, err)
	return string(s.state)
}
