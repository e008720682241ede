package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/organzine/coro/bench/internal/figures"
	"github.com/organzine/coro/bench/internal/harness"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A chart is SVG on nothing, and the finding that it shows.
type chart struct {
	svg     []byte
	finding string
}

func (s section) chart(f figures.Figures) (chart, error) {
	p, height, err := s.draw(f)
	if err != nil {
		return chart{}, fmt.Errorf("%s: %w", s.id, err)
	}
	out, err := svg(p, height)
	return chart{out, p.Title.Text}, err
}

var (
	svgStart = regexp.MustCompile(`(?s)^.*?<svg[^>]*viewBox="([^"]*)"[^>]*>`)
	inks     = regexp.MustCompile(`#010203`)
)

// generic names fonts that other machines have, the first two of the same widths.
func generic(svg []byte) []byte {
	const family = "font-family:Liberation Sans"
	return bytes.ReplaceAll(svg, []byte(family), []byte(family+",Arial,Helvetica,sans-serif"))
}

// A theme is how a chart's own file looks.
type theme struct{ suffix, page, text string }

var themes = []theme{{"", "#ffffff", "#1b1b1b"}, {"-dark", "#0d1117", "#e6edf3"}}

// alone makes a chart a file of its own.
func (c chart) alone(t theme) []byte {
	box := string(svgStart.FindSubmatch(c.svg)[1])
	size := strings.Fields(box)[2:]
	start := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%spt" height="%spt" `+
		`viewBox="%s" role="img"><title>%s</title><rect width="100%%" height="100%%" fill="%s"/>`,
		size[0], size[1], box, html.EscapeString(c.finding), t.page)
	return generic(inks.ReplaceAll(svgStart.ReplaceAll(c.svg, []byte(start)), []byte(t.text)))
}

// writeCharts writes each chart in each theme.
func (s section) writeCharts(c chart, dir string) error {
	for _, t := range themes {
		path := filepath.Join(dir, s.id+t.suffix+".svg")
		if err := os.WriteFile(path, c.alone(t), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// inPage makes a chart a part of the page: it has the page's colour of text, and grows with it.
func (s section) inPage(c chart) template.HTML {
	box := svgStart.FindSubmatch(c.svg)[1]
	start := fmt.Sprintf(`<svg viewBox="%s" role="img" aria-labelledby="%s-title %s-shows">`, box, s.id,
		s.id)
	body := svgStart.ReplaceAll(c.svg, []byte(start))
	return template.HTML(generic(inks.ReplaceAll(body, []byte("currentColor"))))
}

type pageSection struct {
	ID, Title, Shows, Hides string
	Chart                   template.HTML
	Missing                 string // why there is no chart
}

type pageSet struct {
	Command, Machine, Noise string
	Measurements            []harness.Measurement
}

// writePage writes index.html, which needs no other file, and each chart as a file of its own.
func writePage(f figures.Figures, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var page struct {
		Sections []pageSection
		Sets     []pageSet
	}
	for _, s := range sections {
		out := pageSection{ID: s.id, Title: s.title, Shows: s.shows, Hides: s.hides}
		if c, err := s.chart(f); err != nil {
			out.Missing = err.Error()
		} else {
			out.Chart = s.inPage(c)
			if err := s.writeCharts(c, dir); err != nil {
				return err
			}
		}
		page.Sections = append(page.Sections, out)
	}
	for _, c := range commands {
		if set, ok := f[c.name]; ok {
			page.Sets = append(page.Sets, pageSet{c.name, set.Machine.String(),
				set.After.Since(set.Before), set.Measurements})
		}
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, page); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "index.html"), b.Bytes(), 0o644)
}
