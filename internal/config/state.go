package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// State is the file that gofer shares with Claude Code: ~/.claude.json, with trust and MCP servers by project. It can be hundreds
// of megabytes, because Claude Code keeps histories there. It is read only when someone asks, as a stream, and only
// what was asked for is kept. It is written under a lock that both programs respect, and only where gofer changes something.
type State struct {
	file string
	w    writer
}

// OpenState names the state file: in CONFIG when the environment chose CONFIG, else in the home folder. Nothing is read.
func OpenState(configDir string, chosen bool, home string) *State {
	file := filepath.Join(home, ".claude.json")
	if chosen {
		file = filepath.Join(configDir, ".claude.json")
	}
	w := newWriter(configDir)
	w.beside = lockBeside
	return &State{file, w}
}

// File is the path of the state file.
func (s *State) File() string { return s.file }

// Lookup returns the values at several paths in one reading of the file; nil for those that are not there.
func (s *State) Lookup(paths ...[]string) ([]json.RawMessage, error) {
	values := make([]json.RawMessage, len(paths))
	f, info, err := openRegular(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return values, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.file, err)
	}
	defer f.Close()
	d := doc{r: f, size: info.Size(), name: s.file}
	spots, err := locate(d.scan(), paths...)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w (at byte %d)", s.file, err, offsetOf(err))
	}
	for i, sp := range spots {
		if sp.found() {
			if values[i], err = d.bytes(sp.start, sp.end); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// Set gives a path a value, making the objects on the way.
func (s *State) Set(value any, path ...string) error {
	return s.update(func(d doc) ([]splice, error) { return d.set(path, value) })
}

// Remove takes a value out.
func (s *State) Remove(path ...string) error {
	return s.update(func(d doc) ([]splice, error) { return d.remove(path) })
}

// Add appends an item to a list, unless it is there.
func (s *State) Add(value any, path ...string) error {
	return s.update(func(d doc) ([]splice, error) { return d.add(path, value) })
}

// Merge sets several members of the object at a path in one step; a nil value takes its member out. All other members stay.
func (s *State) Merge(members map[string]any, path ...string) error {
	return s.update(func(d doc) ([]splice, error) {
		spots, err := d.locate(path, noPath)
		if err != nil {
			return nil, err
		}
		sp := spots[0]
		if !sp.found() {
			kept := maps.Clone(members)
			maps.DeleteFunc(kept, func(_ string, v any) bool { return v == nil })
			return d.set(path, kept)
		}
		old, err := d.bytes(sp.start, sp.end)
		if err != nil {
			return nil, err
		}
		// The object is edited as a text of its own, on the line where it begins.
		pad := d.lineIndent(sp.start)
		part := docOf(s.file, append([]byte(pad), old...))
		part.unit = d.indentUnit(spots[1])
		for _, name := range slices.Sorted(maps.Keys(members)) {
			var splices []splice
			if v := members[name]; v == nil {
				splices, err = part.remove([]string{name})
			} else {
				splices, err = part.set([]string{name}, v)
			}
			if err != nil {
				return nil, err
			}
			part.r, part.size = edited(part, splices)
		}
		with := []byte(part.applied(nil))[len(pad):]
		if string(with) == string(old) {
			return nil, nil
		}
		return []splice{{sp.start, sp.end, with}}, nil
	})
}

func edited(d doc, splices []splice) (*strings.Reader, int64) {
	text := d.applied(splices)
	return strings.NewReader(text), int64(len(text))
}

func (s *State) update(plan func(doc) ([]splice, error)) error {
	return s.w.update(s.file, 0o600, plan)
}

// staleLock is the age at which Claude Code takes a lock for abandoned.
const staleLock = 10 * time.Second

// lockBeside takes the lock that Claude Code takes: a folder named like the file with .lock behind it. Whoever makes the folder has
// it. A mark in our own folder tells that it is gofer's: the next gofer that finds the mark holds gofer's own lock, so
// the one that left the mark is dead. The mark is the later to come and the first to go, so that it never covers Claude Code's lock.
func lockBeside(w writer, file string) (release func(), err error) {
	folder := file + ".lock"
	mark := filepath.Join(w.locks, filepath.Base(file)+".mark")
	if _, err := os.Lstat(mark); err == nil {
		os.Remove(mark)
		os.Remove(folder)
	}
	for deadline := time.Now().Add(w.wait); ; time.Sleep(5 * time.Millisecond) {
		err := os.Mkdir(folder, 0o700)
		if err == nil {
			os.WriteFile(mark, nil, 0o600) // without it a kill costs the next gofer staleLock
			return func() {
				os.Remove(mark)
				os.Remove(folder)
			}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("locking %s: %w", file, err)
		}
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > staleLock {
			if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s is in the way; remove it when no other program is running", folder)
			}
			continue
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another program has been changing %s for %s; try again when it is done", file, w.wait)
		}
	}
}
