package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/organzine/coro/bench/internal/figures"
	"github.com/organzine/coro/bench/internal/harness"
)

// The colours can be told apart by those who see few of them (Okabe and Ito, "Color universal
// design"), on white and on black. ink is what page.html replaces by the colour of its text.
var (
	ink    = color.RGBA{1, 2, 3, 255}
	faint  = color.NRGBA{128, 128, 128, 110}
	blue   = color.RGBA{0, 130, 200, 255}
	orange = color.RGBA{213, 94, 0, 255}
	green  = color.RGBA{0, 158, 115, 255}
	purple = color.RGBA{190, 100, 160, 255}
	grey   = color.RGBA{130, 130, 130, 255}
)

// colourOf is a system's: coro is blue, goroutines are orange, and all others are grey.
func colourOf(system string) color.Color {
	switch {
	case strings.HasPrefix(system, "coro"), system == "dispatch":
		return blue
	case system == "goroutine":
		return orange
	}
	return grey
}

// A point is one figure of a chart, with its range.
type point struct {
	label           string
	colour          color.Color
	value, min, max float64
}

// A series is a line of a chart.
type series struct {
	label  string
	colour color.Color
	dashed bool
	points plotter.XYs
}

const (
	width     = 18 * vg.Centimeter
	margin    = 0.25 * vg.Centimeter
	lineUp    = 0.62 * vg.Centimeter // of a row of dots
	lineChart = 9 * vg.Centimeter
)

// apart keeps a label away from what is beside it where a viewer has a wider font.
const apart = "   "

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle,
		&p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Color = ink
		style.Font.Variant = "Sans"
		style.Font.Size = font.Points(10)
	}
	p.Title.TextStyle.Font.Size = font.Points(12)
	p.Title.Padding = vg.Points(8)
	p.X.Tick.Marker, p.Y.Tick.Marker = evens{}, evens{}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = faint, faint
	}
	return p
}

// powers marks powers of ten, and writes them out.
type powers struct{}

func (powers) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		x := math.Pow(10, e)
		out = append(out, plot.Tick{Value: x, Label: plain(x)})
		for i := 2.0; i < 10; i++ {
			out = append(out, plot.Tick{Value: i * x})
		}
	}
	return slices.DeleteFunc(out, func(t plot.Tick) bool { return t.Value < low || t.Value > high })
}

// evens are even marks, written out.
type evens struct{}

func (evens) Ticks(low, high float64) []plot.Tick {
	out := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range out {
		if !t.IsMinor() {
			out[i].Label = plain(t.Value)
		}
	}
	return out
}

