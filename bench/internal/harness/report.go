package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report says how results are written: as tables between a header and a footer that say where
// and when, and how quiet the machine was; or in a format for programs, alone.
type Report struct {
	Format  Format
	Intro   string                       // stands before the tables
	Verdict func([]Measurement) []string // optional: lines behind the tables
}

// WriteAll runs the experiments one after the other, and writes their results. How far it is goes
// to progress.
func (r Report) WriteAll(w io.Writer, progress *os.File, list []*Experiment, runs int) error {
	var measured []Measurement
	all := func() error {
		p := NewProgress(progress, list, runs)
		for _, e := range list {
			res, err := Run(e, runs, p)
			if err != nil {
				return err
			}
			if err := r.Format.write(w, res); err != nil {
				return err
			}
			measured = append(measured, res.Measurements()...)
		}
		return nil
	}
	if r.Format != Table {
		return all()
	}
	if r.Intro != "" {
		fmt.Fprintf(w, "%s\n\n", r.Intro)
	}
	return framed(w, func() error {
		err := all()
		if err == nil && r.Verdict != nil {
			fmt.Fprintf(w, "What came out:\n%s\n\n", strings.Join(r.Verdict(measured), "\n"))
		}
		return err
	})
}

// framed calls body between a header and a footer that say where and when, and how quiet the
// machine was.
func framed(w io.Writer, body func() error) error {
	before := Listen()
	if _, err := fmt.Fprintf(w, "%s\n%s\n\n", ThisMachine(time.Now()), before); err != nil {
		return err
	}
	if err := body(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, Listen().Since(before))
	return err
}

// WriteJSON writes one object a line, with values of six significant digits.
func WriteJSON(w io.Writer, list []Measurement) error {
	enc := json.NewEncoder(w)
	for _, m := range list {
		m.Value, m.Min, m.Max = round(m.Value), round(m.Min), round(m.Max)
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

func round(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	if math.Abs(x) >= 1e6 {
		return math.Round(x)
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	return r
}

// WriteTable writes the result as an aligned table under its heading.
func WriteTable(w io.Writer, res *Result) error {
	fmt.Fprintf(w, "%s: %s\nMedians of %d runs.\n\n", res.Name, res.About, len(res.Runs[0]))
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	head := []string{"system", "variant", "workers", "n"}
	for _, m := range res.Metrics {
		head = append(head, m.Title)
	}
	if res.Versus != nil {
		head = append(head, res.Versus.Title)
	}
	line(tw, head)
	for i, row := range res.Rows {
		line(tw, res.cells(i, row))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (res *Result) cells(i int, row Row) []string {
	cells := []string{row.System, row.Variant, strconv.Itoa(row.Workers),
		Grouped(float64(row.N), 0)}
	for _, m := range res.Metrics {
		cell := "-"
		if v := res.values(i, m.Name); len(v) > 0 {
			cell = Grouped(Median(v), m.Digits)
		}
		cells = append(cells, cell)
	}
	if res.Versus != nil {
		cell := "-"
		if x, ok := res.versus(i); ok {
			cell = Grouped(x, 1) + " x"
		}
		cells = append(cells, cell)
	}
	return cells
}

func line(w io.Writer, cells []string) { fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") }

// Grouped writes a number with its thousands set apart.
func Grouped(x float64, digits int) string {
	s := strconv.FormatFloat(math.Abs(x), 'f', digits, 64)
	whole, frac, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + " " + whole[i:]
	}
	if frac != "" {
		whole += "." + frac
	}
	if x < 0 {
		whole = "-" + whole
	}
	return whole
}
