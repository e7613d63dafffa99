package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gofer/internal/tool"
)

const (
	mostEntry = 4_000   // bytes of one entry
	mostDay   = 1 << 20 // bytes of one day
)

// LogFile is the log of today, below the folder.
func (s *Store) LogFile() string {
	now := s.o.Now()
	return path.Join("logs", now.Format("2006"), now.Format("01"), now.Format("2006-01-02")+".md")
}

// Log adds an entry to the log of today. What stands there is never changed.
func (s *Store) Log(ctx context.Context, text string) (file string, err error) {
	text = strings.TrimSpace(tool.Prefix(strings.ToValidUTF8(s.o.Mask(text), "\ufffd"), mostEntry))
	if text == "" {
		return "", errors.New("there is nothing to log")
	}
	unlock, err := s.take(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	file = s.LogFile()
	full := filepath.Join(s.o.Dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(full, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case info.Size() > mostDay:
		return "", fmt.Errorf("the log of today is full (%d bytes): distil it first", info.Size())
	}
	entry := "- " + s.o.Now().Format("15:04") + " " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
	if size := info.Size(); size > 0 {
		// A kill may have left half an entry: the next one still begins a line.
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			entry = "\n" + entry
		}
	}
	if _, err := f.WriteString(entry); err != nil {
		return "", err
	}
	return file, f.Close()
}
