package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	host    = "Host: a\r\n"
	get     = "GET / HTTP/1.1\r\n"
	post    = "POST /echo HTTP/1.1\r\n" + host
	chunked = post + "Transfer-Encoding: chunked\r\n\r\n"
	next    = get + host + "\r\n" // a good request behind the one in question
)

// cases are requests with the statuses that they get; c: the server says that it closes. Sections
// are those of RFC 9112, or 9110 where a P stands before.
var cases = []struct{ section, name, send, want string }{
	{"2.1", "plain", next, "200"},
	{"2.1", "two", next + next, "200 200"},
	{"2.2", "empty line before", "\r\n" + next, "200"},
	{"2.2", "empty lines before", "\r\n\r\n" + next + "\r\n" + next, "200 200"},
	{"2.2", "bare LF before", "\n" + next, "400c"},
	{"2.2", "bare CR before", "\r" + next, "400c"},
	{"2.2", "bare LF after the request line", "GET / HTTP/1.1\n" + host + "\r\n", "400c"},
	{"2.2", "bare LF after a field", get + "Host: a\n\r\n" + next, "400c"},
	{"2.2", "bare LF at the end", get + host + "\n" + next, "400c"},
	{"2.2", "bare CR in a value", get + "Host: a\r\nA: b\rc\r\n\r\n" + next, "400c"},
	{"2.2", "bare CR at the end of a value", get + host + "A: b\r\r\n\r\n" + next, "400c"},
	{"2.2", "bare CR after the request line", "GET / HTTP/1.1\r\r\n" + host + "\r\n", "400c"},
	{"2.2", "bare CR before the last LF", get + host + "\r\r\n" + next, "400c"},
	{"2.2", "blank before the first field", get + " " + host + "\r\n", "400c"},
	{"2.2", "TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400c"},

	{"2.3", "version 1.0", "GET / HTTP/1.0\r\n\r\n", "200c"},
	{"2.3", "version 1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + next,
		"200c"},
	{"2.3", "version 1.2", "GET / HTTP/1.2\r\n" + host + "\r\n", "505c"},
	{"2.3", "version 2.0", "GET / HTTP/2.0\r\n" + host + "\r\n", "505c"},
	{"2.3", "version 0.9", "GET / HTTP/0.9\r\n" + host + "\r\n", "505c"},
	{"2.3", "preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505c"},
	{"2.3", "no version", "GET /\r\n\r\n" + next, "400c"},
	{"2.3", "small letters", "GET / http/1.1\r\n" + host + "\r\n", "400c"},
	{"2.3", "two digits", "GET / HTTP/1.10\r\n" + host + "\r\n", "400c"},
	{"2.3", "leading zero", "GET / HTTP/01.1\r\n" + host + "\r\n", "400c"},
	{"2.3", "another protocol", "GET / RTSP/1.0\r\n" + host + "\r\n", "400c"},

	{"3", "two blanks before the target", "GET  / HTTP/1.1\r\n" + host + "\r\n" + next, "400c"},
	{"3", "two blanks before the version", "GET /  HTTP/1.1\r\n" + host + "\r\n" + next, "400c"},
	{"3", "blank after the version", "GET / HTTP/1.1 \r\n" + host + "\r\n" + next, "400c"},
	{"3", "tab", "GET\t/ HTTP/1.1\r\n" + host + "\r\n" + next, "501c"}, // unknown method
	{"3", "blank in the target", "GET /a b HTTP/1.1\r\n" + host + "\r\n" + next, "400c"},
	{"3", "blank before the method", " GET / HTTP/1.1\r\n" + host + "\r\n", "400c"},
	{"3.1", "method of small letters", "get / HTTP/1.1\r\n" + host + "\r\n", "400c"},
	{"3.1", "unknown method", "BREW / HTTP/1.1\r\n" + host + "\r\n", "501c"},
	{"3.1", "method that is not allowed", "PUT / HTTP/1.1\r\n" + host +
		"Content-Length: 1\r\n\r\nx" + next, "405 200"},
	{"3.2", "no host", get + "\r\n", "400c"},
	{"3.2", "two hosts", get + host + host + "\r\n", "400c"},
	{"3.2", "two different hosts", get + host + "host: b\r\n\r\n", "400c"},
	{"3.2", "no host in 1.0", "GET / HTTP/1.0\r\n\r\n", "200c"},
	{"3.2", "two hosts in 1.0", "GET / HTTP/1.0\r\n" + host + host + "\r\n", "400c"},
	{"3.2", "empty host", get + "Host:\r\n\r\n", "200"},
	{"3.2", "host with a port", get + "Host: [::1]:80\r\n\r\n", "200"},
	{"3.2", "host with a user", get + "Host: a@b\r\n\r\n", "400c"},
	{"3.2", "host with a path", get + "Host: a/b\r\n\r\n", "400c"},
	{"3.2", "list of hosts", get + "Host: a, b\r\n\r\n", "400c"},
	{"3.2.1", "query", "GET /inline?abc HTTP/1.1\r\n" + host + "\r\n", "200"},
	{"3.2.1", "no slash", "GET index HTTP/1.1\r\n" + host + "\r\n", "400c"},
	{"3.2.1", "fragment", "GET /#a HTTP/1.1\r\n" + host + "\r\n", "400c"},
	{"3.2.1", "not ASCII", "GET /\xc3\xa4 HTTP/1.1\r\n" + host + "\r\n", "400c"},
	{"3.2.1", "zero in the target", "GET /\x00 HTTP/1.1\r\n" + host + "\r\n", "400c"},
	{"3.2.2", "absolute form", "GET http://a/ HTTP/1.1\r\n" + host + "\r\n", "200"},
	{"3.2.2", "absolute form without a path", "GET http://a HTTP/1.1\r\n" + host + "\r\n",
		"200"},
	{"3.2.2", "absolute form without a host", "GET http:/// HTTP/1.1\r\n" + host + "\r\n",
		"400c"},
	{"3.2.2", "absolute form of a user", "GET http://u@a/ HTTP/1.1\r\n" + host + "\r\n", "400c"},
	{"3.2.3", "tunnel", "CONNECT a:80 HTTP/1.1\r\n" + host + "\r\n", "501c"},
	{"3.2.4", "asterisk", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", "404"},
	{"3.2.4", "asterisk of a GET", "GET * HTTP/1.1\r\n" + host + "\r\n", "400c"},

	{"5", "no blank", get + "Host:a\r\n\r\n", "200"},
	{"5", "blanks around the value", get + "Host: \t a \t \r\n\r\n", "200"},
	{"5", "empty value", get + host + "A:\r\nB: \r\nC:c\r\n\r\n" + next, "200 200"},
	{"5", "no colon", get + host + "A\r\n\r\n", "400c"},
	{"5", "no name", get + host + ": a\r\n\r\n", "400c"},
	{"5", "blank in the name", get + host + "A b: c\r\n\r\n", "400c"},
	{"5", "mark in the name", get + host + "A(b: c\r\n\r\n", "400c"},
	{"5", "zero in the name", get + host + "A\x00b: c\r\n\r\n", "400c"},
	{"5", "zero in a value", get + host + "A: b\x00c\r\n\r\n", "400c"},
	{"5", "control byte in a value", get + host + "A: b\x01c\r\n\r\n", "400c"},
	{"5", "byte of ISO 8859 in a value", get + host + "A: b\xe4c\r\n\r\n", "200"},
	{"5.1", "blank before the colon", get + "Host : a\r\n\r\n", "400c"},
	{"5.1", "tab before the colon", get + "Host\t: a\r\n\r\n", "400c"},
	{"5.1", "blank before the colon of a length", post + "Content-Length : 5\r\n\r\nhello",
		"400c"},
	{"5.2", "folded line", get + host + "A: b\r\n c\r\n\r\n", "400c"},
	{"5.2", "folded line, by a tab", get + host + "A: b\r\n\tc\r\n\r\n", "400c"},
	{"5.2", "folded after an empty value", get + host + "A:\r\n b\r\n\r\n", "400c"},
	{"5.2", "folded line of nothing", get + host + "A: b\r\n \r\n\r\n", "400c"},
	{"5.2", "folded coding", post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "400c"},
	{"5.2", "folded length", post + "Content-Length:\r\n 5\r\n\r\nhello", "400c"},
	{"5.4", "64 fields", get + host + strings.Repeat("A: b\r\n", 63) + "\r\n" + next, "200 200"},
	{"5.4", "65 fields", get + host + strings.Repeat("A: b\r\n", 64) + "\r\n" + next, "431c"},
	{"5.4", "8 KiB of header", padded(8192) + next, "200 200"},
	{"5.4", "a byte more", padded(8193) + next, "431c"},
	{"5.4", "header without end", padded(20_000), "431c"},
	{"3", "long target", "GET /" + strings.Repeat("a", 8000) + " HTTP/1.1\r\n" + host + "\r\n",
		"404"},
	{"3", "too long target", "GET /" + strings.Repeat("a", 8192) + " HTTP/1.1\r\n" + host +
		"\r\n", "414c"},

	{"6.1", "coding and length", post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"0\r\n\r\nX", "400c"},
	{"6.1", "length and coding", post + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n" +
		"0\r\n\r\nX", "400c"},
	{"6.1", "coding in 1.0", "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"400c"},
	{"6.1", "xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + next, "501c"},
	{"6.1", "gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501c"},
	{"6.1", "chunked, gzip", post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "400c"},
	{"6.1", "chunked, chunked", post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
		"400c"},
	{"6.1", "chunked twice", post + strings.Repeat("Transfer-Encoding: chunked\r\n", 2) +
		"\r\n0\r\n\r\n", "400c"},
	{"6.1", "identity", post + "Transfer-Encoding: identity\r\n\r\n" + next, "501c"},
	{"6.1", "empty coding", post + "Transfer-Encoding:\r\n\r\n" + next, "501c"},
	{"6.1", "coding behind a control byte", post + "Transfer-Encoding: \x0bchunked\r\n\r\n" +
		"0\r\n\r\n", "400c"},
	{"6.1", "capital letters", post + "TRANSFER-ENCODING: CHUNKED\r\n\r\n0\r\n\r\n" + next,
		"200 200"},
	{"6.2", "two lengths", post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"400c"},
	{"6.2", "the same length twice", post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		"400c"},
	{"6.2", "list of lengths", post + "Content-Length: 5, 5\r\n\r\nhello", "400c"},
	{"6.2", "+4", post + "Content-Length: +4\r\n\r\nhell", "400c"},
	{"6.2", "-1", post + "Content-Length: -1\r\n\r\n", "400c"},
	{"6.2", "0x4", post + "Content-Length: 0x4\r\n\r\nhell", "400c"},
	{"6.2", "4 4", post + "Content-Length: 4 4\r\n\r\nhell", "400c"},
	{"6.2", "empty length", post + "Content-Length:\r\n\r\n", "400c"},
	{"6.2", "blank length", post + "Content-Length: \r\n\r\n", "400c"},
	{"6.2", "length of 2^64", post + "Content-Length: 18446744073709551616\r\n\r\n", "400c"},
	{"6.2", "length of 2^64 + 5", post + "Content-Length: 18446744073709551621\r\n\r\nhello",
		"400c"},
	{"6.2", "leading zeros", post + "Content-Length: 0005\r\n\r\nhello" + next, "200 200"},
	{"6.2", "blank after the length", post + "Content-Length: 5 \r\n\r\nhello" + next, "200 200"},
	{"6.3", "no body", post + "\r\n" + next, "200 200"},
	{"6.3", "body of a GET", get + host + "Content-Length: 5\r\n\r\nhello" + next, "200 200"},
	{"6.3", "body that looks like a request", post +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(next)) + next + next, "200 200"},
	{"6.3", "1 MiB", post + "Content-Length: 1048576\r\n\r\n" + strings.Repeat("x", 1<<20) + next,
		"200 200"},
	{"6.3", "a byte more than 1 MiB", post + "Content-Length: 1048577\r\n\r\n", "413c"},
	{"6.3", "body that ends early", post + "Content-Length: 5\r\n\r\nhell", ""},

	{"7.1", "one chunk", chunked + "5\r\nhello\r\n0\r\n\r\n" + next, "200 200"},
	{"7.1", "chunks", chunked + "5\r\nhello\r\nA\r\n0123456789\r\n1\r\nx\r\n000\r\n\r\n" + next,
		"200 200"},
	{"7.1", "no chunk", chunked + "0\r\n\r\n" + next, "200 200"},
	{"7.1", "chunk without a size", chunked + "\r\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "size 0x5", chunked + "0x5\r\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "size +5", chunked + "+5\r\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "size -5", chunked + "-5\r\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "size of 17 digits", chunked + "10000000000000005\r\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "size of 2^64-1", chunked + "ffffffffffffffff\r\nhello\r\n0\r\n\r\n", "413c"},
	{"7.1", "blank before the size", chunked + " 5\r\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "blank after the size", chunked + "5 \r\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "bare LF after the size", chunked + "5\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "bare CR after the size", chunked + "5\rhello\r\n0\r\n\r\n", "400c"},
	{"7.1", "bare LF after the chunk", chunked + "5\r\nhello\n0\r\n\r\n", "400c"},
	{"7.1", "chunk that is longer than it says", chunked + "5\r\nhelloXX0\r\n\r\n", "400c"},
	{"7.1", "bare LF behind the chunks", chunked + "5\r\nhello\r\n0\r\n\n" + next, "400c"},
	{"7.1", "bare CR behind the chunks", chunked + "5\r\nhello\r\n0\r\n\r" + next, "400c"},
	{"7.1.1", "extension", chunked + "5;a=b\r\nhello\r\n0;c=\"d\"\r\n\r\n" + next, "200 200"},
	{"7.1.1", "bare LF in an extension", chunked + "5;a\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1.1", "bare CR in an extension", chunked + "5;a\rb\r\nhello\r\n0\r\n\r\n", "400c"},
	{"7.1.2", "trailer", chunked + "5\r\nhello\r\n0\r\nA: b\r\nContent-Length: 9\r\n\r\n" + next,
		"200 200"},
	{"7.1.2", "many trailer fields", chunked + "0\r\n" + strings.Repeat("A: b\r\n", 200) +
		"\r\n" + next, "200 200"},
	{"7.1.2", "bad trailer", chunked + "0\r\nA b: c\r\n\r\n", "400c"},
	{"7.1", "1 MiB of small chunks", chunked + strings.Repeat("1\r\nx\r\n", 174_000) +
		"0\r\n\r\n" + next, "200 200"},
	{"7.1", "more than 1 MiB in chunks", chunked + strings.Repeat("400\r\n"+
		strings.Repeat("x", 1024)+"\r\n", 1030), "413c"},
	{"7.1", "extensions of more than 1 MiB", chunked + "5;" + strings.Repeat("a", 1<<20+100),
		"413c"},

	{"9.3", "close", get + host + "Connection: close\r\n\r\n", "200c"},
	{"9.3", "close in a list", get + host + "Connection: x, CLOSE\r\n\r\n", "200c"},
	{"9.3", "close in a second field", get + host +
		"Connection: keep-alive\r\nConnection: close\r\n\r\n", "200c"},
	{"9.3.2", "error between good requests", next + get + "\r\n" + next, "200 400c"},
	{"9.8", "upgrade", get + host + "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n" + next,
		"200 200"},
	{"9.8", "upgrade with chunks", chunked[:len(chunked)-2] +
		"Connection: upgrade\r\nUpgrade: x\r\n\r\n1\r\nx\r\n0\r\n\r\n" + next, "200 200"},
	{"P9.3.2", "HEAD", "HEAD / HTTP/1.1\r\n" + host + "\r\n" + next, "200 200"},
	{"P10.1.1", "expectation", post + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello" +
		next, "200 200"},
	{"P10.1.1", "expectation of 1.0",
		"POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", "200c"},
	{"P10.1.1", "unknown expectation", post + "Expect: a\r\nContent-Length: 5\r\n\r\nhello",
		"417c"},
}

// padded is a request whose header has that many bytes.
func padded(bytes int) string {
	head := get + host + "A: "
	return head + strings.Repeat("x", bytes-len(head)-4) + "\r\n\r\n"
}

// answered checks what a case has got.
func answered(t *testing.T, want, send, got string, how any) {
	t.Helper()
	first := "GET"
	if strings.HasPrefix(send, "HEAD") {
		first = "HEAD"
	}
	// An interim response depends on whether the body had come with the header.
	got = strings.Replace(got, "HTTP/1.1 100 Continue\r\n\r\n", "", 1)
	list, err := answers(got, first)
	assert.NoError(t, err, "%v: %q", how, got)
	assert.Equal(t, want, statuses(list), "%v: %q", how, got)
}

func TestRequestsGetTheStatusOfTheRFC(t *testing.T) {
	s := start(t)
	names := map[string]bool{}
	for _, c := range cases {
		assert.False(t, names[c.name], "two cases are called %s", c.name)
		names[c.name] = true
		t.Run(c.section+" "+c.name, func(t *testing.T) {
			got, err := s.talk(c.send)
			assert.NoError(t, err)
			answered(t, c.want, c.send, got, "at once")
		})
	}
}

func TestNothingIsAnsweredAfterAClose(t *testing.T) {
	s := start(t)
	got, err := s.talk(next + get + host + "Connection: close\r\n\r\n" + next)
	assert.NoError(t, err)
	answered(t, "200 200c", next, got, "at once")
}

// What a request gets does not depend on where it was cut.
func TestRequestsMayComeInAnyPieces(t *testing.T) {
	s := start(t)
	for _, c := range cases {
		if len(c.send) > 1000 {
			continue
		}
		t.Run(c.section+" "+c.name, func(t *testing.T) {
			t.Parallel()
			atOnce(len(c.send)-1, func(i int) {
				got, err := s.talk(c.send[:i+1], c.send[i+1:])
				assert.NoError(t, err)
				answered(t, c.want, c.send, got, i+1)
			})
			got, err := s.talk(strings.Split(c.send, "")...)
			assert.NoError(t, err)
			answered(t, c.want, c.send, got, "byte by byte")
		})
	}
}
