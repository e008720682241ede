package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fetch is a request by Go's own client.
func (s *server) fetch(method, path string, body io.Reader, header ...string) (answer, error) {
	request, err := http.NewRequestWithContext(soon(s.t), method, "http://"+s.address+path, body)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return answer{r.StatusCode, string(text), r.Close}, err
}

func TestClientsOfNetHTTPGetAnswers(t *testing.T) {
	s := start(t)
	atOnce(200, func(i int) {
		text := fmt.Sprint("text", i)
		for path, want := range map[string]answer{
			"/":               {200, "Hello, World!\n", false},
			"/inline?" + text: {200, strings.ToUpper(text), false},
			"/go?" + text:     {200, strings.ToUpper(text), false},
			"/go?2ms":         {200, "2MS", false},
			"/none":           {404, "Not Found\n", false},
			"/echo":           {405, "Method Not Allowed\n", false},
		} {
			got, err := s.fetch("GET", path, nil)
			assert.NoError(t, err)
			assert.Equal(t, want, got)
		}
		got, err := s.fetch("HEAD", "/", nil)
		assert.NoError(t, err)
		assert.Equal(t, answer{200, "", false}, got)
	})
	// More than what an answer of a Go function has room for.
	got, err := s.fetch("GET", "/go?"+strings.Repeat("x", 2000), nil)
	assert.NoError(t, err)
	assert.Equal(t, answer{500, "Internal Server Error\n", false}, got)
}

// Bodies of all sizes around those that are treated differently come back, with a length, in
// chunks, and with an expectation.
func TestBodiesComeBack(t *testing.T) {
	s := start(t)
	sizes := []int{0, 1, 100, 1023, 1024, 1025, 4096, 8191, 8192, 8193, 8600, 8704, 8705, 65536,
		1 << 20}
	atOnce(len(sizes)*3, func(i int) {
		body := make([]byte, sizes[i/3])
		for j := range body {
			body[j] = byte(j*7 + j>>8)
		}
		if i%3 == 1 {
			body = body[:min(len(body), 1<<20-1000)] // the chunks' own bytes count too
		}
		var in io.Reader = bytes.NewReader(body)
		var header []string
		switch i % 3 {
		case 1:
			in = io.MultiReader(in) // of which net/http does not know the length
		case 2:
			header = []string{"Expect", "100-continue"}
		}
		got, err := s.fetch("POST", "/echo", in, header...)
		assert.NoError(t, err)
		assert.Equal(t, 200, got.status)
		assert.True(t, string(body) == got.body, "%d bytes, way %d", len(body), i%3)
	})
}

// The server asks for the body that the client has announced, and not for one that is too long.
func TestExpectationsAreAnswered(t *testing.T) {
	s := start(t)
	c := s.dial()
	defer c.Close()
	in := bufio.NewReader(c)
	ask := func(text string) string {
		_, err := io.WriteString(c, text)
		require.NoError(t, err)
		r, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return fmt.Sprint(r.StatusCode, " ", string(body))
	}
	for range 3 {
		assert.Equal(t, "100 ", ask(post+"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"))
		assert.Equal(t, "200 hello", ask("hello"))
		assert.Equal(t, "100 ", ask(post+
			"Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n"))
		assert.Equal(t, "200 hello", ask("5\r\nhello\r\n0\r\n\r\n"))
	}
	assert.Equal(t, "413 Content Too Large\n",
		ask(post+"Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n"))
}

// mixed are requests of all kinds, one behind the other, and what they get.
func mixed() (send string, methods []string, want []answer) {
	add := func(method, text string, a answer) {
		send += text
		methods = append(methods, method)
		want = append(want, a)
	}
	hello := answer{200, "Hello, World!\n", false}
	for i := range 4 {
		add("GET", next, hello)
		add("HEAD", "HEAD / HTTP/1.1\r\n"+host+"\r\n", answer{200, "", false})
		add("POST", post+"Content-Length: 5\r\n\r\nhello", answer{200, "hello", false})
		add("GET", fmt.Sprintf("GET /go?a%d HTTP/1.1\r\n%s\r\n", i, host),
			answer{200, fmt.Sprintf("A%d", i), false})
		add("POST", chunked+"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", answer{200, "abcde", false})
		add("GET", "\r\nGET /x HTTP/1.1\r\n"+host+"\r\n", answer{404, "Not Found\n", false})
	}
	add("GET", get+host+"Connection: close\r\n\r\n", answer{200, "Hello, World!\n", true})
	return send, methods, want
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	s := start(t)
	send, methods, want := mixed()
	check := func(how any, pieces ...string) {
		got, err := s.talk(pieces...)
		assert.NoError(t, err)
		list, err := answers(got, methods...)
		assert.NoError(t, err, how)
		assert.Equal(t, want, list, how)
	}
	check("at once", send)
	atOnce(len(send)-1, func(i int) { check(i+1, send[:i+1], send[i+1:]) })
	check("byte by byte", strings.Split(send, "")...)
	// Many more than what there is room for, in and out.
	const many = 30
	var allMethods []string
	var all []answer
	for range many {
		allMethods = append(allMethods, methods[:len(methods)-1]...)
		all = append(all, want[:len(want)-1]...)
	}
	last := get + host + "Connection: close\r\n\r\n"
	got, err := s.talk(strings.Repeat(strings.TrimSuffix(send, last), many))
	assert.NoError(t, err)
	list, err := answers(got, allMethods...)
	assert.NoError(t, err)
	assert.Equal(t, all, list)
}

