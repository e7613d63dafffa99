package script

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"gofer/internal/llm"
)

// A template is a text in which {{name}} stands for something of the request.
type template struct {
	src   string
	names []string // the names that occur, so that most texts cost nothing to fill
	json  bool
}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\?\{\{[a-z][a-z0-9_]*\}\}`) })

func newTemplate(src string, json bool) template {
	t := template{src: src, json: json}
	if !strings.Contains(src, "{{") {
		return t
	}
	for _, m := range placeholder().FindAllString(src, -1) {
		if json || m[0] != '\\' {
			t.names = append(t.names, strings.Trim(m, `\{}`))
		}
	}
	return t
}

// fill replaces every {{name}}. In plain text \{{name}} stands for itself, without the backslash.
func (t template) fill(value func(string) string) string {
	switch {
	case !strings.Contains(t.src, "{{"):
		return t.src
	case t.json:
		return t.fillJSON(value)
	}
	return placeholder().ReplaceAllStringFunc(t.src, func(m string) string {
		if m[0] == '\\' {
			return m[1:]
		}
		return value(strings.Trim(m, "{}"))
	})
}

// fillJSON does it for a text that is JSON. Inside a string the value is escaped; outside it stands for itself when it
// is JSON (a number), and becomes a string otherwise.
func (t template) fillJSON(value func(string) string) string {
	var out []byte
	inString := false
	last := 0
	for _, span := range placeholder().FindAllStringIndex(t.src, -1) {
		start := span[0]
		if t.src[start] == '\\' { // the backslash belongs to the JSON
			start++
		}
		before := t.src[last:start]
		inString = endsInString(before, inString)
		out = append(out, before...)
		last = span[1]
		v := value(strings.Trim(t.src[start:last], "{}"))
		quoted := llm.AppendString(nil, v)
		switch {
		case inString:
			out = append(out, quoted[1:len(quoted)-1]...)
		case json.Valid([]byte(v)):
			out = append(out, v...)
		default:
			out = append(out, quoted...)
		}
	}
	return string(append(out, t.src[last:]...))
}

// endsInString tells whether the JSON text s, which began inside a string or not, ends inside one.
func endsInString(s string, in bool) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			in = !in
		case in && s[i] == '\\':
			i++
		}
	}
	return in
}

// blankPlaceholders makes JSON of a JSON template, for checking: every placeholder becomes a number of the same length.
func blankPlaceholders(src []byte) []byte {
	if !bytes.Contains(src, []byte("{{")) {
		return src
	}
	return placeholder().ReplaceAllFunc(src, func(m []byte) []byte {
		out := bytes.Repeat([]byte{'1'}, len(m))
		if m[0] == '\\' { // the second half of an escaped backslash
			out[0] = '\\'
		}
		return out
	})
}
