package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A decoder lays one text over the settings so far. It is the only place that knows how values of two layers meet.
type decoder struct {
	snap    *Snapshot
	text    *text
	trust   Trust
	managed []*text // the texts that have the last word
	path    []string
	quiet   int // above 0 inside a value that is recorded as a whole
}

func (d *decoder) origin(off int) Origin {
	return Origin{Layer: d.text.layer, File: d.text.file, src: d.text.src, off: off}
}

func (d *decoder) problem(sev Severity, off int, key, format string, args ...any) {
	d.snap.Problems = append(d.snap.Problems, Problem{sev, d.origin(off), key, fmt.Sprintf(format, args...)})
}

func (d *decoder) wrong(n *node, key, want string) bool {
	got := n.what()
	if n.kind == '"' && len(n.text) < 80 {
		got = strconv.Quote(n.text)
	}
	d.problem(Error, n.off, key, "must be %s, but it is %s", want, got)
	return false
}

// object decodes the members of n into the struct v. It reports whether v is whole.
func (d *decoder) object(n *node, s *shape, v reflect.Value, key string) bool {
	whole := true
	var got map[string]bool
	for i, m := range n.members {
		if d.repeated(n, i, key) {
			continue
		}
		f := s.field(m.key)
		if f == nil {
			d.unknown(m, s.names(), key)
			continue
		}
		d.path = append(d.path, m.key)
		ok := d.field(m, f, v.Field(f.index), join(key, m.key))
		d.path = d.path[:len(d.path)-1]
		if ok && f.needed {
			if got == nil {
				got = map[string]bool{}
			}
			got[f.name] = true
		}
	}
	for _, f := range s.fields() {
		if f.needed && !got[f.name] {
			whole = false
			if n.member(f.name) == nil { // a wrong value has been reported already
				d.problem(Error, n.off, key, "%q is missing; it must be %s (%s)", f.name, f.expected(), f.desc)
			}
		}
	}
	return whole
}

// repeated reports, with a warning, that a later member has the same key. As in every JSON reader, the last one counts.
func (d *decoder) repeated(n *node, i int, key string) bool {
	for _, later := range n.members[i+1:] {
		if later.key == n.members[i].key {
			d.problem(Warning, n.members[i].keyOff, join(key, later.key), "stands twice in this object; only the last one counts")
			return true
		}
	}
	return false
}

func (d *decoder) unknown(m member, names []string, key string) {
	full := join(key, m.key)
	if isForeign(full) {
		sev := Note
		if strings.HasPrefix(full, "sandbox.") || d.text.layer == Managed {
			sev = Warning // someone relies on it for protection
		}
		d.problem(sev, m.keyOff, full, "belongs to Claude Code and has no effect in gofer")
		return
	}
	hint := ""
	if near := nearest(m.key, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	} else if place := elsewhere(m.key); place != "" {
		hint = fmt.Sprintf("; did you mean %q?", place)
	}
	d.problem(Warning, m.keyOff, full, "there is no such key%s", hint)
}

// elsewhere finds a key that stands at another depth than where it was written.
func elsewhere(name string) string {
	for _, outer := range settingsShape().fields() {
		if outer.name == name {
			return name
		}
		if outer.shape.kind != kindObject {
			continue
		}
		for _, inner := range outer.shape.fields() {
			if inner.name == name {
				return outer.name + "." + name
			}
			if inner.shape.kind == kindObject && inner.shape.field(name) != nil {
				return outer.name + "." + inner.name + "." + name
			}
		}
	}
	return ""
}

// field decodes one member, if its layer may set it.
func (d *decoder) field(m member, f *field, v reflect.Value, key string) bool {
	layer := d.text.layer
	if why := f.forbids(layer); why != "" {
		d.problem(Warning, m.keyOff, key, "has no effect here: %s", why)
		return false
	}
	if layer.fromProject() && f.trust != "" && !grants(d.trust, f.trust) {
		d.snap.Withheld = append(d.snap.Withheld, Withheld{Key: key, Surface: f.trust, Origin: d.origin(m.keyOff), Count: max(1, len(m.value.items))})
		return false
	}
	if (f.cap && layer != Managed || f.widen && layer.fromProject()) && d.managedSets() {
		d.problem(Note, m.keyOff, key, "has no effect: managed settings fix this list")
		return false
	}
	if layer == Project && key == "permissions.defaultMode" && m.value.text == "bypassPermissions" {
		d.problem(Warning, m.value.off, key, "has no effect here: project settings may not choose bypassPermissions")
		return false
	}
	return d.value(m.value, f, f.shape, v, key)
}

// grants reports whether a project at that level of trust may use the surface.
func grants(t Trust, surface string) bool {
	switch t {
	case Trusted:
		return true
	case Headless:
		return surface == "hooks" || surface == "servers" || surface == "lsp" || surface == "env"
	}
	return false
}

// managedSets reports whether a managed text has a value at the current path.
func (d *decoder) managedSets() bool {
	return slices.ContainsFunc(d.managed, func(t *text) bool { return t.at(d.path) != nil })
}

// value decodes n into v, or reports why not and leaves v as it was.
func (d *decoder) value(n *node, f *field, s *shape, v reflect.Value, key string) bool {
	if v.Kind() == reflect.Pointer {
		target := reflect.New(v.Type().Elem())
		if !d.value(n, f, s, target.Elem(), key) {
			return false
		}
		v.Set(target)
		return true
	}
	switch s.kind {
	case kindList:
		return d.list(n, f, s, v, key)
	case kindMap:
		return d.names(n, f, s, v, key)
	case kindObject:
		return d.nested(n, f, s, v, key)
	}
	if !d.scalar(n, f, s, v, key) {
		return false
	}
	d.record(key, n)
	return true
}

