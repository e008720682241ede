package nats

import "hash/fnv"

// MaxKey is the length of the longest key, in bytes.
const MaxKey = 256

func hash(parts ...string) uint64 {
	h := fnv.New64a()
	for _, s := range parts {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	x := h.Sum64() // FNV alone mixes the last bytes badly: the finalizer of MurmurHash3
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// partitionOf is that of a key. It is the same on each node, in each version.
func partitionOf(kind, key string, partitions int) int {
	return int(hash(kind, key) % uint64(partitions))
}

// ownerOf is the node that a partition should be at: that with the highest weight, so that a node
// that comes or goes moves only its own (rendezvous hashing, Thaler and Ravishankar 1998). "" if
// there is none.
func ownerOf(partition string, nodes []string) string {
	owner, most := "", uint64(0)
	for _, n := range nodes {
		if w := hash(n, partition); owner == "" || w > most || w == most && n < owner {
			owner, most = n, w
		}
	}
	return owner
}
