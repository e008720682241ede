//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
)

func TestErrorsSayWhereTheyComeFromAndDiffer(t *testing.T) {
	all := []error{
		coro.ErrClosed, coro.ErrNoMemory, coro.ErrCanceled, coro.ErrAborted, coro.ErrStale,
		coro.ErrBusy, coro.ErrEnded,
		coro.ErrPaused, coro.ErrThread, coro.ErrNoCgo, coro.ErrOverflow,
		&coro.OptionError{What: "WithX", Value: 3,
			Reason: "must be less"}, &coro.DeadlockError{}, &coro.RunningError{},
	}
	seen := map[string]bool{}
	for _, err := range all {
		assert.True(t, strings.HasPrefix(err.Error(), "coro: "), err.Error())
		assert.False(t, seen[err.Error()])
		seen[err.Error()] = true
	}
	assert.Equal(t, "coro: WithX(3): must be less", all[11].Error())
}

func TestADeadlockErrorNamesTheFirstFew(t *testing.T) {
	e := &coro.DeadlockError{Count: 12}
	for i := range 9 {
		e.Blocked = append(e.Blocked, coro.BlockedCoroutine{Func: fmt.Sprint("f", i),
			Waits: "park"})
	}
	assert.Equal(t,
		"coro: deadlock: 12 coroutines wait for ever; f0 in park; f1 in park; f2 in park; "+
			"f3 in park; f4 in park; f5 in park; f6 in park; f7 in park; …", e.Error())
	e = &coro.DeadlockError{Count: 1, Blocked: []coro.BlockedCoroutine{{Func: "f",
		Waits: "join"}}}
	assert.Equal(t, "coro: deadlock: 1 coroutine waits for ever; f in join", e.Error())
}

func TestARunningErrorNamesAndWraps(t *testing.T) {
	var err error = &coro.RunningError{Funcs: []string{"f", "g"},
		Cause: context.DeadlineExceeded}
	assert.Equal(t, "coro: close: still running: f, g: context deadline exceeded", err.Error())
	assert.True(t, errors.Is(err, context.DeadlineExceeded))
	err = &coro.RunningError{Funcs: []string{"f", "g", "f", "f"}, Cause: context.Canceled}
	assert.Equal(t, "coro: close: still running: f (3 times), g: context canceled", err.Error())
	err = &coro.RunningError{Cause: context.Canceled}
	assert.Equal(t, "coro: close: threads are still ending: context canceled", err.Error())
}

func TestAPanicErrorIsOneLineAndPrintsItsStackWhenAsked(t *testing.T) {
	cause := errors.New("no luck")
	const stack = "goroutine 1 [running]:\nmain.f()\n"
	var err error = &coro.PanicError{Value: cause, Stack: []byte(stack)}
	const line = "coro: panic: no luck"
	assert.Equal(t, line, err.Error())
	for _, verb := range []string{"%v", "%s"} {
		assert.Equal(t, line, fmt.Sprintf(verb, err))
	}
	assert.Equal(t, `"`+line+`"`, fmt.Sprintf("%q", err))
	assert.Equal(t, line+"\n\n"+stack, fmt.Sprintf("%+v", err))
	assert.ErrorIs(t, fmt.Errorf("in a request: %w", err), cause)
}

func TestErrorsSayWhatThereIsNoMemoryFor(t *testing.T) {
	s := newScheduler(t)
	_, err := coro.NewChan[[64 << 10]byte](s, 1<<31) // 2⁴⁷ bytes
	assert.ErrorIs(t, err, coro.ErrNoMemory)
	assert.Equal(t, "coro: no memory for a channel with room for 2147483648 values of "+
		"65536 bytes: make it with a smaller capacity", err.Error())
	assert.NotContains(t, coro.ErrNoMemory.Error(), "memory for", "it may be for anything")
}

func TestErrorsSayWhichArgumentIsWrong(t *testing.T) {
	_, err := coro.New(coro.WithSharedStacks(16, 0))
	optionError(t, err, "WithSharedStacks", "the bytes of a stack, the second argument, ")
	_, err = coro.New(coro.WithSharedStacks(0, 4096))
	optionError(t, err, "WithSharedStacks", "the number of stacks ")
	a, b := newScheduler(t), newScheduler(t)
	_, err = coro.Select(background, coro.OnRecv(newChan[int](t, a, 0), nil),
		coro.OnRecv(newChan[int](t, b, 0), nil))
	optionError(t, err, "Select", "the case of this index")
}

// Handles print as gdb and reports of crashes print them.
func TestHandlesBlockedCoroutinesAndStatsPrintWell(t *testing.T) {
	h := coro.Handle(0x10000003f)
	for verb, want := range map[string]string{
		"%v": "0x10000003f", "%s": "0x10000003f", "%+v": "0x10000003f", "%q": `"0x10000003f"`,
		"%14v|": "   0x10000003f|", "%-14s|": "0x10000003f   |",
		"%d": "4294967359", "%x": "10000003f", "%#X": "0X10000003F",
	} {
		assert.Equal(t, want, fmt.Sprintf(verb, h), verb)
	}
	assert.Equal(t, "0x10000003f", h.String())

	c := coro.BlockedCoroutine{Handle: h, Func: "relay", Worker: 2, Waits: "receive"}
	assert.Equal(t, "0x10000003f relay in receive, worker 2", fmt.Sprint(c))
	b := coro.BlockedCoroutine{Handle: h, Func: "main.f", Worker: -1, Waits: "await"}
	assert.Equal(t, "[0x10000003f main.f in await, a Go body]",
		fmt.Sprint([]coro.BlockedCoroutine{b}))

	st := coro.Stats{Workers: 2, Live: 3, Stalled: true, Stacks: 4, StacksIdle: 1,
		StackBytes: 64 << 10, PerWorker: []coro.WorkerStats{{Switches: 77}, {}}}
	line := fmt.Sprint(st)
	assert.NotContains(t, line, "\n")
	for _, part := range []string{"coroutines: 3 live", "stalled", "workers: 2, 0 awake",
		"stacks: 4, 1 idle, 64 KiB"} {
		assert.Contains(t, line, part)
	}
	assert.NotContains(t, line, "77")
	assert.Contains(t, fmt.Sprintf("%+v", st), "Switches:77", "all fields")
	assert.Contains(t, fmt.Sprintf("%+v", st), "Live:3")
}
