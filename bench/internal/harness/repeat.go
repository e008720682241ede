package harness

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// repeatsWithin is how far the values of a row that is bound by the CPU may lie apart.
const repeatsWithin = 0.10

// A repeat is what one row and metric came to each time.
type repeat struct {
	name   string
	values []float64 // the medians; with a peer, how many times smaller than the peer's
	isCPU  bool
}

func (r *repeat) spread() float64 {
	least := slices.Min(r.values)
	if least == 0 {
		return 0
	}
	return slices.Max(r.values)/least - 1
}

// isBoundByCPU tells whether one thread computes all the time, so that the row says as much each
// time: neither a wake-up nor what several threads make of the caches is in it.
func isBoundByCPU(row Row, m Metric) bool {
	return row.Workers == 1 && strings.HasPrefix(m.Name, "ns_")
}

// RepeatAll measures all experiments so many times, one after the other, and writes how far apart
// the values of each row lie, widest first. A row that has a peer counts by its ratio to that.
func RepeatAll(w io.Writer, progress *os.File, list []*Experiment, runs, times int) error {
	return framed(w, func() error {
		all := map[string]*repeat{}
		list := slices.Repeat(list, times)
		p := NewProgress(progress, list, runs)
		for _, e := range list {
			res, err := Run(e, runs, p)
			if err != nil {
				return err
			}
			res.collect(all)
		}
		return writeRepeats(w, all, times)
	})
}

// collect adds the result's values to all.
func (res *Result) collect(all map[string]*repeat) {
	for i, row := range res.Rows {
		for _, m := range res.Metrics {
			values := res.values(i, m.Name)
			if len(values) == 0 {
				continue
			}
			name := fmt.Sprintf("%s %s %s", res.Name, row, m.Name)
			value := Median(values)
			if res.Versus != nil && res.Versus.Metric == m.Name {
				if x, ok := res.versus(i); ok {
					name, value = name+", "+res.Versus.Title, x
				}
			}
			r := all[name]
			if r == nil {
				r = &repeat{name: name, isCPU: isBoundByCPU(row, m)}
				all[name] = r
			}
			r.values = append(r.values, value)
		}
	}
}

func writeRepeats(w io.Writer, all map[string]*repeat, times int) error {
	list := slices.Collect(maps.Values(all))
	slices.SortFunc(list, func(a, b *repeat) int {
		return cmp.Or(cmp.Compare(b.spread(), a.spread()), cmp.Compare(a.name, b.name))
	})
	for _, isCPU := range []bool{true, false} {
		if err := writeSome(w, list, isCPU, times); err != nil {
			return err
		}
	}
	return nil
}

// writeSome writes those rows of the list that are bound by the CPU, or the others.
func writeSome(w io.Writer, list []*repeat, isCPU bool, times int) error {
	n, within := 0, 0
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, r := range list {
		if r.isCPU != isCPU {
			continue
		}
		n++
		if r.spread() <= repeatsWithin {
			within++
		}
		cells := []string{r.name, strconv.FormatFloat(100*r.spread(), 'f', 1, 64) + " %"}
		for _, v := range r.values {
			cells = append(cells, strconv.FormatFloat(v, 'g', 4, 64))
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	if err := tw.Flush(); err != nil || n == 0 {
		return err
	}
	which := "with wake-ups, latencies, memory or several threads"
	if isCPU {
		which = "bound by one CPU"
	}
	_, err := fmt.Fprintf(w, "\n%d of %d rows %s repeat within %.0f %% over %d times.\n\n",
		within, n, which, 100*repeatsWithin, times)
	return err
}
