package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// known are the fields of a front matter. Names are compared with dashes: when_to_use is when-to-use.
const known = " name description when-to-use allowed-tools disallowed-tools argument-hint arguments model effort context agent user-invocable user-invokable " +
	"disable-model-invocation version paths hooks shell metadata license compatibility author tags "

// parse makes a skill of a front matter. What is only strange is a note.
func parse(front string) (s *Skill, notes []string, err error) {
	raw, err := readYAML(front)
	if err != nil {
		return nil, nil, err
	}
	values := raw
	for name := range raw {
		if !strings.Contains(known, " "+name+" ") {
			values, notes = normal(raw)
			break
		}
	}
	f := fields{values: values}
	s = &Skill{
		Title: f.text("name"), Description: join(" - ", f.text("description"), f.text("when-to-use")), Hint: f.hint("argument-hint"),
		Arguments: f.list("arguments", splitWords), Version: f.text("version"),
		Allowed: f.list("allowed-tools", splitRules), Denied: f.list("disallowed-tools", splitRules),
		Model: f.text("model"), Effort: f.text("effort"), Hooks: f.object("hooks"), Shell: f.text("shell"),
		Agent: f.text("agent"), Paths: f.list("paths", splitCommas),
		ForUser:  f.flag("user-invocable", f.flag("user-invokable", true)),
		ForModel: !f.flag("disable-model-invocation", false),
	}
	if s.Model == "inherit" {
		s.Model = ""
	}
	switch how := f.text("context"); how {
	case "", "inline", "inherit":
	case "fork":
		s.Fork = true
	default:
		f.wrong("context", fmt.Sprintf("is inline or fork, not %q", how))
	}
	if s.Effort != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, s.Effort) {
		f.wrong("effort", fmt.Sprintf("is low, medium, high, xhigh or max, not %q", s.Effort))
	}
	if s.Shell != "" && s.Shell != "bash" && s.Shell != "powershell" {
		f.wrong("shell", fmt.Sprintf("is bash or powershell, not %q", s.Shell))
	}
	if s.Agent != "" && !s.Fork {
		notes = append(notes, "the field agent counts only with context: fork")
	}
	return s, notes, errors.Join(f.errs...)
}

// normal brings the names of fields into the form in which they are known.
func normal(raw map[string]any) (values map[string]any, notes []string) {
	values = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		key := strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if !strings.Contains(known, " "+key+" ") {
			notes = append(notes, fmt.Sprintf("the field %q is not known and counts for nothing", name))
			continue
		}
		values[key] = raw[name]
	}
	return values, notes
}

// fields reads the values of a front matter, and gathers what is wrong with them.
type fields struct {
	values map[string]any
	errs   []error
}

func (f *fields) wrong(name, text string) {
	f.errs = append(f.errs, fmt.Errorf("the field %s %s", name, text))
}

// text reads a value that is one text.
func (f *fields) text(name string) string {
	switch v := f.values[name].(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v)
	}
	f.wrong(name, "must be one text")
	return ""
}

// hint reads a text that looks like a list to YAML: [file].
func (f *fields) hint(name string) string {
	list, ok := f.values[name].([]any)
	if !ok {
		return f.text(name)
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (f *fields) flag(name string, missing bool) bool {
	switch v := f.values[name].(type) {
	case nil:
		return missing
	case bool:
		return v
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true", "yes", "on", "1":
			return true
		case "false", "no", "off", "0":
			return false
		}
	}
	f.wrong(name, "must be true or false")
	return missing
}

// list reads a list that may also be one text.
func (f *fields) list(name string, split func(string) []string) []string {
	switch v := f.values[name].(type) {
	case nil:
		return nil
	case string:
		return split(v)
	case []any:
		var list []string
		for _, item := range v {
			switch item := item.(type) {
			case string:
				if item = strings.TrimSpace(item); item != "" {
					list = append(list, item)
				}
			case map[string]any: // arguments may be described: {name: file, description: …}
				if n, ok := item["name"].(string); ok && name == "arguments" {
					list = append(list, n)
					continue
				}
				f.wrong(name, "must be a list of texts")
				return nil
			default:
				list = append(list, fmt.Sprint(item))
			}
		}
		return list
	}
	f.wrong(name, "must be a list of texts, or one text")
	return nil
}

// object reads a value that is handed on as JSON.
func (f *fields) object(name string) json.RawMessage {
	v := f.values[name]
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		f.wrong(name, "has values that cannot be used: "+err.Error())
		return nil
	}
	return raw
}

func splitWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}

func splitCommas(s string) []string {
	return splitAt(s, "{", "}", func(r rune) bool { return r == ',' })
}

func splitRules(s string) []string {
	return splitAt(s, "(", ")", func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}

// splitAt splits where at says so, but not inside of brackets.
func splitAt(s, open, shut string, at func(rune) bool) []string {
	var list []string
	depth := 0
	for _, part := range strings.FieldsFunc(s, func(r rune) bool {
		switch string(r) {
		case open:
			depth++
		case shut:
			depth = max(depth-1, 0)
		}
		return depth == 0 && at(r)
	}) {
		if part = strings.Trim(strings.TrimSpace(part), `"'`); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// join joins the texts that are not empty.
func join(sep string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), sep)
}
