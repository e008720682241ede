// Command report makes charts and a page of what was measured, from docs/figures/figures.json.
//
//	go run . -root ../.. -html ../../build/report       the page and its charts
//	go run . -root ../.. -fill                          README and docs: tables and charts
//	go run . -root ../.. -measure 'bench|forkjoin|peers|http'
//	                                                    measure first; takes long
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/organzine/coro/bench/internal/figures"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	root := flags.String("root", ".", "the module's top `directory`")
	html := flags.String("html", "", "write the page and its charts into this `directory`")
	fill := flags.Bool("fill", false, "write the tables and charts of README and docs")
	measures := flags.String("measure", "", "measure with the commands whose name matches this `regexp`")
	var dirs peerDirs
	flags.StringVar(&dirs.libfork, "libfork", "",
		"with -measure: the `directory` of libfork's sources")
	if err := flags.Parse(args); err != nil {
		return err
	}
	path := filepath.Join(*root, figures.Path)
	f, err := figures.Read(path)
	if err != nil {
		return err
	}
	if *measures != "" {
		which, err := regexp.Compile(*measures)
		if err != nil {
			return err
		}
		if err := measure(f, *root, path, which, dirs); err != nil {
			return err
		}
	}
	if *fill {
		if err := fillDocuments(f, *root); err != nil {
			return err
		}
	}
	if *html != "" {
		return writePage(f, *html)
	}
	return nil
}

// fillDocuments writes the tables into the documents, and the charts that these show beside the
// figures.
func fillDocuments(f figures.Figures, root string) error {
	for _, name := range []string{"README.md", "docs/benchmarks.md"} {
		path := filepath.Join(root, name)
		document, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		filled, err := figures.Fill(string(document), f)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(path, []byte(filled), 0o644); err != nil {
			return err
		}
	}
	for _, s := range sections {
		c, err := s.chart(f)
		if err != nil {
			return err
		}
		if err := s.writeCharts(c, filepath.Join(root, filepath.Dir(figures.Path))); err != nil {
			return err
		}
	}
	return nil
}
