package main

import (
	"os"
	"path/filepath"
)

// A place is the home and the project of a program. Runs follow each other in one place, because that is how programs are
// used: what is done only once in a new home is done before anything is measured.
type place struct {
	dir     string
	home    string
	project string
	temp    string
}

func newPlace() (*place, error) {
	dir, err := os.MkdirTemp("", "gofer-bench-")
	if err != nil {
		return nil, err
	}
	// Programs compare paths with what the kernel says, and temp folders are links on some systems.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	p := &place{dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), temp: filepath.Join(dir, "tmp")}
	for _, d := range []string{p.home, p.project, p.temp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// write puts a file below the place.
func (p *place) write(path, text string) error {
	path = filepath.Join(p.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

func (p *place) close() error { return os.RemoveAll(p.dir) }
