package main

import (
	"fmt"
	"io"
	"time"
)

// soaked loads httpd with all variants by turns, and compares its memory after a minute with that
// at the end. A server that keeps nothing of its requests has the same, but for what allocators do.
func soaked(out io.Writer, d time.Duration, connections int) error {
	if d < 2*time.Minute {
		return fmt.Errorf("-soak %v: want 2m or more", d)
	}
	p, err := startServer(options{}, sysCoro, 2)
	if err != nil {
		return err
	}
	defer p.end() //nolint:errcheck // it was killed
	const part = 5 * time.Second
	var early, requests int64
	begin := time.Now()
	for i := 0; time.Since(begin) < d; i++ {
		l := load{address: p.address, variant: variants[i%len(variants)],
			connections: connections}
		r, err := l.run(part)
		if err != nil {
			return err
		}
		requests += r.requests
		if early == 0 && time.Since(begin) > time.Minute {
			if early, err = p.memory(); err != nil {
				return err
			}
		}
	}
	late, err := p.memory()
	if err != nil {
		return err
	}
	const mib = 1 << 20
	fmt.Fprintf(out, "%d requests in %v: %.1f MiB after a minute, %.1f MiB at the end\n", requests,
		time.Since(begin).Round(time.Second), float64(early)/mib, float64(late)/mib)
	if limit := early + early/5 + 4*mib; late > limit {
		return fmt.Errorf("memory has grown")
	}
	return nil
}
