package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Store holds the settings of a running gofer.
type Store struct {
	current atomic.Pointer[Snapshot]

	mu          sync.Mutex // held while settings are read anew
	opts        Options
	flag        []string // JSON objects merged into the command line's layer while running
	subscribers map[int]func(Change)
	nextID      int
}

// A Change says what a reload changed.
type Change struct {
	Layers   []Layer  // whose texts changed
	Files    []string // the files among them
	Keys     []string // the keys whose value or origin changed
	Problems []Problem
	Snapshot *Snapshot
}

// Empty reports that nothing changed.
func (c Change) Empty() bool { return len(c.Layers) == 0 && len(c.Keys) == 0 }

// Open reads all layers. It fails when what an administrator manages cannot be known, or when the command line names settings that
// are not there; every other fault is among the snapshot's Problems.
func Open(opts Options) (*Store, error) {
	s := &Store{opts: opts, subscribers: map[int]func(Change){}}
	snap, err := s.read(nil)
	if err != nil {
		return nil, err
	}
	s.current.Store(snap)
	return s, nil
}

// Load is Open for who needs the settings once.
func Load(opts Options) (*Snapshot, error) {
	s, err := Open(opts)
	if err != nil {
		return nil, err
	}
	return s.Current(), nil
}

// Current returns the settings of now.
func (s *Store) Current() *Snapshot { return s.current.Load() }

// Subscribe calls f after each change, one call at a time. f may read the store but not change it.
func (s *Store) Subscribe(f func(Change)) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.nextID
	s.nextID++
	s.subscribers[id] = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscribers, id)
	}
}

// Reload reads the files that changed since the last time. With nothing changed it costs a few stats, so that a run without a
// watcher can call it at every turn. A file that no longer parses keeps its last good content until it does, and a broken managed
// file is an error that leaves everything as it was.
func (s *Store) Reload() (Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reload()
}

// SetTrust changes how far the project's files may go.
func (s *Store) SetTrust(t Trust) (Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Trust = t
	return s.reload()
}

