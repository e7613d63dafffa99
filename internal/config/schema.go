package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// JSONSchema is the schema of a settings file, made from Settings. Unknown keys are allowed in it, because Claude Code has keys of its own.
func JSONSchema() []byte {
	var out bytes.Buffer
	out.WriteString(`{"$schema":"http://json-schema.org/draft-07/schema#","title":"gofer settings","description":"settings.json, settings.local.json and managed-settings.json",`)
	out.Write(settingsShape().schema(&field{shape: settingsShape()}, true)[1:])
	var indented bytes.Buffer
	if err := json.Indent(&indented, out.Bytes(), "", "  "); err != nil {
		panic("config: the schema is not JSON: " + err.Error())
	}
	indented.WriteByte('\n')
	return indented.Bytes()
}

func (s *shape) schema(f *field, open bool) []byte {
	parts := []string{}
	put := func(key string, value any) { parts = append(parts, fmt.Sprintf("%q:%s", key, marshal(value))) }
	enum := func() {
		if len(f.enum) > 0 {
			put("enum", f.enum)
		}
	}
	switch s.kind {
	case kindText:
		put("type", "string")
		enum()
	case kindInt:
		put("type", "integer")
	case kindNumber:
		put("type", "number")
	case kindBool:
		put("type", "boolean")
	case kindWords:
		put("type", []string{"string", "array"})
		put("items", map[string]string{"type": "string"})
	case kindSwitch:
		put("type", []string{"boolean", "array"})
		put("items", map[string]string{"type": "string"})
	case kindList:
		put("type", "array")
		put("items", json.RawMessage(s.elem.schema(&field{shape: s.elem}, false)))
	case kindMap:
		put("type", "object")
		elem := json.RawMessage(s.elem.schema(&field{shape: s.elem, enum: f.enum}, false))
		put("additionalProperties", elem)
		if len(f.keys) > 0 {
			put("propertyNames", map[string]any{"enum": f.keys})
		}
	case kindObject:
		s.objectSchema(put, open)
	}
	if s == f.shape {
		if f.min != nil {
			put("minimum", *f.min)
		}
		if f.max != nil {
			put("maximum", *f.max)
		}
		if f.hasDefault && s.kind == kindText {
			put("default", f.def)
		} else if f.hasDefault {
			put("default", json.RawMessage(f.def))
		}
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func (s *shape) objectSchema(put func(string, any), open bool) {
	put("type", "object")
	properties := []string{}
	var needed []string
	for _, inner := range s.fields() {
		schema := string(inner.shape.schema(inner, false))
		described := fmt.Sprintf(`{"description":%s,%s`, marshal(inner.sentence()), schema[1:])
		if schema == "{}" {
			described = fmt.Sprintf(`{"description":%s}`, marshal(inner.sentence()))
		}
		properties = append(properties, fmt.Sprintf("%s:%s", marshal(inner.name), described))
		if inner.needed {
			needed = append(needed, inner.name)
		}
	}
	put("properties", json.RawMessage("{"+strings.Join(properties, ",")+"}"))
	if needed != nil {
		put("required", needed)
	}
	if !open {
		put("additionalProperties", false)
	}
}

// sentence is the description with what the field's tags forbid.
func (f *field) sentence() string {
	out := f.desc
	if f.only != Default {
		out += " (only in " + f.only.String() + " settings)"
	}
	for i, l := range f.never {
		if i == 0 {
			out += " (never in " + l.String() + " settings"
		} else {
			out += " or " + l.String() + " settings"
		}
		if i == len(f.never)-1 {
			out += ")"
		}
	}
	return out
}

// Reference is the table of all keys in Markdown.
func Reference() string {
	var out strings.Builder
	out.WriteString("| key | value | default | what it does |\n|---|---|---|---|\n")
	reference(&out, settingsShape(), "", "")
	return out.String()
}

func reference(out *strings.Builder, s *shape, prefix, trust string) {
	for _, f := range s.fields() {
		key := join(prefix, f.name)
		inner := f.shape
		waits := trust
		if f.trust != "" {
			waits = f.trust
		}
		if f.shape.kind == kindObject {
			reference(out, inner, key, waits)
		} else {
			value := f.expected()
			if f.shape.kind == kindMap {
				value = "an object: " + inner.elem.expected() + " by name"
			}
			note := ""
			if waits != "" {
				note = " †"
			}
			fmt.Fprintf(out, "| `%s`%s | %s | %s | %s |\n", key, note, strings.ReplaceAll(value, "|", "\\|"), f.def, strings.ReplaceAll(f.sentence(), "|", "\\|"))
			elem := inner
			for elem.kind == kindMap || elem.kind == kindList {
				elem = elem.elem
				key += map[bool]string{true: ".NAME", false: "[]"}[inner.kind == kindMap]
				inner = elem
			}
			if elem.kind == kindObject {
				reference(out, elem, key, waits)
			}
		}
	}
}
