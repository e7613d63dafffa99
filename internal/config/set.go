package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
)

// Set writes a value into the file of a layer (User, Project or Local). value may be anything that JSON can hold.
func (s *Store) Set(l Layer, key string, value any) error {
	path, _, err := s.writable(l, key)
	if err != nil {
		return err
	}
	if err := check(l, path, value); err != nil {
		return err
	}
	return s.edit(l, func(d doc) ([]splice, error) { return d.set(path, value) })
}

// Unset takes a value out of the file of a layer.
func (s *Store) Unset(l Layer, key string) error {
	path := splitKey(key) // an unknown key may be taken out too
	return s.edit(l, func(d doc) ([]splice, error) { return d.remove(path) })
}

// Add appends an item to a list in the file of a layer, unless it is there.
func (s *Store) Add(l Layer, key string, item any) error {
	path, _, err := s.writable(l, key)
	if err != nil {
		return err
	}
	if err := check(l, path, []any{item}); err != nil {
		return err
	}
	return s.edit(l, func(d doc) ([]splice, error) { return d.add(path, item) })
}

// Remove takes an item out of a list in the file of a layer.
func (s *Store) Remove(l Layer, key string, item any) error {
	path, _, err := s.writable(l, key)
	if err != nil {
		return err
	}
	return s.edit(l, func(d doc) ([]splice, error) { return d.drop(path, item) })
}

// AddRule adds a permission rule to the list allow, ask or deny of a layer.
func (s *Store) AddRule(l Layer, list, rule string) error {
	if !slices.Contains([]string{"allow", "ask", "deny"}, list) {
		return fmt.Errorf("there is no list of rules %q; the lists are allow, ask and deny", list)
	}
	return s.Add(l, "permissions."+list, rule)
}

// RemoveRule takes a permission rule out of a list of a layer.
func (s *Store) RemoveRule(l Layer, list, rule string) error {
	return s.Remove(l, "permissions."+list, rule)
}

// edit changes the file of a layer and reads the settings anew.
func (s *Store) edit(l Layer, plan func(doc) ([]splice, error)) error {
	s.mu.Lock()
	opts := s.opts
	s.mu.Unlock()
	file, err := opts.Path(l)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if l == Project {
		mode = 0o644 // it is the project's, and shared
	}
	err = newWriter(opts.ConfigDir).update(file, mode, func(d doc) ([]splice, error) {
		if d.size > maxFile {
			return nil, fmt.Errorf("%s has %d MB, but settings have at most %d", d.name, d.size>>20, maxFile>>20)
		}
		return plan(d)
	})
	if err != nil {
		return err
	}
	_, err = s.Reload()
	return err
}

// writable finds the field of a key that a layer may set.
func (s *Store) writable(l Layer, key string) (path []string, f *field, err error) {
	path = splitKey(key)
	f, shape, ok := lookup(path)
	if !ok {
		return nil, nil, noSuchKey(key, path, shape)
	}
	if why := f.forbids(l); why != "" {
		return nil, nil, fmt.Errorf("%s: %s", key, why)
	}
	return path, f, nil
}

// noSuchKey is the error for a key that leads nowhere.
func noSuchKey(key string, path []string, at *shape) error {
	if at != nil && at.kind == kindObject {
		if near := nearest(path[len(path)-1], at.names()); near != "" {
			full := append(slices.Clone(path[:len(path)-1]), near)
			return fmt.Errorf("there is no key %q; did you mean %q?", key, canonical(full))
		}
	}
	if place := elsewhere(path[len(path)-1]); place != "" && place != key {
		return fmt.Errorf("there is no key %q; did you mean %q?", key, place)
	}
	return fmt.Errorf("there is no key %q; gofer config list --all prints them all", key)
}

// check reports what gofer would say of the value if it stood in the file.
func check(l Layer, path []string, value any) error {
	data, err := json.Marshal(wrap(path, value))
	if err != nil {
		return fmt.Errorf("%s: %w", canonical(path), err)
	}
	t := parseText(l, canonical(path), data)
	if t.fault != nil {
		return fmt.Errorf("%s: %s", canonical(path), t.fault.Message)
	}
	snap := &Snapshot{Settings: defaults(), entries: map[string]*entry{}}
	d := &decoder{snap: snap, text: t, trust: Trusted}
	d.object(t.root, settingsShape(), reflect.ValueOf(&snap.Settings).Elem(), "")
	for _, p := range snap.Problems {
		if p.Severity == Note {
			continue
		}
		return fmt.Errorf("%s: %s", p.Key, strings.TrimPrefix(p.Message, "has no effect here: "))
	}
	return nil
}
