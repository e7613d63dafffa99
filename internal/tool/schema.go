package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gofer/internal/llm"
)

// The schema of a tool comes from its input type by the few rules below, in microseconds: a general library takes a third
// of a millisecond for each tool at every start, and knows no enums. The same walk over the type decodes and
// validates what the model sent, so that the two cannot drift apart.
//
// Tags of a field: `json:"name"` (`,omitempty` makes it optional), `desc:"…"`, `enum:"a|b"`, `min:"1"`, `max:"9"`, `minlen:"1"`, `maxlen:"4"`.

// inputType describes one Go type of an input.
type inputType struct {
	kind   string // string, integer, number, boolean, array, object, map, any
	elem   *inputType
	fields []inputField
	goType reflect.Type
}

type inputField struct {
	name, desc     string
	index          []int
	optional       bool
	enum           []string
	min, max       *float64
	minLen, maxLen *int
	typ            *inputType
}

func schemaOf[In any]() (json.RawMessage, *inputType) {
	t := describe(reflect.TypeFor[In]())
	if t.kind != "object" {
		panic(fmt.Sprintf("tool: the input type %v is not a struct", reflect.TypeFor[In]()))
	}
	return t.appendSchema(nil, inputField{}), t
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

func describe(t reflect.Type) *inputType {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	d := &inputType{goType: t}
	switch {
	case t == rawMessage || t.Kind() == reflect.Interface:
		d.kind = "any"
		return d
	}
	switch t.Kind() {
	case reflect.String:
		d.kind = "string"
	case reflect.Bool:
		d.kind = "boolean"
	case reflect.Int, reflect.Int64, reflect.Int32:
		d.kind = "integer"
	case reflect.Float64:
		d.kind = "number"
	case reflect.Slice:
		d.kind, d.elem = "array", describe(t.Elem())
	case reflect.Map:
		d.kind, d.elem = "map", describe(t.Elem())
	case reflect.Struct:
		d.kind = "object"
		for _, f := range reflect.VisibleFields(t) {
			if f.Anonymous || !f.IsExported() {
				continue
			}
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" && opts == "" {
				continue
			}
			if name == "" {
				name = f.Name
			}
			field := inputField{name: name, desc: f.Tag.Get("desc"), index: f.Index, typ: describe(f.Type)}
			field.optional = slices.Contains(strings.Split(opts, ","), "omitempty")
			if e := f.Tag.Get("enum"); e != "" {
				field.enum = strings.Split(e, "|")
			}
			field.min, field.max = tagNumber(f, "min"), tagNumber(f, "max")
			field.minLen, field.maxLen = tagInt(f, "minlen"), tagInt(f, "maxlen")
			d.fields = append(d.fields, field)
		}
	default:
		panic(fmt.Sprintf("tool: no schema for %v", t))
	}
	return d
}

func tagNumber(f reflect.StructField, key string) *float64 {
	s, ok := f.Tag.Lookup(key)
	if !ok {
		return nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("tool: tag %s of %s: %v", key, f.Name, err))
	}
	return &n
}

func tagInt(f reflect.StructField, key string) *int {
	n := tagNumber(f, key)
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

func (t *inputType) appendSchema(dst []byte, f inputField) []byte {
	dst = append(dst, '{')
	add := func(key string) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(llm.AppendString(dst, key), ':')
	}
	switch t.kind {
	case "any":
	case "map":
		add("type")
		dst = append(dst, `"object"`...)
		if t.elem.kind != "any" {
			add("additionalProperties")
			dst = t.elem.appendSchema(dst, inputField{})
		}
	default:
		add("type")
		dst = llm.AppendString(dst, t.kind)
	}
	if f.desc != "" {
		add("description")
		dst = llm.AppendString(dst, f.desc)
	}
	if f.enum != nil && t.kind == "string" {
		add("enum")
		dst = appendStrings(dst, f.enum)
	}
	number := func(key string, n *float64) {
		if n != nil {
			add(key)
			dst = strconv.AppendFloat(dst, *n, 'f', -1, 64)
		}
	}
	number("minimum", f.min)
	number("maximum", f.max)
	length := func(key string, n *int) {
		if n != nil {
			add(key)
			dst = strconv.AppendInt(dst, int64(*n), 10)
		}
	}
	if t.kind == "array" {
		add("items")
		dst = t.elem.appendSchema(dst, inputField{})
		length("minItems", f.minLen)
		length("maxItems", f.maxLen)
	} else {
		length("minLength", f.minLen)
		length("maxLength", f.maxLen)
	}
	if t.kind == "object" {
		add("properties")
		dst = append(dst, '{')
		var required []string
		for i, field := range t.fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(llm.AppendString(dst, field.name), ':')
			dst = field.typ.appendSchema(dst, field)
			if !field.optional {
				required = append(required, field.name)
			}
		}
		dst = append(dst, '}')
		if required != nil {
			add("required")
			dst = appendStrings(dst, required)
		}
		add("additionalProperties")
		dst = append(dst, "false"...)
	}
	return append(dst, '}')
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = llm.AppendString(dst, s)
	}
	return append(dst, ']')
}

func inputError(tool, what string) error {
	return fmt.Errorf("the input of %s does not fit its schema: %s", tool, what)
}

