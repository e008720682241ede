package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// A load is one way to ask a server.
type load struct {
	address     string
	variant     variant
	connections int
	pinned      bool
}

// What wrk reports. Times are in us.
type report struct {
	requests  int64
	perSecond float64
	p50, p99  float64
}

// summary has wrk write what it knows in a form that is easy to read; and send several requests at
// once.
const summary = `
function init(args)
	if deep > 0 then
		local list = {}
		for i = 1, deep do list[i] = wrk.format() end
		all = table.concat(list)
		request = function() return all end
	end
end
function done(s, latency)
	local e = s.errors
	io.write(string.format("summary %d %d %f %f %d\n", s.requests, s.duration,
		latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status))
end
`

var summaryLine = regexp.MustCompile(`(?m)^summary (\d+) (\d+) ([0-9.]+) ([0-9.]+) (\d+)$`)

func (l load) run(d time.Duration) (report, error) {
	dir, err := os.MkdirTemp("", "wrk")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "summary.lua")
	text := fmt.Sprintf("local deep = %d\n", l.variant.deep) + summary
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return report{}, err
	}
	// wrk's times are whole seconds
	args := []string{"wrk", "-t1", "-c", strconv.Itoa(l.connections), "-d",
		fmt.Sprintf("%ds", max(1, int(d.Round(time.Second)/time.Second))), "-s", script}
	if l.variant.header != "" {
		args = append(args, "-H", l.variant.header)
	}
	args = append(args, "http://"+l.address+l.variant.path)
	if l.pinned {
		args = append([]string{"taskset", "-c", "1"}, args...)
	}
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return report{}, fmt.Errorf("%v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return parse(string(out))
}

func parse(out string) (report, error) {
	m := summaryLine.FindStringSubmatch(out)
	if m == nil {
		return report{}, fmt.Errorf("wrk has no summary: %s", out)
	}
	var n [5]float64
	for i := range n {
		n[i], _ = strconv.ParseFloat(m[i+1], 64) // the expression has digits there
	}
	if n[4] > 0 {
		return report{}, fmt.Errorf("wrk has met %v errors: %s", n[4], out)
	}
	return report{int64(n[0]), n[0] / n[1] * 1e6, n[2], n[3]}, nil
}
