package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A load is random transfers, by clients that each send one after the other.
type load struct {
	accounts, clients int
	lasts             time.Duration
	do                func(context.Context, record) (int64, error)
	rest              func(context.Context) error
}

const each = 1000 // is deposited into each account

func accountName(i int) string { return fmt.Sprintf("a%d", i) }

// run prints how long transfers took. It returns an error if the sum of all balances is not what
// was deposited.
func (l load) run(ctx context.Context, out io.Writer) error {
	for i := range l.accounts {
		r := record{Kind: deposit, Account: accountName(i), ID: "first", Amount: each}
		if _, err := l.again(ctx, r); err != nil {
			return err
		}
	}
	var clients sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration // by transfers that were done
	refused, unknown := 0, 0
	begin := time.Now()
	for i := range l.clients {
		clients.Go(func() {
			for n := 0; time.Since(begin) < l.lasts && ctx.Err() == nil; n++ {
				r := l.transfer(fmt.Sprintf("%x-%d-%d", begin.UnixNano(), i, n))
				at := time.Now()
				_, err := l.do(ctx, r)
				mu.Lock()
				if _, ok := errors.AsType[*refusal](err); ok {
					refused++
				} else if err != nil {
					unknown++
				} else {
					took = append(took, time.Since(at))
				}
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	lasted := time.Since(begin)
	if err := l.rest(ctx); err != nil { // transfers whose outcome is not known go on
		return err
	}
	if n := len(took); n > 0 {
		slices.Sort(took)
		fmt.Fprintf(out, "%d transfers, %.0f/s, p50 %v, p99 %v; %d refused, %d not answered\n", n,
			float64(n)/lasted.Seconds(), took[n/2].Round(time.Microsecond),
			took[n*99/100].Round(time.Microsecond), refused, unknown)
	}
	return l.check(ctx, out)
}

func (l load) transfer(id string) record {
	from := rand.IntN(l.accounts)
	to := (from + 1 + rand.IntN(l.accounts-1)) % l.accounts
	return record{Kind: transfer, ID: id, Account: accountName(from), Other: accountName(to),
		Amount: 1 + rand.Int64N(100)}
}

// again sends a request again and again, as accounts may panic.
func (l load) again(ctx context.Context, r record) (v int64, err error) {
	for range 100 {
		if v, err = l.do(ctx, r); err == nil {
			break
		}
	}
	return v, err
}

func (l load) check(ctx context.Context, out io.Writer) error {
	sum := int64(0)
	for i := range l.accounts {
		n, err := l.again(ctx, record{Kind: balance, Account: accountName(i)})
		if err != nil {
			return err
		}
		sum += n
	}
	want := int64(l.accounts) * each
	if sum != want {
		return fmt.Errorf("the accounts have %d, and %d was deposited", sum, want)
	}
	fmt.Fprintf(out, "the accounts have %d, as was deposited\n", sum)
	return nil
}
