package page

import (
	"bytes"
	"strings"
)

// Front is the front matter of a page: simple fields, each with one value or a list of them. People write globs and colons there
// that YAML proper refuses, so it is read line by line and leniently.
type Front map[string][]string

// Get returns the value of a field as one text.
func (f Front) Get(name string) string { return strings.Join(f[name], ", ") }

// Split separates the front matter of text from the rest. Text without any has a nil Front.
func Split(text string) (Front, string) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, text
	}
	head, body, ok := cutFence(rest)
	if !ok {
		return nil, text
	}
	front, field := Front{}, ""
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case field != "" && strings.HasPrefix(trimmed, "- "):
			front[field] = append(front[field], unquote(trimmed[2:]))
		case field != "" && line != trimmed: // a value that goes on
			if v := front[field]; len(v) > 0 {
				v[len(v)-1] += " " + trimmed
			} else {
				front[field] = []string{unquote(trimmed)}
			}
		default:
			name, value, found := strings.Cut(trimmed, ":")
			if !found {
				continue
			}
			field = strings.ToLower(strings.TrimSpace(name))
			front[field] = values(strings.TrimSpace(value))
		}
	}
	return front, strings.TrimLeft(body, "\n")
}

// cutFence cuts at the line that ends the front matter.
func cutFence(s string) (head, body string, ok bool) {
	for at := 0; at <= len(s); {
		line, _, _ := strings.Cut(s[at:], "\n")
		end := at + len(line)
		if strings.TrimRight(line, " \t\r") == "---" {
			return s[:at], strings.TrimPrefix(s[end:], "\n"), true
		}
		at = end + 1
	}
	return "", "", false
}

func values(v string) []string {
	switch {
	case v == "" || v == "|" || v == ">" || v == ">-" || v == "|-":
		return nil
	case strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]"):
		return List(v[1 : len(v)-1])
	}
	return []string{unquote(v)}
}

// List splits at commas, but not at those inside of braces, as in *.{ts,tsx}, or quotes.
func List(s string) []string {
	var items []string
	depth, start := 0, 0
	var quote byte
	add := func(item string) {
		if item = unquote(strings.TrimSpace(item)); item != "" {
			items = append(items, item)
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth <= 0:
			add(s[start:i])
			start = i + 1
		}
	}
	add(s[start:])
	return items
}

func unquote(v string) string {
	v = strings.TrimSpace(v)
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
		return v[1 : len(v)-1]
	}
	return v
}

// Plain makes text of the bytes of a file: without a byte order mark, with plain line ends, and valid. It reports false for
// what is no text at all.
func Plain(data []byte) (string, bool) {
	if bytes.IndexByte(data, 0) >= 0 {
		return "", false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.IndexByte(data, '\r') >= 0 {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return string(bytes.ToValidUTF8(data, []byte("\ufffd"))), true
}