func (d *decoder) scalar(n *node, f *field, s *shape, v reflect.Value, key string) bool {
	switch s.kind {
	case kindText:
		text := n.text
		if n.kind != '"' {
			// Claude Code reads numbers and switches in env as texts, and so do its users.
			if f.shape.kind != kindMap || n.kind != '0' && n.kind != 't' && n.kind != 'f' || len(f.enum) > 0 {
				return d.wrong(n, key, f.expectedItem(s))
			}
		}
		if len(f.enum) > 0 && !slices.Contains(f.enum, text) {
			hint := ""
			if near := nearest(text, f.enum); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			d.problem(Error, n.off, key, "must be one of %s, but it is %q%s", strings.Join(f.enum, ", "), text, hint)
			return false
		}
		v.SetString(text)
	case kindBool:
		if n.kind != 't' && n.kind != 'f' {
			return d.wrong(n, key, s.expected())
		}
		v.SetBool(n.kind == 't')
	case kindInt, kindNumber:
		return d.number(n, f, s, v, key)
	case kindRaw:
		v.SetBytes(n.appendJSON(nil))
	case kindWords:
		words, ok := n.words()
		if !ok {
			return d.wrong(n, key, s.expected())
		}
		v.Set(reflect.ValueOf(StringList(words)))
	case kindSwitch:
		e := Enabled{On: n.kind == 't'}
		if n.kind == '[' {
			e.Versions, _ = n.words()
			e.On = len(e.Versions) == len(n.items) && len(n.items) > 0
		}
		if n.kind != 't' && n.kind != 'f' && n.kind != '[' {
			return d.wrong(n, key, s.expected())
		}
		v.Set(reflect.ValueOf(e))
	}
	return true
}

func (d *decoder) number(n *node, f *field, s *shape, v reflect.Value, key string) bool {
	x, err := strconv.ParseFloat(n.text, 64)
	if n.kind != '0' || err != nil || s.kind == kindInt && (x != math.Trunc(x) || math.Abs(x) > 1<<53) {
		return d.wrong(n, key, s.expected())
	}
	if f.min != nil && x < *f.min {
		return d.wrong(n, key, fmt.Sprintf("at least %g", *f.min))
	}
	if f.max != nil && x > *f.max {
		return d.wrong(n, key, fmt.Sprintf("at most %g", *f.max))
	}
	if s.kind == kindInt {
		v.SetInt(int64(x))
	} else {
		v.SetFloat(x)
	}
	return true
}

// list joins the items of n to v. A wrong item costs only itself.
func (d *decoder) list(n *node, f *field, s *shape, v reflect.Value, key string) bool {
	if n.kind != '[' {
		return d.wrong(n, key, s.expected())
	}
	joined := reflect.MakeSlice(v.Type(), v.Len(), v.Len()+len(n.items))
	reflect.Copy(joined, v)
	for i, item := range n.items {
		e := reflect.New(v.Type().Elem()).Elem()
		d.quiet++
		ok := d.value(item, f, s.elem, e, fmt.Sprintf("%s[%d]", key, i))
		d.quiet--
		if !ok {
			continue
		}
		if h, isHook := e.Interface().(Hook); isHook {
			if missing := h.missing(); missing != "" {
				d.problem(Error, item.off, fmt.Sprintf("%s[%d]", key, i), "a hook of type %q needs %q", h.Type, missing)
				continue
			}
		}
		setOrigin(e, d.origin(item.off))
		fresh := d.recordItem(key, item)
		if fresh || d.quiet > 0 {
			joined = reflect.Append(joined, e)
		}
	}
	d.recordList(key, n)
	v.Set(joined)
	return true
}

// names decodes an object whose names are free. Names of two layers join; equal ones merge or replace, as the field says.
func (d *decoder) names(n *node, f *field, s *shape, v reflect.Value, key string) bool {
	if n.kind != '{' {
		return d.wrong(n, key, s.expected())
	}
	joined := reflect.MakeMapWithSize(v.Type(), v.Len()+len(n.members))
	for _, k := range v.MapKeys() {
		joined.SetMapIndex(k, v.MapIndex(k))
	}
	for i, m := range n.members {
		if d.repeated(n, i, key) {
			continue
		}
		full := join(key, m.key)
		if len(f.keys) > 0 && !slices.Contains(f.keys, m.key) {
			d.unknown(m, f.keys, key)
			continue
		}
		if f.trust == "env" && d.text.layer.fromProject() && d.trust != Trusted && steers(m.key) {
			d.snap.Withheld = append(d.snap.Withheld, Withheld{Key: full, Surface: "env", Origin: d.origin(m.keyOff), Count: 1})
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if old := joined.MapIndex(reflect.ValueOf(m.key)); old.IsValid() && !f.replace {
			e.Set(old)
		}
		d.path = append(d.path, m.key)
		ok := d.value(m.value, f, s.elem, e, full)
		d.path = d.path[:len(d.path)-1]
		if ok {
			setOrigin(e, d.origin(m.keyOff))
			joined.SetMapIndex(reflect.ValueOf(m.key), e)
		}
	}
	if len(n.members) == 0 {
		d.record(key, n)
	}
	v.Set(joined)
	return true
}

func (d *decoder) nested(n *node, f *field, s *shape, v reflect.Value, key string) bool {
	if n.kind != '{' {
		return d.wrong(n, key, s.expected())
	}
	target := reflect.New(v.Type()).Elem()
	if !f.replace {
		target.Set(v)
	} else {
		fillDefaults(s, target)
		d.quiet++
	}
	whole := d.object(n, s, target, key)
	if f.replace {
		d.quiet--
		if whole {
			d.record(key, n)
		}
	}
	if whole {
		v.Set(target)
	}
	return whole
}