// plain writes a number with two digits, its thousands set apart.
func plain(x float64) string {
	switch {
	case x >= 1e6:
		return strconv.FormatFloat(x/1e6, 'g', 3, 64) + " M"
	case x >= 1000:
		return harness.Grouped(x, 0)
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// ranges are the horizontal bars from the least to the most.
type ranges struct {
	plotter.XYs
	plotter.XErrors
}

// dots is a chart with a row for each point, the first one on top: a dot for the median, a line
// from the least to the most, and the figure beside. The scale begins at 0, or is logarithmic if
// the figures differ twentyfold.
func dots(title, axis string, points []point) (*plot.Plot, vg.Length, error) {
	if len(points) == 0 {
		return nil, 0, fmt.Errorf("%s: nothing was measured", title)
	}
	p := newPlot(title, axis, "")
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, nil
	p.Add(grid)
	labels := make([]string, len(points))
	low, high := math.Inf(1), 0.0
	for i, at := range points {
		y := float64(len(points) - 1 - i)
		labels[len(points)-1-i] = at.label + apart
		one := plotter.XYs{{X: at.value, Y: y}}
		bar, err := plotter.NewXErrorBars(ranges{one,
			plotter.XErrors{{Low: at.value - at.min, High: at.max - at.value}}})
		if err != nil {
			return nil, 0, err
		}
		bar.Color, bar.Width, bar.CapWidth = at.colour, vg.Points(1.5), vg.Points(5)
		dot, err := plotter.NewScatter(one)
		if err != nil {
			return nil, 0, err
		}
		dot.GlyphStyle = draw.GlyphStyle{Color: at.colour, Radius: vg.Points(3.5),
			Shape: draw.CircleGlyph{}}
		figure, err := plotter.NewLabels(plotter.XYLabels{
			XYs: plotter.XYs{{X: at.max, Y: y}}, Labels: []string{plain(at.value)}})
		if err != nil {
			return nil, 0, err
		}
		figure.Offset = vg.Point{X: vg.Points(7), Y: vg.Points(-3.5)}
		figure.TextStyle[0].Color = ink
		figure.TextStyle[0].Font.Variant = "Sans"
		figure.TextStyle[0].Font.Size = font.Points(9)
		p.Add(bar, dot, figure)
		low, high = min(low, at.min), max(high, at.max)
	}
	p.NominalY(labels...)
	p.Y.Tick.Label.Color = ink
	p.Y.Min, p.Y.Max = -0.6, float64(len(points))-0.4
	if p.X.Min, p.X.Max = 0, high*1.15; high > 20*low {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers{}
		p.X.Label.Text += ", a logarithmic scale"
		p.X.Min, p.X.Max = math.Pow(10, math.Floor(math.Log10(low*0.99))), high*6
	}
	return p, lineUp*vg.Length(len(points)) + 2.4*vg.Centimeter, nil
}

// lines is a chart of one figure over another; logX: the scale below is logarithmic.
func lines(title, x, y string, logX bool, list []series) (*plot.Plot, vg.Length, error) {
	p := newPlot(title, x, y)
	if logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers{}
	}
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Padding = true, vg.Points(3)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, faint
	p.Add(grid)
	any := false
	for _, s := range list {
		if len(s.points) == 0 {
			continue
		}
		any = true
		line, dot, err := plotter.NewLinePoints(s.points)
		if err != nil {
			return nil, 0, err
		}
		line.Color, line.Width = s.colour, vg.Points(2)
		if s.dashed {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		dot.GlyphStyle = draw.GlyphStyle{Color: s.colour, Radius: vg.Points(3),
			Shape: draw.CircleGlyph{}}
		p.Add(line, dot)
		p.Legend.Add(s.label+apart, line, dot)
		for _, at := range s.points {
			p.Y.Max = max(p.Y.Max, at.Y*1.1)
		}
	}
	p.Y.Max *= 1 + 0.08*float64(len(list)) // the legend is above the lines
	if !any {
		return nil, 0, fmt.Errorf("%s: nothing was measured", title)
	}
	return p, lineChart, nil
}

// svg draws a plot.
func svg(p *plot.Plot, height vg.Length) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// says puts the figures of the points with these labels into a sentence, in their order: what a
// chart shows first. A dash stands for what was not measured.
func says(format string, list []point, labels ...string) string {
	values := make([]any, len(labels))
	for i, label := range labels {
		values[i] = "-"
		for _, at := range list {
			if at.label == label {
				values[i] = plain(at.value)
			}
		}
	}
	return fmt.Sprintf(format, values...)
}

// ends are the last figures of lines.
func ends(list []series) (out []point) {
	for _, s := range list {
		if n := len(s.points); n > 0 {
			out = append(out, point{label: s.label, value: s.points[n-1].Y})
		}
	}
	return out
}

// pick makes a point of a measurement, if there is one.
func pick(f figures.Figures, list []point, label string, k figures.Key, scale float64) []point {
	m, ok := f.Find(k)
	if !ok || m.Value <= 0 {
		return list
	}
	return append(list, point{label, colourOf(k.System), m.Value * scale,
		math.Max(m.Min*scale, m.Value*scale/1e3), m.Max * scale})
}
