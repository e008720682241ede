package coro

import (
	"context"
	"errors"
)

// AwaitAll is [Task.Await] of several tasks, for the body of c: it returns when all have ended, with
// their results in the order of tasks. The errors of those that failed, each a *CallError with the
// index of the task, are joined by [errors.Join]; their results are zero. If ctx ends first, or c is
// canceled, AwaitAll returns the cause, and the results that were there in order; the tasks go on. It
// costs an Await for each task, and the slice.
func AwaitAll[R any](ctx context.Context, c *Coroutine, tasks ...*Task[R]) ([]R, error) {
	results := make([]R, len(tasks))
	var errs []error
	for i, t := range tasks {
		r, err := t.Await(ctx, c)
		if err != nil && t.finished.Load() {
			r, err = t.Await(ctx, c) // of the task, if that has ended meanwhile
			if err != nil {
				errs = append(errs, &CallError{i, err})
			}
		} else if err != nil {
			return results, err
		}
		results[i] = r
	}
	return results, errors.Join(errs...)
}