func decodeInput(tool string, t *inputType, raw json.RawMessage, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := t.decode(raw, reflect.ValueOf(into).Elem(), inputField{}, ""); err != nil {
		return inputError(tool, err.Error())
	}
	return nil
}

// decode reads raw into v. It forgives what models often do and what has only one meaning: a number or boolean
// inside a string, a list or object inside a string, a whole number written as 5.0, null for a missing optional field.
func (t *inputType) decode(raw json.RawMessage, v reflect.Value, f inputField, path string) error {
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	raw = bytes.TrimSpace(raw)
	wrong := func() error {
		return fmt.Errorf("%s must be %s, but it is %s", field(path), t.expected(), describeJSON(raw))
	}
	if len(raw) > 1 && raw[0] == '"' && t.kind != "string" && t.kind != "any" {
		var inner string
		if json.Unmarshal(raw, &inner) == nil && json.Valid([]byte(inner)) {
			raw = bytes.TrimSpace([]byte(inner))
		}
	}
	switch t.kind {
	case "any":
		if v.Type() == rawMessage {
			v.SetBytes(bytes.Clone(raw))
			return nil
		}
		if json.Unmarshal(raw, v.Addr().Interface()) != nil {
			return wrong()
		}
	case "string":
		var s string
		if json.Unmarshal(raw, &s) != nil || raw[0] != '"' {
			return wrong()
		}
		if f.enum != nil && !slices.Contains(f.enum, s) {
			return fmt.Errorf("%s must be one of %s, but it is %q", field(path), strings.Join(f.enum, ", "), s)
		}
		if err := f.checkLen(len(s), path, "characters"); err != nil {
			return err
		}
		v.SetString(s)
	case "boolean":
		var b bool
		if json.Unmarshal(raw, &b) != nil || raw[0] == 'n' {
			return wrong()
		}
		v.SetBool(b)
	case "integer", "number":
		var n float64
		if json.Unmarshal(raw, &n) != nil || raw[0] == 'n' || t.kind == "integer" && n != math.Trunc(n) {
			return wrong()
		}
		if f.min != nil && n < *f.min {
			return fmt.Errorf("%s must be at least %v, but it is %v", field(path), *f.min, n)
		}
		if f.max != nil && n > *f.max {
			return fmt.Errorf("%s must be at most %v, but it is %v", field(path), *f.max, n)
		}
		if t.kind == "integer" {
			v.SetInt(int64(n))
		} else {
			v.SetFloat(n)
		}
	case "array":
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil || raw[0] == 'n' {
			return wrong()
		}
		if err := f.checkLen(len(items), path, "items"); err != nil {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		for i, item := range items {
			if err := t.elem.decode(item, v.Index(i), inputField{}, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case "map":
		var items map[string]json.RawMessage
		if json.Unmarshal(raw, &items) != nil || raw[0] == 'n' {
			return wrong()
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), len(items)))
		for key, item := range items {
			elem := reflect.New(v.Type().Elem()).Elem()
			if err := t.elem.decode(item, elem, inputField{}, join(path, key)); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(key), elem)
		}
	case "object":
		return t.decodeObject(raw, v, path, wrong)
	}
	return nil
}

func (t *inputType) decodeObject(raw json.RawMessage, v reflect.Value, path string, wrong func() error) error {
	var members map[string]json.RawMessage
	if len(raw) == 0 || raw[0] == 'n' {
		return wrong()
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		if path == "" && raw[0] == '{' {
			return fmt.Errorf("it is not valid JSON (%v)", err)
		}
		return wrong()
	}
	for _, f := range t.fields {
		member, ok := members[f.name]
		delete(members, f.name)
		if !ok || f.optional && string(bytes.TrimSpace(member)) == "null" {
			if !f.optional {
				return fmt.Errorf("%s is missing; it must be %s%s", field(join(path, f.name)), f.typ.expected(), f.about())
			}
			continue
		}
		if err := f.typ.decode(member, v.FieldByIndex(f.index), f, join(path, f.name)); err != nil {
			return err
		}
	}
	for name := range members {
		return fmt.Errorf("there is no field %s; the fields are %s", strconv.Quote(join(path, name)), t.fieldNames())
	}
	return nil
}

func (f inputField) about() string {
	if f.desc == "" {
		return ""
	}
	return " (" + f.desc + ")"
}

func (f inputField) checkLen(n int, path, unit string) error {
	if f.minLen != nil && n < *f.minLen {
		return fmt.Errorf("%s must have at least %d %s, but it has %d", field(path), *f.minLen, unit, n)
	}
	if f.maxLen != nil && n > *f.maxLen {
		return fmt.Errorf("%s must have at most %d %s, but it has %d", field(path), *f.maxLen, unit, n)
	}
	return nil
}

func (t *inputType) fieldNames() string {
	var names []string
	for _, f := range t.fields {
		names = append(names, f.name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (t *inputType) expected() string {
	switch t.kind {
	case "string", "number", "boolean":
		return "a " + t.kind
	case "integer":
		return "a whole number"
	case "array":
		return "a list"
	}
	return "an object"
}

func describeJSON(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "the number " + string(raw)
}

func field(path string) string {
	if path == "" {
		return "it"
	}
	return strconv.Quote(path)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
