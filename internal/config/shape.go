package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A shape is what the package knows of a Go type: the one description from which values are decoded, checked, explained and
// put into the schema. The fields of an object are described when the first file has that object, because most never do.
type shape struct {
	kind kind
	typ  reflect.Type
	elem *shape // of a list, or of an object with free names

	once   sync.Once
	list   []*field
	byName map[string]*field
}

type kind int

const (
	kindText kind = iota
	kindInt
	kindNumber
	kindBool
	kindList
	kindMap    // an object with free names
	kindObject // an object with known names
	kindRaw    // anything
	kindWords  // a StringList
	kindSwitch // an Enabled
)

type field struct {
	name, desc string
	def        string
	hasDefault bool
	index      int
	shape      *shape
	enum, keys []string
	min, max   *float64
	never      []Layer
	only       Layer // Default when every layer may
	trust      string
	replace    bool
	cap, widen bool
	needed     bool
}

var settingsShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[Settings]()) })

func shapeOf(t reflect.Type) *shape {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := &shape{typ: t}
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		s.kind = kindRaw
		return s
	case reflect.TypeFor[StringList]():
		s.kind = kindWords
		return s
	case reflect.TypeFor[Enabled]():
		s.kind = kindSwitch
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.kind = kindText
	case reflect.Int:
		s.kind = kindInt
	case reflect.Float64:
		s.kind = kindNumber
	case reflect.Bool:
		s.kind = kindBool
	case reflect.Slice:
		s.kind, s.elem = kindList, shapeOf(t.Elem())
	case reflect.Map:
		s.kind, s.elem = kindMap, shapeOf(t.Elem())
	case reflect.Struct:
		s.kind = kindObject
	default:
		panic("config: no shape for " + t.String())
	}
	return s
}

// fields returns the fields of an object in the order of the struct.
func (s *shape) fields() []*field {
	s.once.Do(func() {
		s.byName = make(map[string]*field, s.typ.NumField())
		for i := range s.typ.NumField() {
			if f := fieldOf(s.typ.Field(i), i); f != nil {
				s.list = append(s.list, f)
				s.byName[f.name] = f
			}
		}
	})
	return s.list
}

func (s *shape) field(name string) *field {
	s.fields()
	return s.byName[name]
}

func (s *shape) names() []string {
	var names []string
	for _, f := range s.fields() {
		names = append(names, f.name)
	}
	return names
}

// fieldOf reads all tags of a field in one pass: StructTag.Get would read them anew for each of a dozen names, at every start.
func fieldOf(sf reflect.StructField, index int) *field {
	f := &field{index: index}
	for tag := string(sf.Tag); ; {
		name, rest, ok := strings.Cut(strings.TrimLeft(tag, " "), `:"`)
		if !ok {
			break
		}
		value, rest, _ := strings.Cut(rest, `"`)
		tag = rest
		switch name {
		case "json":
			f.name = value
		case "desc":
			f.desc = value
		case "default":
			f.def, f.hasDefault = value, true
		case "enum":
			f.enum = split(value)
		case "keys":
			f.keys = split(value)
		case "min":
			f.min = number(value)
		case "max":
			f.max = number(value)
		case "trust":
			f.trust = value
		case "merge":
			f.replace = value == "replace"
		case "needs":
			f.needed = true
		case "list":
			f.cap, f.widen = value == "cap", value == "widen"
		case "never":
			for _, layer := range split(value) {
				l, _ := LayerOf(layer)
				f.never = append(f.never, l)
			}
		case "only":
			f.only, _ = LayerOf(value)
		}
	}
	if f.name == "-" {
		return nil
	}
	f.shape = shapeOf(sf.Type)
	return f
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "|")
}

func number(s string) *float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("config: a tag is not a number: " + s)
	}
	return &n
}

// expected says in words what a value of the field must be.
func (f *field) expected() string {
	if len(f.enum) > 0 && f.shape.kind == kindText {
		quoted := make([]string, len(f.enum))
		for i, e := range f.enum {
			quoted[i] = strconv.Quote(e)
		}
		if len(quoted) == 1 {
			return quoted[0]
		}
		return "one of " + strings.Join(quoted, ", ")
	}
	return f.shape.expected()
}

func (s *shape) expected() string {
	switch s.kind {
	case kindText:
		return "a text"
	case kindInt:
		return "a whole number"
	case kindNumber:
		return "a number"
	case kindBool:
		return "true or false"
	case kindList:
		if s.elem.kind == kindText {
			return "a list of texts"
		}
		return "a list of objects"
	case kindWords:
		return "a text or a list of texts"
	case kindSwitch:
		return "true, false or a list of versions"
	case kindRaw:
		return "a value"
	}
	return "an object"
}

// forbids says why a layer may not set the field, or "".
func (f *field) forbids(l Layer) string {
	switch {
	case f.only != Default && l != f.only:
		return "it counts only in " + f.only.String() + " settings"
	case slices.Contains(f.never, l):
		return l.String() + " settings may not set this"
	}
	return ""
}

// lookup finds the field that a key path leads to. inner is the shape at the end of the path, which is a list item's or a free
// name's when the path goes into one; top is the field whose rules apply.
func lookup(path []string) (top *field, inner *shape, ok bool) {
	s := settingsShape()
	for _, name := range path {
		switch s.kind {
		case kindObject:
			f := s.field(name)
			if f == nil {
				return top, s, false
			}
			top, s = f, f.shape
		case kindMap:
			s = s.elem
		default:
			return top, s, false
		}
	}
	return top, s, true
}

// splitKey cuts a key such as sandbox.network or env."A.B" into its names.
func splitKey(key string) []string {
	var path []string
	var name strings.Builder
	quoted := false
	for _, r := range key {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '.' && !quoted:
			path = append(path, name.String())
			name.Reset()
		default:
			name.WriteRune(r)
		}
	}
	return append(path, name.String())
}

// join adds a name to a key, in quotes when it would be misread.
func join(key, name string) string {
	if name == "" || strings.ContainsAny(name, `." `) {
		name = `"` + strings.ReplaceAll(name, `"`, "") + `"`
	}
	if key == "" {
		return name
	}
	return key + "." + name
}
