// Package highlight colours program text, line by line.
//
// A language is a small table: its words, strings, comments and numbers. Reading a line needs only the line and the state that the
// line before it left behind, so a text can be coloured while it still grows, and each line is read once. It costs nothing before
// the first line is coloured, and every line is read in one pass. What is not known stays plain; no text is ever changed.
package highlight

import (
	"path/filepath"
	"strings"
	"sync"

	"gofer/internal/ui/theme"
)

// A Kind is what a piece of program text is.
type Kind uint8

const (
	Plain Kind = iota
	Keyword
	Type
	Function
	String
	Number
	Comment
	Inserted // a line of a diff
	Deleted
	Title // a heading, a section
)

// A Span is a piece of a line, by its bytes. What lies between spans is plain.
type Span struct {
	Start, End int
	Kind       Kind
}

// A State is what a line leaves behind for the next one, such as an open comment. The zero value is the beginning of a text.
type State uint32

// A Language reads program text. A nil *Language leaves all text plain.
type Language struct {
	name string
	read func(line string, state State) ([]Span, State)
}

// Name is the language's own name, or nothing.
func (l *Language) Name() string {
	if l == nil {
		return ""
	}
	return l.name
}

// maxLine is the longest line that is read; longer ones are data, and stay plain.
const maxLine = 4096

// Line reads one line.
func (l *Language) Line(line string, state State) ([]Span, State) {
	if l == nil || len(line) > maxLine {
		return nil, state
	}
	return l.read(line, state)
}

// Paint colours one line, which has to be clean already.
func (l *Language) Paint(t *theme.Theme, line string, state State) (string, State) {
	spans, next := l.Line(line, state)
	if len(spans) == 0 {
		return line, next
	}
	var b strings.Builder
	b.Grow(len(line) + 16*len(spans))
	at := 0
	for _, s := range spans {
		b.WriteString(line[at:s.Start])
		b.WriteString(Style(t, s.Kind).Paint(line[s.Start:s.End]))
		at = s.End
	}
	b.WriteString(line[at:])
	return b.String(), next
}

// Style is how a kind is painted.
func Style(t *theme.Theme, k Kind) theme.Style {
	switch k {
	case Keyword:
		return t.Keyword
	case Type:
		return t.Type
	case Function:
		return t.Function
	case String:
		return t.Text
	case Number:
		return t.Number
	case Comment:
		return t.Comment
	case Inserted:
		return t.Good
	case Deleted:
		return t.Bad
	case Title:
		return t.Heading
	}
	return theme.Style{}
}

// Named gives the language of a name, as it stands behind a fence: "go", "c++", "js title=x". Unknown names give nil.
func Named(name string) *Language {
	name = strings.TrimSpace(name)
	if i := strings.IndexAny(name, " \t{,:"); i >= 0 {
		name = name[:i]
	}
	return known()[strings.ToLower(strings.TrimPrefix(name, "."))]
}

// ForFile gives the language of a file, by its name. Unknown ones give nil.
func ForFile(path string) *Language {
	base := strings.ToLower(filepath.Base(filepath.ToSlash(path)))
	switch {
	case base == "makefile" || base == "gnumakefile" || strings.HasPrefix(base, "makefile."):
		return known()["make"]
	case base == "dockerfile" || base == "containerfile" || strings.HasPrefix(base, "dockerfile."):
		return known()["dockerfile"]
	case base == "gemfile" || base == "rakefile":
		return known()["ruby"]
	case base == ".bashrc" || base == ".profile" || base == ".zshrc" || base == ".bash_profile":
		return known()["bash"]
	}
	ext := filepath.Ext(base)
	if len(ext) < 2 {
		return nil
	}
	return known()[ext[1:]]
}

// known is every language by all its names. The tables are made when the first name is asked for.
var known = sync.OnceValue(func() map[string]*Language {
	all := map[string]*Language{}
	add := func(read func(string, State) ([]Span, State), names string) {
		list := strings.Fields(names)
		l := &Language{name: list[0], read: read}
		for _, n := range list {
			all[n] = l
		}
	}
	for names, g := range grammars() {
		add(g.compile().read, names)
	}
	add(readDiff, "diff patch udiff")
	add(readMarkdown, "markdown md mdx")
	add(readJSON, "json jsonc json5 jsonl ndjson")
	add(readYAML, "yaml yml")
	add(readTOML, "toml ini cfg conf properties env editorconfig gitconfig")
	add(readMake, "make mk makefile mak")
	add(readDocker, "dockerfile docker containerfile")
	add(readCSS, "css scss sass less")
	add(markup{script: all["javascript"].read, style: readCSS}.read, "html htm xml svg vue svelte xhtml jsp xsl plist csproj")
	return all
})
