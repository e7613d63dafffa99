package config

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A Snapshot is the settings of one moment. Nothing in it may be changed.
type Snapshot struct {
	Settings Settings
	Problems []Problem
	Withheld []Withheld   // what the project's files ask for and do not get before they are trusted
	Policy   []PolicyRule // the rules of the permissions.yaml files, weakest layer first

	entries map[string]*entry
	order   []string // keys of entries in the order in which they were first met
	texts   []*text
	files   []File
	opts    Options

	policies []policyFile
}

// Withheld is a value that waits for trust.
type Withheld struct {
	Key     string
	Surface string // hooks, servers, lsp, env, keys, status, plugins or rules
	Origin  Origin
	Count   int // how many items a list has
}

// A File is a place where settings are looked for.
type File struct {
	Layer  Layer
	Path   string
	Exists bool
}

// An entry is the history of one key.
type entry struct {
	node   *node
	origin Origin
	past   []past
	items  []item // of a list
	isList bool
}

type past struct {
	node   *node
	origin Origin
}

type item struct {
	node   *node
	origin Origin
	json   string
}

func (d *decoder) entry(key string) *entry {
	e := d.snap.entries[key]
	if e == nil {
		e = &entry{}
		d.snap.entries[key] = e
		d.snap.order = append(d.snap.order, key)
	}
	return e
}

func (d *decoder) record(key string, n *node) {
	if d.quiet > 0 {
		return
	}
	e := d.entry(key)
	if e.node != nil {
		e.past = append(e.past, past{e.node, e.origin})
	}
	e.node, e.origin = n, d.origin(n.off)
}

func (d *decoder) recordList(key string, n *node) {
	if d.quiet > 0 {
		return
	}
	e := d.entry(key)
	e.isList, e.node, e.origin = true, n, d.origin(n.off)
}

// recordItem keeps one item of a list, and reports whether no layer had the same before. An item that two layers have is
// kept twice, because a rule means different paths in different files, and because a managed one must not lose its rank.
func (d *decoder) recordItem(key string, n *node) (fresh bool) {
	if d.quiet > 0 {
		return true
	}
	e := d.entry(key)
	text := string(n.appendJSON(nil))
	fresh = true
	for _, have := range e.items {
		if have.json != text {
			continue
		}
		fresh = false
		if have.origin.Layer == d.text.layer && have.origin.File == d.text.file {
			return false
		}
	}
	e.items = append(e.items, item{n, d.origin(n.off), text})
	return fresh
}

// A Value is a setting with its history.
type Value struct {
	Key      string
	JSON     json.RawMessage
	Set      bool   // false: no layer sets it, and JSON is the default or null
	Origin   Origin // of a list: where its last part stands; see Items
	Overrode []Past // what it replaced, nearest first
	Items    []Item // of a list: each item with its origin
	Desc     string
}

// A Past is a value that a stronger layer replaced.
type Past struct {
	JSON   json.RawMessage
	Origin Origin
}

// An Item is one item of a list.
type Item struct {
	JSON   json.RawMessage
	Origin Origin
}

// Value explains a key such as permissions.defaultMode. It reports false when there is no such key.
func (s *Snapshot) Value(key string) (Value, bool) {
	path := splitKey(key)
	f, shape, ok := lookup(path)
	if !ok || f == nil {
		return Value{Key: key}, false
	}
	v := Value{Key: key, JSON: json.RawMessage("null")}
	if shape == f.shape {
		v.Desc = f.desc
	}
	if e := s.entries[canonical(path)]; e != nil {
		return e.value(v), true
	}
	if tree := s.below(canonical(path)); tree != nil {
		v.Set = true
		v.JSON = marshal(tree)
		return v, true
	}
	if v, ok := s.inside(v, path); ok {
		return v, true
	}
	if f.hasDefault && shape == f.shape {
		v.JSON = json.RawMessage(f.def)
		if f.shape.kind == kindText {
			v.JSON = marshal(f.def)
		}
	}
	return v, true
}

// inside finds a value in an object that layers replace as a whole.
func (s *Snapshot) inside(v Value, path []string) (Value, bool) {
	for cut := len(path) - 1; cut > 0; cut-- {
		e := s.entries[canonical(path[:cut])]
		if e == nil || e.isList {
			continue
		}
		n := e.node
		for _, name := range path[cut:] {
			if n = n.member(name); n == nil {
				return v, false
			}
		}
		v.Set, v.JSON, v.Origin = true, n.appendJSON(nil), e.origin
		v.Origin.off = n.off
		return v, true
	}
	return v, false
}

