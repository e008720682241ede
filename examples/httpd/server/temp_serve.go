package server

import (
	"context"
	"net"
	"time"

	"github.com/organzine/coro"
)

func ServeTemp(s *coro.Scheduler, ctx context.Context, l net.Listener, f coro.Func[coro.FD, coro.None]) error {
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		c, err := l.Accept()
		if err != nil {
			time.Sleep(300 * time.Millisecond)
			return context.Cause(ctx)
		}
		fd, err := s.Adopt(c.(*net.TCPConn))
		if err != nil {
			return err
		}
		t, err := f.Start(s, fd)
		if err != nil {
			return err
		}
		go func() { t.Wait(context.Background()); fd.Close() }()
	}
}