func TestConnectionsHaveALimitOfRequests(t *testing.T) {
	s := start(t)
	got, err := s.talk(strings.Repeat(next, 1100))
	require.NoError(t, err)
	list, err := answers(got)
	require.NoError(t, err)
	require.Len(t, list, 1000)
	for i, a := range list {
		assert.Equal(t, i == 999, a.close, i)
	}
}

// Each wait for a client ends in time. The upper bounds are generous, as machines may be busy.
func TestSlowClientsMeetDeadlines(t *testing.T) {
	s := start(t, "-idle", "150ms", "-header", "200ms", "-body", "250ms", "-write", "300ms",
		"-linger", "300ms")
	for _, c := range []struct {
		name, send, drip string
		want             string
		atLeast          time.Duration
	}{
		{"idle from the beginning", "", "", "", 140 * time.Millisecond},
		{"idle after a request", next, "", "200", 140 * time.Millisecond},
		{"stuck in the method", "G", "", "408c", 190 * time.Millisecond},
		{"stuck in the header", get + "Host:", "", "408c", 190 * time.Millisecond},
		{"stuck in a later header", next + get, "", "200 408c", 190 * time.Millisecond},
		{"drips a header", get, "A: b\r\n", "408c", 190 * time.Millisecond},
		{"stuck in the body", post + "Content-Length: 5\r\n\r\nhell", "", "408c",
			240 * time.Millisecond},
		{"stuck in a long body", post + "Content-Length: 50000\r\n\r\nhell", "", "408c",
			240 * time.Millisecond},
		{"drips a body", post + "Content-Length: 50000\r\n\r\nhell", "x", "408c",
			240 * time.Millisecond},
		{"stuck in chunks", chunked + "5\r\nhe", "", "408c", 240 * time.Millisecond},
		{"drips chunks", chunked, "1\r\nx\r\n", "408c", 240 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := s.dial()
			defer conn.Close()
			begin := time.Now()
			_, err := io.WriteString(conn, c.send)
			require.NoError(t, err)
			done := make(chan struct{})
			var drips sync.WaitGroup
			drips.Go(func() {
				for c.drip != "" {
					select {
					case <-done:
						return
					case <-time.After(10 * time.Millisecond):
						_, _ = io.WriteString(conn, c.drip)
					}
				}
			})
			text, err := io.ReadAll(conn)
			assert.NoError(t, err)
			took := time.Since(begin)
			close(done)
			drips.Wait()
			list, err := answers(string(text))
			assert.NoError(t, err)
			assert.Equal(t, c.want, statuses(list))
			assert.GreaterOrEqual(t, took, c.atLeast)
			assert.Less(t, took, 20*time.Second)
		})
	}
	t.Run("does not read", func(t *testing.T) {
		t.Parallel()
		begin := time.Now()
		conn := s.dial()
		defer conn.Close()
		request := post + "Content-Length: 1000000\r\n\r\n" + strings.Repeat("x", 1000000)
		for { // the socket buffers take some of it
			if _, err := io.WriteString(conn, request); err != nil {
				break
			}
			require.Less(t, time.Since(begin), 20*time.Second)
		}
		assert.GreaterOrEqual(t, time.Since(begin), 290*time.Millisecond)
	})
	t.Run("others are served meanwhile", func(t *testing.T) {
		t.Parallel()
		for range 50 {
			got, err := s.fetch("GET", "/", nil)
			assert.NoError(t, err)
			assert.Equal(t, 200, got.status)
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// A client that is slow, but in time, gets every byte, though the socket does not take all at once.
func TestSlowReadersGetAll(t *testing.T) {
	s := start(t)
	atOnce(8, func(i int) {
		c := s.dial()
		defer c.Close()
		assert.NoError(t, c.SetReadBuffer(64<<10))
		body := strings.Repeat(fmt.Sprint("some text of ", i, ", "), 60_000)
		const times = 10
		go func() {
			for range times {
				_, _ = fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", post, len(body),
					body)
			}
		}()
		time.Sleep(200 * time.Millisecond) // what was sent fills the buffers meanwhile
		in := bufio.NewReader(c)
		for range times {
			r, err := http.ReadResponse(in, nil)
			if !assert.NoError(t, err) {
				return
			}
			got, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.True(t, body == string(got))
		}
	})
}

// A response with an error arrives even where the client goes on to send for a while.
func TestErrorsReachClientsThatSend(t *testing.T) {
	s := start(t)
	atOnce(50, func(int) {
		c := s.dial()
		defer c.Close()
		_, err := io.WriteString(c, post+"Content-Length: 100000000\r\n\r\n")
		assert.NoError(t, err)
		for range 20 {
			if _, err := c.Write(make([]byte, 100_000)); err != nil {
				break
			}
		}
		_ = c.CloseWrite()
		text, err := io.ReadAll(c)
		assert.NoError(t, err)
		list, err := answers(string(text))
		assert.NoError(t, err)
		assert.Equal(t, "413c", statuses(list))
	})
}

// A client of TestTheEndLosesNothing makes one request after the other until the server ends the
// connection.
type client struct {
	path, want string
	answered   int
	lost       error
}

func (c *client) run(s *server, ended *atomic.Bool, begun *sync.WaitGroup) {
	conn := s.dial()
	defer conn.Close()
	in := bufio.NewReader(conn)
	first := true
	for {
		_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\n%s\r\n", c.path, host)
		var r *http.Response
		if err == nil {
			_, err = in.Peek(1)
		}
		if err != nil {
			// An idle connection was closed. Nothing of an answer had come.
			if !ended.Load() {
				c.lost = fmt.Errorf("closed too early: %w", err)
			}
			return
		}
		if r, err = http.ReadResponse(in, nil); err != nil {
			c.lost = err
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != 200 || string(body) != c.want {
			c.lost = errors.Join(err, fmt.Errorf("%d %q", r.StatusCode, body))
			return
		}
		c.answered++
		if first {
			first = false
			begun.Done()
		}
		if r.Close {
			if !ended.Load() {
				c.lost = errors.New("told to close too early")
			}
			return
		}
	}
}

// SIGTERM comes while clients send. What is under way is answered, wherever it is; every client
// knows what was answered; the server ends at once when the last one has its answer.
func TestTheEndLosesNothing(t *testing.T) {
	s := start(t, "-linger", "10s", "-requests", "1000000000") // else a fast client is told to close
	var ended atomic.Bool
	var begun, all sync.WaitGroup
	var list []*client
	for i := range 40 {
		c := &client{path: "/", want: "Hello, World!\n"}
		switch i % 4 {
		case 1:
			c.path, c.want = "/go?3ms", "3MS"
		case 2:
			c.path, c.want = "/inline?a", "A"
		}
		list = append(list, c)
		begun.Add(1)
		all.Go(func() { c.run(s, &ended, &begun) })
	}
	begun.Wait()
	// These are under way when the signal comes, and must be answered.
	const slow = 20
	var asked, answered sync.WaitGroup
	for i := range slow {
		asked.Add(1)
		answered.Go(func() {
			c := s.dial()
			defer c.Close()
			var err error
			switch i % 2 {
			case 0: // in a handler
				_, err = io.WriteString(c, "GET /go?600ms HTTP/1.1\r\n"+host+"\r\n")
				asked.Done()
			case 1: // in the body
				_, err = io.WriteString(c, post+"Content-Length: 5\r\n\r\nhel")
				asked.Done()
				time.Sleep(600 * time.Millisecond)
				_, _ = io.WriteString(c, "lo")
			}
			assert.NoError(t, err)
			text, err := io.ReadAll(c)
			assert.NoError(t, err)
			got, err := answers(string(text))
			assert.NoError(t, err)
			assert.Equal(t, "200c", statuses(got), i)
		})
	}
	asked.Wait()
	idle := s.dial()
	defer idle.Close()
	time.Sleep(200 * time.Millisecond) // the server has received what was asked
	ended.Store(true)
	s.signal()
	rest, err := io.ReadAll(idle)
	assert.NoError(t, err)
	assert.Empty(t, rest)
	answered.Wait()
	all.Wait()
	s.wait()
	for i, c := range list {
		assert.NoError(t, c.lost, "client %d", i)
		assert.Positive(t, c.answered)
	}
}

// A second signal, or the grace, ends what does not end.
func TestTheEndHasAGrace(t *testing.T) {
	s := start(t, "-grace", "200ms")
	c := s.dial()
	defer c.Close()
	_, err := io.WriteString(c, post+"Content-Length: 5\r\n\r\nhel")
	require.NoError(t, err)
	time.Sleep(100 * time.Millisecond)
	begin := time.Now()
	s.end()
	assert.GreaterOrEqual(t, time.Since(begin), 190*time.Millisecond)
	assert.Less(t, time.Since(begin), 20*time.Second)
}