func canonical(path []string) string {
	key := ""
	for _, name := range path {
		key = join(key, name)
	}
	return key
}

func (e *entry) value(v Value) Value {
	v.Set, v.Origin = true, e.origin
	for i := len(e.past) - 1; i >= 0; i-- {
		v.Overrode = append(v.Overrode, Past{e.past[i].node.appendJSON(nil), e.past[i].origin})
	}
	v.JSON = e.json()
	for _, it := range e.items {
		v.Items = append(v.Items, Item{json.RawMessage(it.json), it.origin})
	}
	return v
}

func (e *entry) json() json.RawMessage {
	if !e.isList {
		return e.node.appendJSON(nil)
	}
	list := []json.RawMessage{}
	for _, it := range e.items {
		if !slices.ContainsFunc(list, func(have json.RawMessage) bool { return string(have) == it.json }) {
			list = append(list, json.RawMessage(it.json))
		}
	}
	return marshal(list)
}

// Keys lists every key that a layer sets, in the order of the struct where the top name is concerned.
func (s *Snapshot) Keys() []string {
	keys := slices.Clone(s.order)
	rank := map[string]int{}
	for i, name := range settingsShape().names() {
		rank[name] = i
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rank[splitKey(a)[0]] - rank[splitKey(b)[0]] })
	return keys
}

// below collects the values under a key into a tree, or returns nil.
func (s *Snapshot) below(key string) map[string]any {
	var root map[string]any
	for _, k := range s.order {
		if key != "" && !strings.HasPrefix(k, key+".") {
			continue
		}
		if root == nil {
			root = map[string]any{}
		}
		path := splitKey(k)[len(splitKey(key)):]
		if key == "" {
			path = splitKey(k)
		}
		at := root
		for _, name := range path[:len(path)-1] {
			next, ok := at[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[name] = next
			}
			at = next
		}
		at[path[len(path)-1]] = s.entries[k].json()
	}
	return root
}

// Effective is all that the layers set, merged, as one JSON object. Defaults are not in it.
func (s *Snapshot) Effective() json.RawMessage {
	tree := s.below("")
	if tree == nil {
		tree = map[string]any{}
	}
	return marshal(tree)
}

// Sources returns the JSON of each text that was read, weakest first.
func (s *Snapshot) Sources() []Source {
	var out []Source
	for _, t := range s.texts {
		out = append(out, Source{t.layer, t.file, t.root.appendJSON(nil)})
	}
	return out
}

// A Source is one text of settings.
type Source struct {
	Layer Layer
	File  string
	JSON  json.RawMessage
}

// Files lists where settings are looked for, weakest first.
func (s *Snapshot) Files() []File { return slices.Clone(s.files) }

// A Rule is a permission rule with its origin.
type Rule struct {
	Text   string
	Origin Origin
	Root   string // the folder that a path such as /src stands for
}

// Rules returns a list of permission rules (allow, ask or deny), weakest layer first.
func (s *Snapshot) Rules(list string) []Rule {
	e := s.entries["permissions."+list]
	if e == nil {
		return nil
	}
	rules := make([]Rule, 0, len(e.items))
	for _, it := range e.items {
		rules = append(rules, Rule{it.node.text, it.origin, s.root(it.origin)})
	}
	return rules
}

// root is the folder that paths in a file are relative to: for the project's files the project, else the file's own folder.
func (s *Snapshot) root(o Origin) string {
	if o.Layer.fromProject() || o.Dir() == "" {
		return s.opts.ProjectDir
	}
	return o.Dir()
}

// appendJSON writes the node as strict JSON, whatever its text looked like.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case '{':
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, marshal(m.key)...)
			dst = m.value.appendJSON(append(dst, ':'))
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	case '"':
		return append(dst, marshal(n.text)...)
	}
	return append(dst, n.text...)
}

func marshal(v any) json.RawMessage {
	if text, ok := v.(string); ok && plain(text) {
		return strconv.AppendQuote(make([]byte, 0, len(text)+2), text)
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("config: cannot encode: " + err.Error()) // only values that came from JSON get here
	}
	return json.RawMessage(strings.TrimSuffix(out.String(), "\n"))
}

// plain reports that a text needs no escapes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
