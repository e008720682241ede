package coro

import (
	"context"
	"errors"
)

// AwaitAll is [Task.Await] of several tasks, for the body of c: it returns when all have ended,
// with their results in the order of tasks. The errors of those that failed, each a *CallError with
// the index of the task, are joined by [errors.Join]; their results are zero. If ctx ends first, or
// c is canceled, AwaitAll returns the cause, and the results of those before the first that has not
// ended; the tasks go on. But tasks that borrow memory (see [Slice]) are canceled, and AwaitAll
// returns at their ends. It costs an Await for each task, and the slice.
func AwaitAll[R any](ctx context.Context, c *Coroutine, tasks ...*Task[R]) ([]R, error) {
	results := make([]R, len(tasks))
	var errs []error
	for i, t := range tasks {
		if err := t.awaitEnd(ctx, c); err != nil {
			for _, other := range tasks[i+1:] {
				if other.borrows {
					_ = other.awaitEnd(ctx, c)
				}
			}
			return results, err
		}
		if r, err := t.outcome(); err != nil {
			errs = append(errs, &CallError{i, err})
		} else {
			results[i] = r
		}
	}
	return results, errors.Join(errs...)
}
