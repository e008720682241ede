package experiments

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// served is of a request to an HTTP server on the loopback interface, which does an operation for
// each. Client and server are in this process, and keep that number of connections.
func served(open opener, connections int) opener {
	return func() (op, end func() error, err error) {
		work, stop, err := open()
		if err != nil {
			return nil, nil, err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		server := &http.Server{Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				if err := work(); err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
				}
			})}
		over := make(chan struct{})
		go func() {
			defer close(over)
			server.Serve(listener) // until the close, which is its error
		}()
		transport := &http.Transport{MaxConnsPerHost: connections,
			MaxIdleConnsPerHost: connections}
		client, url := &http.Client{Transport: transport}, "http://"+listener.Addr().String()
		return func() error { return request(client, url) }, func() error {
			transport.CloseIdleConnections()
			err := server.Close()
			<-over
			return errors.Join(err, stop())
		}, nil
	}
}

// request makes one request, and reads the answer to its end, so that the connection is kept.
func request(client *http.Client, url string) error {
	r, err := client.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return err
}
