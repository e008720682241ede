package actor

import "testing"

type ball struct {
	from int32
	n    int64
}

func BenchmarkPair(b *testing.B) {
	y := open(b, Executors(1))
	done := make(chan struct{})
	var refs [2]Ref[ball]
	left := b.N
	for i := range refs {
		refs[i] = spawn(b, y, func(c *Context[ball], m ball) error {
			if left--; left == 0 {
				close(done)
			} else if left > 0 {
				return refs[1-i].Tell(ball{from: int32(i), n: m.n + 1})
			}
			return nil
		})
	}
	b.ResetTimer()
	_ = refs[0].Tell(ball{})
	<-done
}

func BenchmarkCounting(b *testing.B) {
	y := open(b, Executors(1))
	done := make(chan struct{})
	left := b.N
	counts := spawn(b, y, func(c *Context[ball], m ball) error {
		if left--; left == 0 {
			close(done)
		}
		return nil
	})
	sends := spawn(b, y, func(c *Context[ball], m ball) error {
		for i := range b.N {
			if err := counts.Tell(ball{n: int64(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	b.ResetTimer()
	_ = sends.Tell(ball{})
	<-done
}
