package config

import (
	"reflect"
	"strconv"
	"strings"
)

// setOrigin tells a value that wants to know where it came from.
func setOrigin(v reflect.Value, o Origin) {
	if v.Kind() == reflect.Struct {
		if field := v.FieldByName("Origin"); field.IsValid() {
			field.Set(reflect.ValueOf(o))
		}
	}
}

// expectedItem is expected for the field itself or for one item of it.
func (f *field) expectedItem(s *shape) string {
	if s == f.shape {
		return f.expected()
	}
	return s.expected()
}

// words reads a list of texts, or one text with commas.
func (n *node) words() ([]string, bool) {
	var words []string
	switch n.kind {
	case '"':
		for w := range strings.SplitSeq(n.text, ",") {
			if w = strings.TrimSpace(w); w != "" {
				words = append(words, w)
			}
		}
		return words, true
	case '[':
		for _, item := range n.items {
			if item.kind != '"' {
				return nil, false
			}
			words = append(words, item.text)
		}
		return words, true
	}
	return nil, false
}

// missing names the field that a hook of this type cannot do without, when it is not there.
func (h Hook) missing() string {
	switch {
	case h.Type == "command" && h.Command == "":
		return "command"
	case (h.Type == "prompt" || h.Type == "agent") && h.Prompt == "":
		return "prompt"
	case h.Type == "http" && h.URL == "":
		return "url"
	case h.Type == "mcp_tool" && h.Server == "":
		return "server"
	case h.Type == "mcp_tool" && h.Tool == "":
		return "tool"
	}
	return ""
}

// fillDefaults sets the defaults of the tags in v.
func fillDefaults(s *shape, v reflect.Value) {
	for _, f := range s.fields() {
		target := v.Field(f.index)
		switch {
		case f.shape.kind == kindObject && target.Kind() == reflect.Struct:
			fillDefaults(f.shape, target)
		case !f.hasDefault:
		case f.shape.kind == kindText:
			target.SetString(f.def)
		case f.shape.kind == kindBool:
			target.SetBool(f.def == "true")
		case f.shape.kind == kindInt:
			n, _ := strconv.Atoi(f.def)
			target.SetInt(int64(n))
		}
	}
}
