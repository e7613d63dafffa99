package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"gofer/internal/hook"
)

// ParseMarkdown reads a definition from a Markdown file: the front matter, and behind it what the agent is told.
func ParseMarkdown(data []byte, src hook.Source) (*Definition, []string, error) {
	front, body, err := splitFront(data)
	if err != nil {
		return nil, nil, err
	}
	values, err := readYAML(front)
	if err != nil {
		return nil, nil, err
	}
	if _, twice := values["prompt"]; twice {
		return nil, nil, errors.New("the prompt stands behind the front matter, not in it")
	}
	values["prompt"] = body
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, nil, fmt.Errorf("the front matter has values that cannot be used: %w", err)
	}
	return decode(raw, src)
}

// splitFront separates the front matter from the text.
func splitFront(data []byte) (front, body string, err error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return "", "", errors.New("it is not a text file")
	}
	text := strings.ToValidUTF8(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\ufffd")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", errors.New("it has no front matter: it must begin with a line ---, then name and description, then another line ---")
	}
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:at], strings.TrimPrefix(rest[at+len(line):], "\n"), nil
		}
		at += len(line) + 1
	}
	return "", "", errors.New("the front matter does not end: a line --- is missing behind it")
}

// readYAML reads the front matter. People write descriptions with colons in them that YAML proper refuses; then the simple lines
// are quoted and it is tried once more.
func readYAML(text string) (map[string]any, error) {
	if values, ok := readPlain(text); ok {
		return values, nil
	}
	values := map[string]any{}
	err := yaml.Unmarshal([]byte(text), &values)
	if err == nil {
		return notNil(values), nil
	}
	lenient := map[string]any{}
	if yaml.Unmarshal([]byte(quoteLines(text)), &lenient) == nil {
		return notNil(lenient), nil
	}
	return nil, fmt.Errorf("the front matter is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
}

// readPlain reads a front matter that is nothing but lines "name: words", as most are, in a hundredth of the time. What could mean anything else
// to YAML is left to it.
func readPlain(text string) (map[string]any, bool) {
	values := map[string]any{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		value = strings.TrimSpace(value)
		if !found || !plainWord(name) || value == "" || values[name] != nil || stumbles(value) || !startsPlain(value) {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

func plainWord(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}

// startsPlain reports whether a value is text to YAML: it begins with a letter and is none of the words that mean something else.
func startsPlain(value string) bool {
	if !plainWord(value[:1]) {
		return false
	}
	switch strings.ToLower(value) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return false
	}
	return true
}

func notNil(values map[string]any) map[string]any {
	if values == nil {
		return map[string]any{}
	}
	return values
}

// quoteLines puts values that YAML would stumble over into quotes: those of lines "name: value" with a colon or a number sign in them.
func quoteLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !found || name == "" || strings.ContainsAny(name, " \t#-") || !stumbles(value) {
			b.WriteString(line)
			continue
		}
		fmt.Fprintf(&b, "%s: '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	return b.String()
}

// stumbles reports whether plain text is none to YAML. What is quoted, or begins something that goes on, is left alone.
func stumbles(value string) bool {
	if value == "" || strings.ContainsAny(value[:1], "\"'[{|>&*!") {
		return false
	}
	return strings.Contains(value, ": ") || strings.Contains(value, " #") || strings.HasSuffix(value, ":") || strings.ContainsAny(value[:1], "@`%?-")
}
