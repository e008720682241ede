package coro

import (
	"context"
	"reflect"
	"time"
	"unsafe"

	"github.com/organzine/coro/internal/ctxerr"
)

// The contexts that coroutines are started with. What a user wrote is called by the goroutine that
// starts, when nothing is held, and never again by the library: later questions are asked of a tame
// context. Values and the deadline are the exceptions, which a body or a called function asks for
// itself.

// A context is tame if Err, Done, context.Cause, and whatever a derived context asks for to begin
// and to end, are all code of package context. tame returns ctx if that is tame, else a tame
// context that ends with it. free is to be called when nobody needs the tame context any more; nil:
// there is nothing to free.
func tame(ctx context.Context) (tamed context.Context, free func()) {
	if isTame(ctx) {
		return ctx, nil
	}
	if ctx.Done() == nil {
		return context.WithoutCancel(ctx), nil
	}
	tamed, quit := context.WithCancelCause(ctx)
	return tamed, func() { go release(quit) }
}

// release ends a tame context, which asks the user's own: a goroutine does it, since that may
// block. A panic there has no caller to go to.
func release(quit context.CancelCauseFunc) {
	defer func() { _ = recover() }()
	quit(context.Canceled)
}

// A settledContext is a tame context that knows its deadline: no method but Value is a user's code.
type settledContext struct {
	context.Context
	at time.Time // zero: there is no deadline
}

func (s settledContext) Deadline() (time.Time, bool) { return s.at, !s.at.IsZero() }

// settle asks ctx for all that will be needed, as newStartContext does. free is to be called when
// nobody needs the settled context any more.
func settle(ctx context.Context) (settled context.Context, free func()) {
	own := newStartContext(ctx)
	return settledContext{own.ctx, own.deadline}, own.drop
}

// isTame looks for the first context with an end of its own, beyond contexts that add a value.
func isTame(ctx context.Context) bool {
	switch ctx.(type) {
	case *ownContext, settledContext: // derived from a tame one
		return true
	}
	for {
		switch t := reflect.TypeOf(ctx); t {
		case backgroundType, todoType, withoutCancelType, cancelType, timerType:
			return true
		case valueType:
			if !valueHasParent {
				return false
			}
			ctx = reflect.ValueOf(ctx).Elem().Field(0).Interface().(context.Context)
		default:
			return false
		}
	}
}

// isBackground is ctx == context.Background(), without a call: all values of that type are equal.
func isBackground(ctx context.Context) bool {
	typeOf := func(c *context.Context) unsafe.Pointer {
		return *(*unsafe.Pointer)(unsafe.Pointer(c))
	}
	return typeOf(&ctx) == typeOf(&background)
}

var background = context.Background()

// The types of package context, which have no exported names.
var (
	backgroundType    = reflect.TypeOf(context.Background())
	todoType          = reflect.TypeOf(context.TODO())
	withoutCancelType = reflect.TypeOf(context.WithoutCancel(context.Background()))
	valueType         = reflect.TypeOf(context.WithValue(context.Background(), bodyKey{}, nil))
	cancelType        = func() reflect.Type {
		ctx, quit := context.WithCancel(context.Background())
		quit()
		return reflect.TypeOf(ctx)
	}()
	timerType = func() reflect.Type {
		ctx, quit := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
		quit()
		return reflect.TypeOf(ctx)
	}()
)

// valueHasParent: the parent of a context that adds a value can be looked at.
var valueHasParent = valueType.Kind() == reflect.Pointer &&
	valueType.Elem().Kind() == reflect.Struct && valueType.Elem().NumField() > 0 &&
	valueType.Elem().Field(0).Type == reflect.TypeFor[context.Context]() &&
	valueType.Elem().Field(0).IsExported()

// causeOfCancel is why a coroutine is canceled that was started with ctx (nil: with none), if the
// canceler does not say.
func causeOfCancel(ctx context.Context) error {
	if ctx != nil {
		if err := causeOf(ctx); err != nil {
			return err
		}
	}
	return ErrCanceled
}

// A memberContext is the context of a member of a group that was given one of its own. It ends with
// its own. At the end of the group's context the group cancels the member.
type memberContext struct {
	context.Context
	group *Group
}

// Deadline is the earlier one.
func (m memberContext) Deadline() (time.Time, bool) {
	at, ok := m.Context.Deadline()
	return m.group.earlier(at, ok)
}

// earlier is the deadline of the group, or the other one, if there is one and it comes first.
func (g *Group) earlier(at time.Time, ok bool) (time.Time, bool) {
	if g.hasDeadline && (!ok || g.deadline.Before(at)) {
		return g.deadline, true
	}
	return at, ok
}

// A startContext is a context given to a start.
type startContext struct {
	ctx         context.Context // tame
	free        func()          // as of tame
	deadline    time.Time       // of ctx, or of the group if that is earlier; zero: none
	hasDeadline bool            // ctx itself has one
}

// mayBind is ErrBubble in a bubble, where ctx may end: its end is not to be heard of outside.
func mayBind(ctx context.Context) error {
	if ctx.Done() == nil {
		return nil
	}
	return outside()
}

// contextIn is how a start in a scope begins whose coroutine the end of ctx cancels. On an error
// nothing is to be started.
func contextIn(ctx context.Context, in Scope) (own startContext, s *Scheduler, g *Group, err error) {
	if ctx.Err() != nil {
		return own, nil, nil, ctxerr.Of(ctx)
	}
	if err := mayBind(ctx); err != nil {
		return own, nil, nil, err
	}
	s, g = in.scope()
	return newStartContext(ctx), s, g, nil
}

// newStartContext asks ctx, which may be the user's own, and panic, for all that is needed. Nothing
// is held then.
func newStartContext(ctx context.Context) (s startContext) {
	if isBackground(ctx) {
		return startContext{ctx: ctx}
	}
	s.deadline, s.hasDeadline = ctx.Deadline()
	s.ctx, s.free = tame(ctx)
	return s
}

// ask is newStartContext, once.
func (s *startContext) ask(ctx context.Context) {
	if s.ctx == nil {
		*s = newStartContext(ctx)
	}
}

// in is the context of a member of the group.
func (s startContext) in(g *Group) startContext {
	s.ctx = memberContext{s.ctx, g}
	s.deadline, _ = g.earlier(s.deadline, s.hasDeadline)
	return s
}

// drop is to be called when nobody needs the context any more.
func (s startContext) drop() {
	if s.free != nil {
		s.free()
	}
}

// stopAnd is stop and drop.
func (s startContext) stopAnd(stop func() bool) func() bool {
	if s.free == nil {
		return stop
	}
	return func() bool { defer s.free(); return stop() }
}

// causeOf is the cause of the end of a context given at a start, or of the group's; nil: neither
// has ended.
func causeOf(ctx context.Context) error {
	if over := overOf(ctx); over != nil {
		return context.Cause(over)
	}
	return nil
}

// overOf is a context given at a start, or the group's, if it has ended; nil: neither has.
func overOf(ctx context.Context) context.Context {
	if ctx == nil || ctx.Err() != nil {
		return ctx
	}
	if m, ok := ctx.(memberContext); ok && m.group.ctx.Err() != nil {
		return m.group.ctx
	}
	return nil
}
