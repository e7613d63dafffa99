package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A Store is the folder of all plugins: CONFIG/plugins.
type Store struct {
	Dir    string
	Policy Policy
	Extra  map[string]Source // marketplaces that the settings name
	Now    func() time.Time  // nil: time.Now
}

// A Known is a marketplace that was added.
type Known struct {
	Source          Source `json:"source"`
	InstallLocation string `json:"installLocation"`
	LastUpdated     string `json:"lastUpdated,omitempty"`
	AutoUpdate      bool   `json:"autoUpdate,omitempty"`
}

// An Installed is one installation of a plugin: for a user, or for a project.
type Installed struct {
	Scope       string `json:"scope"`
	ProjectPath string `json:"projectPath,omitempty"`
	InstallPath string `json:"installPath"`
	Version     string `json:"version"`
	InstalledAt string `json:"installedAt"`
	LastUpdated string `json:"lastUpdated,omitempty"`
	GitSHA      string `json:"gitCommitSha,omitempty"`
}

func (s *Store) knownFile() string     { return filepath.Join(s.Dir, "known_marketplaces.json") }
func (s *Store) installedFile() string { return filepath.Join(s.Dir, "installed_plugins.json") }
func (s *Store) cacheDir() string      { return filepath.Join(s.Dir, "cache") }
func (s *Store) marketDir() string     { return filepath.Join(s.Dir, "marketplaces") }

func (s *Store) stamp() string {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	return now().UTC().Format("2006-01-02T15:04:05.000Z")
}

// readJSON reads one of the store's files. A file that is not there is empty.
func readJSON(file string, into any) error {
	data, err := readBounded(file, mostCatalog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(bytes.TrimSpace(data)) > 0 {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read, and is left as it is: %w", file, err)
	}
	return nil
}

// Known returns the marketplaces that were added, by name.
func (s *Store) Known() (map[string]Known, error) {
	known := map[string]Known{}
	return known, readJSON(s.knownFile(), &known)
}

// Installed returns the installations of all plugins, by id.
func (s *Store) Installed() (map[string][]Installed, error) {
	var file struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}
	if err := readJSON(s.installedFile(), &file); err != nil {
		return nil, err
	}
	all := map[string][]Installed{}
	for id, raw := range file.Plugins {
		var list []Installed
		var one Installed // as the first version of the file has it
		switch {
		case json.Unmarshal(raw, &list) == nil:
		case json.Unmarshal(raw, &one) == nil && one.InstallPath != "":
			if one.Scope == "" {
				one.Scope = "user"
			}
			list = []Installed{one}
		}
		if len(list) > 0 {
			all[id] = list
		}
	}
	return all, nil
}

// edit changes one member of a file that is an object, in one step, and keeps all others. path leads to the object. A nil value takes
// the member out.
func edit(file string, value any, path ...string) error {
	whole := map[string]json.RawMessage{}
	if err := readJSON(file, &whole); err != nil {
		return err
	}
	if err := setMember(whole, value, path); err != nil {
		return err
	}
	data, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(file, append(data, '\n'))
}

func setMember(object map[string]json.RawMessage, value any, path []string) error {
	if len(path) == 1 {
		if value == nil {
			delete(object, path[0])
			return nil
		}
		raw, err := json.Marshal(value)
		object[path[0]] = raw
		return err
	}
	inner := map[string]json.RawMessage{}
	if raw := object[path[0]]; present(raw) {
		if err := json.Unmarshal(raw, &inner); err != nil {
			return fmt.Errorf("%q is not an object: %w", path[0], err)
		}
	}
	if err := setMember(inner, value, path[1:]); err != nil {
		return err
	}
	raw, err := json.Marshal(inner)
	object[path[0]] = raw
	return err
}

// writeFile replaces a file in one step.
func writeFile(file string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*.tmp")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o600), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("%s could not be written, and is as it was: %w", file, err)
	}
	return nil
}

// lockWait is how long another process may hold the store.
const lockWait = 5 * time.Minute

// change lets f change the store while nobody else does. What a process that was killed left behind is removed first.
func (s *Store) change(ctx context.Context, f func() error) error {
	if err := os.MkdirAll(s.cacheDir(), 0o700); err != nil {
		return fmt.Errorf("the folder of the plugins cannot be made: %w", err)
	}
	if err := os.MkdirAll(s.marketDir(), 0o700); err != nil {
		return fmt.Errorf("the folder of the marketplaces cannot be made: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(filepath.Join(s.Dir, ".gofer.lock"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(wait, 20*time.Millisecond); err != nil || !ok {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("another process has been changing the plugins for %s: %w", lockWait, err)
	}
	defer lock.Unlock()
	s.sweep()
	if err := f(); err != nil {
		return err
	}
	s.sweepOrphans()
	return nil
}

const stagePrefix = ".gofer-"

// stage makes a folder in which something new is gathered. It lies beside the place that it will be moved to.
func stage(beside string) (string, error) {
	return os.MkdirTemp(beside, stagePrefix+"*")
}

// orphanMark is the file that marks a folder of the cache that no record names any more; Claude Code uses it too.
const (
	orphanMark = ".orphaned_at"
	orphanAge  = 7 * 24 * time.Hour
)

// sweep removes what was left by processes that were killed.
func (s *Store) sweep() {
	for _, dir := range []string{s.cacheDir(), s.marketDir()} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), stagePrefix) {
				removeAll(filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, file := range []string{s.knownFile(), s.installedFile()} {
		left, _ := filepath.Glob(filepath.Join(s.Dir, "."+filepath.Base(file)+"-*.tmp"))
		for _, name := range left {
			os.Remove(name)
		}
	}
}

// sweepOrphans marks the versions of plugins that no record names any more, and removes those that were marked a week ago.
func (s *Store) sweepOrphans() {
	versions, _ := filepath.Glob(filepath.Join(s.cacheDir(), "*", "*", "*"))
	if len(versions) == 0 {
		return
	}
	installed, err := s.Installed()
	if err != nil {
		return // what is in use is not known, so nothing is removed
	}
	used := map[string]bool{}
	for _, list := range installed {
		for _, i := range list {
			used[filepath.Clean(i.InstallPath)] = true
		}
	}
	for _, dir := range versions {
		mark := filepath.Join(dir, orphanMark)
		info, err := os.Stat(mark)
		switch {
		case used[dir]:
			if err == nil {
				os.Remove(mark)
			}
		case err != nil:
			os.WriteFile(mark, []byte(s.stamp()), 0o600)
		case time.Since(info.ModTime()) > orphanAge:
			removeAll(dir)
		}
	}
}

// removeAll removes a folder, also one whose files may not be written, as git makes them.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
