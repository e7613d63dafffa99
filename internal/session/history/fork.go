package history

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Fork gives a copy of a session the history of the original, so that it can be rewound to messages from before. Contents never change,
// so the two share them. A session without a history is none to copy.
func Fork(from, to string) error {
	index, err := os.ReadFile(filepath.Join(from, indexName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), "@v") {
			continue
		}
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if os.Link(source, target) == nil {
			continue
		}
		if err := copyFile(source, target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// The index comes last: without it there is no history, and with it there is all of it.
	temp := filepath.Join(to, ".new-index")
	if err := os.WriteFile(temp, index, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(to, indexName))
}

func copyFile(source, target string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