// ApplyFlag merges a JSON object into the layer of the command line, as the control protocol's apply_flag_settings does.
func (s *Store) ApplyFlag(object []byte) (Change, error) {
	if t := parseText(Flag, "apply_flag_settings", object); t.fault != nil {
		return Change{}, errors.New(t.fault.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flag = append(s.flag, string(object))
	return s.reload()
}

func (s *Store) reload() (Change, error) {
	before := s.Current()
	after, err := s.read(before)
	if err != nil {
		return Change{}, err
	}
	if after == before {
		return Change{Snapshot: before, Problems: before.Problems}, nil
	}
	change := compare(before, after)
	s.current.Store(after)
	if !change.Empty() {
		for _, id := range slices.Sorted(maps.Keys(s.subscribers)) {
			s.subscribers[id](change)
		}
	}
	return change, nil
}

// A reading is everything that stands on disk and on the command line at one moment.
type reading struct {
	texts    []*text
	files    []File
	policies []policyFile
}

// A policyFile is a permissions.yaml as it stands; there is rarely one, and it is small.
type policyFile struct {
	layer Layer
	file  string
	data  string
	fault string // why it could not be read
}

// read reads every layer; files that are as before are taken from there, and when all are, so is the whole snapshot.
func (s *Store) read(before *Snapshot) (*Snapshot, error) {
	r, err := s.gather(before)
	if err != nil {
		return nil, err
	}
	if before != nil && before.opts.Trust == s.opts.Trust && slices.Equal(r.texts, before.texts) && slices.Equal(r.policies, before.policies) {
		return before, nil
	}
	snap := resolve(s.opts, r.texts)
	snap.files, snap.policies = r.files, r.policies
	for _, p := range r.policies {
		snap.addPolicy(p)
	}
	if err := managedFault(snap); err != nil && !s.opts.lenient {
		return nil, err
	}
	return snap, nil
}

func (s *Store) gather(before *Snapshot) (r reading, err error) {
	places, err := s.opts.places()
	if err != nil {
		return r, err
	}
	known := map[string]*text{}
	if before != nil {
		for _, t := range before.texts {
			known[t.file] = t
		}
	}
	var managed []*text
	for _, p := range places {
		if file, ok := policyPlace(p); ok {
			switch data, _, err := readRegular(file, maxFile); {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				r.policies = append(r.policies, policyFile{p.layer, file, "", reason(err)})
			default:
				r.policies = append(r.policies, policyFile{p.layer, file, string(data), ""})
			}
		}
		t := freshText(p, known[p.file])
		r.files = append(r.files, File{p.layer, p.file, t != nil})
		switch {
		case t == nil && p.layer == Flag && before == nil:
			return r, fmt.Errorf("--settings: there is no file %s", p.file)
		case t == nil:
		case p.layer == Flag && t.fault != nil && before == nil && !s.opts.lenient:
			return r, fmt.Errorf("--settings: %s", t.fault)
		case p.layer == Managed:
			managed = append(managed, t)
		default:
			r.texts = append(r.texts, t)
		}
	}
	if r.texts, err = s.inlineTexts(r.texts, known); err != nil {
		return r, err
	}
	if s.opts.ManagedJSON != "" {
		// A program that drives gofer may narrow what is allowed, but the administrator's files have the last word.
		managed = append([]*text{inlineText(Managed, "--managed-settings", s.opts.ManagedJSON, known)}, managed...)
	}
	for _, t := range managed {
		if t.fault != nil && !s.opts.lenient {
			return r, fmt.Errorf("managed settings are broken, so it is not known what is forbidden here: %s", t.fault)
		}
	}
	r.texts = append(r.texts, managed...)
	return r, nil
}

// managedFault finds a managed value that had to be dropped. It may have been a rule.
func managedFault(snap *Snapshot) error {
	for _, p := range snap.Problems {
		if p.Severity == Error && p.Origin.Layer == Managed {
			return fmt.Errorf("managed settings are broken, so it is not known what is forbidden here: %s", p)
		}
	}
	return nil
}

// inlineTexts adds what the command line and the control protocol hold as JSON.
func (s *Store) inlineTexts(texts []*text, known map[string]*text) ([]*text, error) {
	if inline(s.opts.Flag) {
		t := inlineText(Flag, "--settings", s.opts.Flag, known)
		if t.fault != nil {
			return nil, errors.New(t.fault.String())
		}
		texts = append(texts, t)
	}
	for i, object := range s.flag {
		texts = append(texts, inlineText(Flag, fmt.Sprintf("apply_flag_settings %d", i+1), object, known))
	}
	return texts, nil
}

func inlineText(l Layer, name, data string, known map[string]*text) *text {
	if t := known[name]; t != nil && string(t.src.data) == data {
		return t
	}
	return parseText(l, name, []byte(data))
}

// freshText reads a file unless it is as before. When it has become unreadable or broken, its last good content stays: an editor
// that is half way through saving must not switch off a deny rule.
func freshText(p place, before *text) *text {
	if before != nil {
		if info, err := os.Stat(p.file); err == nil && stampOf(info) == before.stamp && !before.unsure() {
			return before
		}
	}
	t := readText(p.layer, p.file)
	if t != nil && before != nil && (t.fault == nil) == (before.fault == nil) && t.src != nil && before.src != nil && bytes.Equal(t.src.data, before.src.data) {
		return before
	}
	if t == nil || t.fault == nil || before == nil || len(before.root.members) == 0 {
		return t
	}
	fault := *t.fault
	fault.Message = strings.Replace(fault.Message, "nothing of this file counts", "what it said before still counts", 1)
	kept := *before
	kept.fault, kept.stamp, kept.read = &fault, t.stamp, t.read
	return &kept
}

// compare finds what differs between two snapshots.
func compare(before, after *Snapshot) Change {
	c := Change{Problems: after.Problems, Snapshot: after}
	old := map[string]*text{}
	for _, t := range before.texts {
		old[t.file] = t
	}
	changed := func(t *text) {
		if !slices.Contains(c.Layers, t.layer) {
			c.Layers = append(c.Layers, t.layer)
		}
		c.Files = append(c.Files, t.file)
	}
	for _, t := range after.texts {
		if o := old[t.file]; o == nil || o != t && (o.src != t.src && string(o.src.bytes()) != string(t.src.bytes()) || (o.fault == nil) != (t.fault == nil)) {
			changed(t)
		}
		delete(old, t.file)
	}
	for _, file := range slices.Sorted(maps.Keys(old)) {
		changed(old[file])
	}
	for key, e := range after.entries {
		if o := before.entries[key]; o == nil || !sameEntry(o, e) {
			c.Keys = append(c.Keys, key)
		}
	}
	for key := range before.entries {
		if after.entries[key] == nil {
			c.Keys = append(c.Keys, key)
		}
	}
	if !reflect.DeepEqual(policyTexts(before), policyTexts(after)) {
		c.Keys = append(c.Keys, PolicyFile)
	}
	slices.Sort(c.Keys)
	slices.Sort(c.Layers)
	return c
}

func sameEntry(a, b *entry) bool {
	if a.origin.Layer != b.origin.Layer || string(a.json()) != string(b.json()) {
		return false
	}
	return slices.EqualFunc(a.items, b.items, func(x, y item) bool { return x.json == y.json && x.origin.Layer == y.origin.Layer })
}

func policyTexts(s *Snapshot) (out []string) {
	for _, r := range s.Policy {
		out = append(out, r.List+"\x00"+r.Pattern+"\x00"+r.Reason)
	}
	return out
}

func (s *source) bytes() []byte {
	if s == nil {
		return nil
	}
	return s.data
}
