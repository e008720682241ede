package bodygen

import (
	"bytes"
	"fmt"
	"go/build/constraint"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A headline is how the comment of a C name begins: "add - adds", "struct point: a place".
var headline = regexp.MustCompile(
	`^(?:(?:struct|enum)\s+)?(\S+?)(?:\(\))?(?:\s+(?:--?|–|—)|:)(?:\s+|$)`)

// cutName cuts the C name from the beginning of its comment.
func cutName(cName string, doc []string) (rest []string, ok bool) {
	if len(doc) == 0 {
		return nil, false
	}
	cName = cName[strings.LastIndexByte(cName, ' ')+1:]
	m := headline.FindStringSubmatch(doc[0])
	if m == nil || m[1] != cName {
		return doc, false
	}
	rest = slices.Clone(doc)
	if rest[0] = doc[0][len(m[0]):]; rest[0] == "" {
		rest = rest[1:]
	}
	if len(rest) == 0 || rest[0] == "" {
		return doc, false
	}
	return rest, true
}

// comment is the doc comment of the variable. "add - adds" in C is "Add adds" in Go. What is no
// sentence with the name before it, as in "add - a sum", follows one.
func (f *goBody) comment() []string {
	what := fmt.Sprintf("%s is the body %s of %s", f.goName, f.cName, f.source)
	doc, named := cutName(f.cName, f.doc)
	if rest, ok := strings.CutPrefix(strings.Join(doc[:min(1, len(doc))], ""),
		f.cName+" "); ok && !named && isVerb(rest) { // as in Go
		doc, named = append([]string{rest}, doc[1:]...), true
	}
	if named && isVerb(doc[0]) {
		first, size := utf8.DecodeRuneInString(doc[0])
		text := f.goName + " " + string(unicode.ToLower(first)) + doc[0][size:]
		return append(append([]string{text}, doc[1:]...),
			"", "The C body is "+f.cName+" of "+f.source+".")
	}
	return sentence(what, doc, named)
}

// sentence is a comment that begins with a sentence. The doc explains what that names, or, if not,
// is sentences of its own.
func sentence(what string, doc []string, explains bool) []string {
	switch {
	case len(doc) == 0:
		return []string{what + "."}
	case explains:
		return append([]string{what + ": " + doc[0]}, doc[1:]...)
	}
	return append([]string{what + ".", ""}, doc...)
}

// isVerb tells whether a text, which follows a name, seems to begin with its verb.
func isVerb(text string) bool {
	word, rest, _ := strings.Cut(strings.ToLower(text), " ")
	next, _, _ := strings.Cut(rest, " ")
	word = strings.TrimRight(word, ".,:;")
	switch word {
	case "may", "can", "must", "will", "never":
		return true
	case "this", "its", "plus", "always", "perhaps":
		return false
	}
	switch next {
	case "of", "that", "which", "are": // the word is a plural
		return false
	}
	return len(word) > 1 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") &&
		!strings.HasSuffix(word, "us") && !strings.ContainsFunc(word,
		func(r rune) bool { return !unicode.IsLetter(r) })
}

// The columns of a line of a comment, and of the tab before that of a member.
const (
	columns    = 100
	tabColumns = 8
)

// wrapped breaks lines of more than so many characters at spaces. What is left begins the next line
// of the paragraph. Indented lines stay: they are code, or lists.
func wrapped(lines []string, most int) (out []string) {
	isText := func(line string) bool {
		return line != "" && !unicode.IsSpace(rune(line[0]))
	}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		for isText(line) && utf8.RuneCountInString(line) > most {
			end := strings.LastIndexByte(string([]rune(line)[:most+1]), ' ')
			if end < 0 {
				if end = strings.IndexByte(line, ' '); end < 0 {
					break
				}
			}
			out = append(out, line[:end])
			line = strings.TrimLeft(line[end:], " ")
			if i+1 < len(lines) && isText(lines[i+1]) {
				i++
				line += " " + lines[i]
			}
		}
		out = append(out, line)
	}
	return out
}

// writeDoc writes a comment, in which no line means anything but its text, and which is to be
// indented by so many columns.
func writeDoc(b *bytes.Buffer, lines []string, indent int) {
	for _, line := range wrapped(lines, columns-indent-len("// ")) {
		fmt.Fprintln(b, strings.TrimRight("// "+harmless(line), " "))
	}
}

// harmless is a line of a comment that Go takes for nothing else. As a space comes before it, it is
// no directive. What is not UTF-8, or no text, is a replacement character. A build constraint of
// the old form is one behind spaces, too, and is quoted.
func harmless(line string) string {
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || r == '\uFEFF' {
			return utf8.RuneError
		}
		return r
	}, line)
	if constraint.IsPlusBuild("// " + line) {
		text := strings.TrimSpace(line)
		return strings.Replace(line, text, `"`+text+`"`, 1)
	}
	return line
}
