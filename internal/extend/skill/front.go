package skill

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// splitFront separates the front matter from the text. found is false for a file that has none.
func splitFront(data []byte) (front, body string, found bool, err error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return "", "", false, errors.New("it is not a text file")
	}
	text := string(bytes.TrimPrefix(data, []byte("\ufeff")))
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, false, nil
	}
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:at], strings.TrimPrefix(rest[at+len(line):], "\n"), true, nil
		}
		at += len(line) + 1
	}
	return "", "", false, errNoEnd
}

var errNoEnd = errors.New("the front matter does not end: a line --- is missing behind it")

// readYAML reads the front matter. People write descriptions with colons in them that YAML proper refuses; then the simple lines are quoted
// and it is tried once more.
func readYAML(text string) (map[string]any, error) {
	if values, ok := readPlain(text); ok {
		return values, nil
	}
	values := map[string]any{}
	err := yaml.Unmarshal([]byte(text), &values)
	if err == nil {
		return values, nil
	}
	lenient := map[string]any{}
	if yaml.Unmarshal([]byte(quoteLines(text)), &lenient) == nil {
		return lenient, nil
	}
	return nil, fmt.Errorf("the front matter is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
}

// readPlain reads a front matter that is nothing but lines "name: words", as most are, in a hundredth of the time. What could mean anything
// else to YAML is left to it.
func readPlain(text string) (map[string]any, bool) {
	values := map[string]any{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		value = strings.TrimSpace(value)
		if !found || !plainName(name) || value == "" || values[name] != nil || stumbles(value) {
			return nil, false
		}
		switch strings.ToLower(value) {
		case "true":
			values[name] = true
		case "false":
			values[name] = false
		case "yes", "no", "on", "off", "null", "y", "n":
			return nil, false
		default:
			if c := value[0] | 0x20; c < 'a' || c > 'z' {
				return nil, false
			}
			values[name] = value
		}
	}
	return values, true
}

func plainName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' {
			return false
		}
	}
	return s != "" && s[0] != '-'
}

// quoteLines puts values that YAML would stumble over into quotes.
func quoteLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !found || !plainName(name) || !stumbles(value) && !(openBracket(value) && proseField(name)) {
			b.WriteString(line)
			continue
		}
		fmt.Fprintf(&b, "%s: '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	return b.String()
}

// proseField names the fields that are meant as words, whatever they look like.
func proseField(name string) bool {
	return name == "argument-hint" || name == "argument_hint" || name == "description" || name == "when_to_use" || name == "when-to-use"
}

// openBracket reports a value such as "[file] [--all]", a hint that YAML takes for a broken list.
func openBracket(value string) bool {
	return strings.HasPrefix(value, "[") && !(strings.HasSuffix(value, "]") && strings.Count(value, "[") == 1) || strings.HasPrefix(value, "*")
}

// stumbles reports whether plain text is none to YAML. What is quoted, or begins something that goes on, is left alone.
func stumbles(value string) bool {
	if value == "" || strings.ContainsAny(value[:1], "\"'[{|>&*!") {
		return false
	}
	return strings.Contains(value, ": ") || strings.Contains(value, " #") || strings.HasSuffix(value, ":") || strings.ContainsAny(value[:1], "@`%?-")
}
