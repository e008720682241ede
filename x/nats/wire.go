package nats

import (
	"net/url"
	"strings"

	natsgo "github.com/nats-io/nats.go"
)

// Headers of messages. Their values are escaped as those of URLs.
const (
	headKind  = "Coro-Kind"
	headKey   = "Coro-Key"
	headID    = "Coro-Id"
	headReply = "Coro-Reply"
	headError = "Coro-Error"
	headUser  = "Coro-H-" // and the name
)

func encodeMessage(subject string, m *message) *natsgo.Msg {
	to := natsgo.NewMsg(subject)
	set := func(name, v string) {
		if v != "" {
			to.Header.Set(name, url.QueryEscape(v))
		}
	}
	set(headKind, m.kind)
	set(headKey, m.key)
	set(headID, m.id)
	set(headReply, m.reply)
	set(headError, m.fail)
	for k, v := range m.header {
		set(headUser+url.QueryEscape(k), v)
	}
	to.Data = m.data
	return to
}

func decodeMessage(h natsgo.Header, data []byte) (m message) {
	get := func(name string) string {
		s, err := url.QueryUnescape(h.Get(name))
		if err != nil {
			return h.Get(name)
		}
		return s
	}
	m = message{id: get(headID), kind: get(headKind), key: get(headKey), reply: get(headReply),
		fail: get(headError), data: data}
	for name := range h {
		k, ok := strings.CutPrefix(name, headUser)
		if !ok {
			continue
		}
		if k, err := url.QueryUnescape(k); err == nil {
			if m.header == nil {
				m.header = Header{}
			}
			m.header[k] = get(name)
		}
	}
	return m
}
