package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"regexp"

	"github.com/organzine/coro/bench/internal/figures"
	"github.com/organzine/coro/bench/internal/harness"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// chart is the section's, as SVG on nothing.
func (s section) chart(f figures.Figures) ([]byte, error) {
	p, height, err := s.draw(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.id, err)
	}
	return svg(p, height)
}

var (
	svgStart = regexp.MustCompile(`(?s)^.*?<svg[^>]*viewBox="([^"]*)"[^>]*>`)
	inks     = regexp.MustCompile(`#010203`)
)

// onWhite makes a chart a file of its own, for pages of any colour.
func onWhite(chart []byte) []byte {
	start := svgStart.Find(chart)
	background := fmt.Sprintf(`%s<rect width="100%%" height="100%%" fill="#ffffff"/>`, start)
	return inks.ReplaceAll(bytes.Replace(chart, start, []byte(background), 1), []byte("#1b1b1b"))
}

// inPage makes a chart a part of the page: it has the page's colour of text, and grows with it.
func (s section) inPage(chart []byte) template.HTML {
	box := svgStart.FindSubmatch(chart)[1]
	start := fmt.Sprintf(`<svg viewBox="%s" role="img" aria-labelledby="%s-title %s-shows">`, box, s.id,
		s.id)
	body := svgStart.ReplaceAll(chart, []byte(start))
	return template.HTML(inks.ReplaceAll(body, []byte("currentColor")))
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
		if chart, err := s.chart(f); err != nil {
			out.Missing = err.Error()
		} else {
			out.Chart = s.inPage(chart)
			path := filepath.Join(dir, s.id+".svg")
			if err := os.WriteFile(path, onWhite(chart), 0o644); err != nil {
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
