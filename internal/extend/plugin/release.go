package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fitting fetches the newest version that all ranges accept: what the marketplace has now, or an older release that is tagged
// NAME--vVERSION in its repository.
func (in *installing) fitting(m *Marketplace, k Known, e *Entry, dir string, wanted []string) (fetched, error) {
	got, err := in.get(m, k, e, dir)
	if err != nil || fitsEach(wanted, got.version) {
		return got, err
	}
	id, newest := ID(e.Name, m.Name), got.version
	older, err := in.release(m, k, e, wanted)
	if err != nil {
		return got, fmt.Errorf("%s is needed in version %s, but the marketplace has %s, and %w", id, strings.Join(wanted, " and "), newest, err)
	}
	again := filepath.Join(dir, "release")
	if err := os.Mkdir(again, 0o700); err != nil {
		return got, full(err)
	}
	if got, err = in.get(m, k, older, again); err != nil {
		return got, err
	}
	if !fitsEach(wanted, got.version) {
		return got, fmt.Errorf("%s is needed in version %s, but what is tagged %s calls itself %s", id, strings.Join(wanted, " and "), older.Source.Ref, got.version)
	}
	return got, nil
}

func fitsEach(wanted []string, version string) bool {
	for _, w := range wanted {
		if !Fits(w, version) {
			return false
		}
	}
	return true
}

// release is the entry of the newest tagged release that fits.
func (in *installing) release(m *Marketplace, k Known, e *Entry, wanted []string) (*Entry, error) {
	src := e.Source
	if src.Kind == "path" {
		address, isGit := k.Source.git()
		if !isGit {
			return nil, fmt.Errorf("older ones are not to be had, because it is not in git")
		}
		path := filepath.FromSlash(src.Path)
		if m.Base != "" && !strings.HasPrefix(path, ".") {
			path = filepath.Join(filepath.FromSlash(m.Base), path)
		}
		src = Source{Kind: "git-subdir", URL: address, Path: filepath.ToSlash(path)}
	}
	address, isGit := src.git()
	if src.Kind == "url" {
		address, isGit = src.URL, true
	}
	if !isGit || !gitAddress(address) {
		return nil, fmt.Errorf("older ones are not to be had, because it is not in git")
	}
	prefix := e.Name + "--v"
	out, err := git(in.ctx, "", "ls-remote", "--tags", "--refs", "--", address, "refs/tags/"+prefix+"*")
	if err != nil {
		return nil, err
	}
	best := ""
	for line := range strings.Lines(out) {
		_, tag, _ := strings.Cut(strings.TrimSpace(line), "refs/tags/"+prefix)
		if v, err := parseVersion(tag); err == nil && fitsEach(wanted, tag) {
			if b, err := parseVersion(best); err != nil || b.less(v) {
				best = tag
			}
		}
	}
	if best == "" {
		return nil, fmt.Errorf("no release that fits is tagged (as %s1.2.3)", prefix)
	}
	src.Ref, src.SHA = prefix+best, ""
	older := *e
	older.Source, older.Version = src, best
	return &older, nil
}

// heldTo are the ranges in which plugins that are installed need another.
func (in *installing) heldTo(id string) (ranges []string) {
	installed, err := in.Installed()
	if err != nil {
		return nil
	}
	for other, list := range installed {
		_, market := SplitID(other)
		for _, i := range list {
			p, err := Load(i.InstallPath, LoadOptions{Marketplace: market})
			if err != nil || other == id {
				continue
			}
			for _, d := range p.Manifest.Dependencies {
				if d.id(market) == id && d.Version != "" {
					ranges = append(ranges, d.Version)
				}
			}
		}
	}
	return ranges
}
