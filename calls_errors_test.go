//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type silly struct{}

func (*silly) Error() string { panic("no") }

func TestErrorsAndPanicsComeBackAsText(t *testing.T) {
	fails := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		return 1, fmt.Errorf("no such number: %d", n)
	})
	panics := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		panic(fmt.Sprintf("not %d!", n))
	})
	nothing := coro.MustExportFunc(func(context.Context, int64) (int64, error) { panic(nil) })
	nilPointer := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		var p *int64
		return n + *p, nil
	})
	badError := coro.MustExportFunc(func(context.Context, int64) (int64, error) {
		return 0, (*silly)(nil)
	})
	long := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		return 0, errors.New(strings.Repeat("x", int(n)))
	})
	huge := coro.MustExportFunc(func(_ context.Context, b []byte) (int64, error) {
		return int64(len(b)), nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		failed := func(id coro.FuncID, n int64) string {
			came := calling(t, s, how, id, n)
			assert.Equal(t, testbody.EFAILED, came.Status)
			assert.Zero(t, came.Number, "no result")
			return text(came)
		}
		for range 3 {
			assert.Equal(t, "no such number: 7", failed(fails, 7))
			assert.True(t, strings.HasPrefix(failed(panics, 7),
				"panic: not 7!\n\ngoroutine "))
			assert.Contains(t, failed(nothing, 0), "panic: panic called")
			assert.Contains(t, failed(nilPointer, 0), "panic: runtime error: ")
			assert.NotEmpty(t, failed(badError, 0))
			assert.EqualValues(t, 16<<10, calling(t, s, how, long, 1<<20).Text,
				"texts are cut off there")
		}
		assert.Equal(t, testbody.Came{Got: 8}, calling(t, s, how, huge, 0, argBytes(0)))
		assert.Equal(t, testbody.Came{Got: 8, Number: 1}, calling(t, s, how, increment, 0),
			"and it goes on")
	})
}

func TestPanicsAmongManyCallersHitTheirOwn(t *testing.T) {
	odd := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		switch n % 4 {
		case 1:
			panic(n)
		case 3:
			return 0, fmt.Errorf("error: %d", n)
		}
		return n, nil
	})
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		var tasks []*coro.Task[testbody.Came]
		for n := range int64(scaled(4000)) {
			task, err := callOne.Start(s, testbody.Call{ID: uint32(odd), How: how,
				Number: n, ArgBytes: 8, ResultBytes: 8})
			require.NoError(t, err)
			tasks = append(tasks, task)
		}
		for n, task := range tasks {
			came, err := task.Wait(soon(t))
			require.NoError(t, err)
			switch n % 4 {
			case 1:
				assert.True(t, strings.HasPrefix(text(came),
					fmt.Sprintf("panic: %d\n", n)), text(came))
			case 3:
				assert.Equal(t, fmt.Sprintf("error: %d", n), text(came))
			default:
				assert.Equal(t, testbody.Came{Got: 8, Number: int64(n)}, came)
			}
		}
	})
}

func init() {
	children["goexit inline"] = func() { goexitInline(callOne, (*coro.Scheduler).Wait) }
	children["goexit on the main worker"] = func() {
		goexitInline(callOne.OnWorker(1), (*coro.Scheduler).RunMain)
	}
	children["goexit in ServeMain"] = func() {
		goexitInline(callOne.OnWorker(1), (*coro.Scheduler).ServeMain)
	}
}

// goexitInline has f call a function that ends its goroutine, and waits for that.
func goexitInline(
	f coro.Func[testbody.Call, testbody.Came], wait func(*coro.Scheduler, context.Context) error,
) {
	s, err := coro.New(coro.WithWorkers(1), coro.WithMainThread())
	if err != nil {
		panic(err)
	}
	id, err := coro.ExportFuncNamed("a function that leaves",
		func(context.Context, int64) (int64, error) {
			runtime.Goexit()
			return 0, nil
		})
	if err != nil {
		panic(err)
	}
	_ = f.Spawn(s, testbody.Call{ID: uint32(id), How: testbody.Inline, ArgBytes: 8,
		ResultBytes: 8})
	waited := make(chan error)
	go func() { // it is this goroutine that might end alone
		defer close(waited)
		waited <- wait(s, background)
	}()
	<-waited
	fmt.Println("it lives on")
}

func TestGoexitInAnInlineCallIsNamedAndEndsTheProcess(t *testing.T) {
	for _, name := range []string{"goexit inline", "goexit on the main worker",
		"goexit in ServeMain"} {
		out, err := child(t, name)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%s: %s", name, out)
		assert.Equal(t, 2, exit.ExitCode(), name)
		assert.Contains(t, out,
			"coro: runtime.Goexit (or FailNow of a test) "+
				"in the Go function a function that leaves, ")
		assert.Contains(t, out, "goexitInline.func1", "what has left: %s", name)
		assert.NotContains(t, out, "it lives on", name)
	}
}
