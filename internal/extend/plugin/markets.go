package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Marketplace reads a marketplace that was added, from the copy on disk.
func (s *Store) Marketplace(name string) (*Marketplace, Known, error) {
	known, err := s.Known()
	if err != nil {
		return nil, Known{}, err
	}
	k, ok := known[name]
	if !ok {
		return nil, k, fmt.Errorf("the marketplace %q was not added; gofer plugin marketplace add does that%s", cut(name, 60), hint(sortedKeys(known)))
	}
	m, err := readKnown(k)
	if err != nil {
		return nil, k, fmt.Errorf("the marketplace %s cannot be read (gofer plugin marketplace update %s may mend it): %w", name, name, err)
	}
	return m, k, nil
}

// readKnown reads the copy of a marketplace. One that is a single file has no folder: what lies beside it belongs to others.
func readKnown(k Known) (*Marketplace, error) {
	m, err := readMarketplace(k.InstallLocation, catalogIn(k.Source))
	if err == nil && k.Source.Kind == "url" {
		m.Root = ""
	}
	return m, err
}

// catalogIn is the file of a marketplace in its repository, if it is not at the usual place.
func catalogIn(s Source) string {
	if _, isGit := s.git(); isGit {
		return s.Path
	}
	return ""
}

func hint(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(". There are %v", names)
}

// AddMarketplace fetches a marketplace and remembers it. Its name is what it calls itself. One that is there already from the same
// source is fetched anew.
func (s *Store) AddMarketplace(ctx context.Context, src Source) (*Marketplace, error) {
	var m *Marketplace
	err := s.change(ctx, func() (err error) {
		m, err = s.addMarketplace(ctx, src, "")
		return err
	})
	return m, err
}

// addMarketplace does the work of AddMarketplace under the lock. wanted is the name that it must have; "" is any.
func (s *Store) addMarketplace(ctx context.Context, src Source, wanted string) (*Marketplace, error) {
	if err := s.Policy.Forbids(src); err != nil {
		return nil, err
	}
	known, err := s.Known()
	if err != nil {
		return nil, err
	}
	place, done, err := s.fetchMarketplace(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("the marketplace %s cannot be fetched: %w", src, err)
	}
	defer done()
	m, err := readMarketplace(place, catalogIn(src))
	if err != nil {
		return nil, err
	}
	if wanted != "" && m.Name != wanted {
		return nil, fmt.Errorf("the marketplace at %s calls itself %q, not %q", src, m.Name, wanted)
	}
	if old, there := known[m.Name]; there && old.Source.String() != src.String() {
		return nil, fmt.Errorf("there is another marketplace called %s, from %s; remove it first (gofer plugin marketplace remove %s)", m.Name, old.Source, m.Name)
	}
	location := place
	if !src.local() {
		location = filepath.Join(s.marketDir(), m.Name)
		if src.Kind == "url" {
			location += ".json"
		}
		if err := moveInto(place, location); err != nil {
			return nil, fmt.Errorf("the marketplace %s could not be put into place: %w", m.Name, err)
		}
	}
	k := Known{Source: src, InstallLocation: location, LastUpdated: s.stamp(), AutoUpdate: known[m.Name].AutoUpdate}
	if err := edit(s.knownFile(), k, m.Name); err != nil {
		return nil, err
	}
	return readKnown(k)
}

// moveInto puts a new file or folder into a place, in one step where the system can: what was there is gone afterwards.
func moveInto(from, place string) error {
	if _, err := os.Lstat(place); err != nil {
		return os.Rename(from, place)
	}
	if !isDir(place) && !isDir(from) {
		return os.Rename(from, place)
	}
	if err := swap(from, place); err == nil {
		return removeAll(from)
	} else if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	away, err := stage(filepath.Dir(place))
	if err != nil {
		return err
	}
	defer removeAll(away)
	old := filepath.Join(away, "old")
	if err := os.Rename(place, old); err != nil {
		return err
	}
	if err := os.Rename(from, place); err != nil {
		return errors.Join(err, os.Rename(old, place))
	}
	return nil
}

// fetchMarketplace gets a marketplace. What was copied lies in a folder of the store until it is moved; done removes it if it was not.
func (s *Store) fetchMarketplace(ctx context.Context, src Source) (place string, done func(), err error) {
	if err := src.check(); err != nil {
		return "", nil, err
	}
	nothing := func() {}
	switch src.Kind {
	case "directory", "file":
		if _, err := os.Stat(src.Path); err != nil {
			return "", nil, err
		}
		return src.Path, nothing, nil
	case "url", "github", "git":
	default:
		return "", nil, fmt.Errorf("there is no way to fetch a marketplace from %q: use a folder, a git repository or an address", src.Kind)
	}
	dir, err := stage(s.marketDir())
	if err != nil {
		return "", nil, err
	}
	done = func() { removeAll(dir) }
	if src.Kind == "url" {
		place = filepath.Join(dir, "marketplace.json")
		err = download(ctx, src.URL, src.Headers, place, mostCatalog)
	} else {
		place = filepath.Join(dir, "copy")
		_, err = clone(ctx, src, place)
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return place, done, nil
}

// UpdateMarketplace fetches a marketplace anew. When that fails the old copy stays.
func (s *Store) UpdateMarketplace(ctx context.Context, name string) (*Marketplace, error) {
	var m *Marketplace
	err := s.change(ctx, func() error {
		known, err := s.Known()
		if err != nil {
			return err
		}
		k, ok := known[name]
		if !ok {
			return fmt.Errorf("the marketplace %q was not added%s", cut(name, 60), hint(sortedKeys(known)))
		}
		m, err = s.addMarketplace(ctx, k.Source, name)
		return err
	})
	return m, err
}

// RemoveMarketplace forgets a marketplace, and the plugins that came from it. It returns their ids.
func (s *Store) RemoveMarketplace(ctx context.Context, name string) (removed []string, err error) {
	err = s.change(ctx, func() error {
		known, err := s.Known()
		if err != nil {
			return err
		}
		k, ok := known[name]
		if !ok {
			return fmt.Errorf("the marketplace %q was not added%s", cut(name, 60), hint(sortedKeys(known)))
		}
		installed, err := s.Installed()
		if err != nil {
			return err
		}
		for _, id := range sortedKeys(installed) {
			if _, market := SplitID(id); market == name {
				if err := edit(s.installedFile(), nil, "plugins", id); err != nil {
					return err
				}
				removed = append(removed, id)
			}
		}
		if err := edit(s.knownFile(), nil, name); err != nil {
			return err
		}
		if !k.Source.local() && within(s.marketDir(), k.InstallLocation) && k.InstallLocation != s.marketDir() {
			if err := removeAll(k.InstallLocation); err != nil {
				return err
			}
		}
		return nil
	})
	return removed, err
}
