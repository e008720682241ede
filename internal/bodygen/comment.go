package bodygen

import (
	"os"
	"regexp"
	"strings"
)

// sources are the lines of C files that have been read.
type sources map[string][]string

func (s sources) lines(file string) []string {
	lines, ok := s[file]
	if !ok && file != "" {
		text, _ := os.ReadFile(file) // a file that is gone has no comments
		lines = strings.Split(string(text), "\n")
		s[file] = lines
	}
	return lines
}

// before is the comment directly above what is declared at d, line by line.
func (s sources) before(d *die) []string {
	file, line := d.place()
	lines := s.lines(file)
	if line < 2 || line > len(lines) {
		return nil
	}
	end := line - 2
	last := strings.TrimSpace(lines[end])
	if strings.HasPrefix(last, "//") {
		first := end
		for first > 0 && strings.HasPrefix(strings.TrimSpace(lines[first-1]), "//") {
			first--
		}
		return tidy(lines[first : end+1])
	}
	if !strings.HasSuffix(last, "*/") {
		return nil
	}
	for first := end; first >= 0; first-- {
		if i := strings.Index(lines[first], "/*"); i >= 0 {
			if strings.TrimSpace(lines[first][:i]) != "" ||
				strings.Contains(lines[first][i+2:], "/*") {
				return nil // it belongs to the code before it
			}
			return tidy(lines[first : end+1])
		}
	}
	return nil
}

// of is the comment of a member: behind it, or above it.
func (s sources) of(d *die) []string {
	file, line := d.place()
	lines := s.lines(file)
	if line < 1 || line > len(lines) {
		return nil
	}
	text := lines[line-1]
	if _, comment, ok := strings.Cut(text, ";"); ok {
		comment = strings.TrimSpace(comment)
		if strings.HasPrefix(comment, "//") ||
			strings.HasPrefix(comment, "/*") &&
				strings.Index(comment, "*/") == len(comment)-2 {
			return tidy([]string{comment})
		}
	}
	return s.before(d)
}

// opening are the signs that a comment begins with, those of Doxygen among them.
var opening = regexp.MustCompile(`^/[/*][/*!]?<?`)

var brief = regexp.MustCompile(`^[@\\]brief\s+`)

// tidy takes the signs of a comment away.
func tidy(lines []string) []string {
	var out []string
	block := !strings.HasPrefix(strings.TrimSpace(lines[0]), "//")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if block {
			line = strings.TrimSuffix(line, "*/")
		}
		if i == 0 || !block {
			line = strings.TrimPrefix(line, opening.FindString(line))
		} else {
			line = strings.TrimPrefix(line, "*")
		}
		// Indented text, as an example, stays so.
		out = append(out, strings.TrimRight(strings.TrimPrefix(line, " "), " \t"))
	}
	for len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	if len(out) > 0 {
		out[0] = brief.ReplaceAllString(out[0], "")
	}
	return out
}
