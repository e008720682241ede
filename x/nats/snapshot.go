package nats

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// A snapshot is what the states bucket has of a key. Its bytes, little-endian: "cs1", token, seq,
// at (8 bytes each), number of ids (2), the ids (8 each), the encoded state.
type snapshot struct {
	token uint64   // the owner's that wrote it
	seq   uint64   // the last message that was handled,
	at    int64    // and when it was stored, in ns of Unix time: numbers may come again, see place
	ids   []uint64 // hashes of the last ids, oldest first
	state []byte
}

const snapshotForm = "cs1"

func snapshotKey(kind, key string) string {
	return kind + "." + base64.RawURLEncoding.EncodeToString([]byte(key))
}

func (s *snapshot) encode() []byte {
	b := make([]byte, 0, len(snapshotForm)+26+8*len(s.ids)+len(s.state))
	b = append(b, snapshotForm...)
	b = binary.LittleEndian.AppendUint64(b, s.token)
	b = binary.LittleEndian.AppendUint64(b, s.seq)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.at))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s.ids)))
	for _, id := range s.ids {
		b = binary.LittleEndian.AppendUint64(b, id)
	}
	return append(b, s.state...)
}

func decodeSnapshot(b []byte) (s snapshot, err error) {
	const head = len(snapshotForm) + 26
	if len(b) < head || string(b[:3]) != snapshotForm {
		return s, fmt.Errorf("snapshot %w: it is not one of this version", ErrDecode)
	}
	b = b[3:]
	s.token = binary.LittleEndian.Uint64(b)
	s.seq = binary.LittleEndian.Uint64(b[8:])
	s.at = int64(binary.LittleEndian.Uint64(b[16:]))
	n := int(binary.LittleEndian.Uint16(b[24:]))
	b = b[26:]
	if len(b) < 8*n {
		return s, fmt.Errorf("snapshot %w: it is cut off", ErrDecode)
	}
	for range n {
		s.ids = append(s.ids, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	s.state = b
	return s, nil
}

// has tells whether a message was handled already. Messages of a key are handled in the order of
// the stream, so the last one's place tells for all redelivered ones; the id for those that were
// published twice.
func (s *snapshot) has(d *delivery) bool {
	return d.seq <= s.seq && d.time.UnixNano() <= s.at || slices.Contains(s.ids, hash(d.id))
}

// handled notes a message.
func (s *snapshot) handled(d *delivery, window int) {
	s.seq, s.at = d.seq, max(s.at, d.time.UnixNano())
	if n := len(s.ids) + 1 - window; n > 0 {
		s.ids = slices.Delete(s.ids, 0, n)
	}
	s.ids = append(s.ids, hash(d.id))
}
