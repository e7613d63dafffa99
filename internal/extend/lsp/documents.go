package lsp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"time"
)

// largestFile bounds the files that servers are told of.
const largestFile = 4 << 20

// mostOpen bounds how many files a server is told of at once; the ones used longest ago are closed.
const mostOpen = 64

// A doc is a file as the server knows it.
type doc struct {
	version int
	hash    [32]byte
	used    time.Time
}

// open tells the server what a file holds now, if it does not know that yet, and returns the text and its version.
func (s *server) open(ctx context.Context, path string) (text string, version int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	if info.IsDir() || info.Size() > largestFile {
		return "", 0, fmt.Errorf("%s is a folder, or larger than %d MB", path, largestFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", 0, err
	}
	text = strings.ToValidUTF8(string(data), "\uFFFD")
	hash := sha256.Sum256([]byte(text))
	uri := uriOf(path)

	s.syncing.Lock()
	defer s.syncing.Unlock()
	d := s.docs[uri]
	switch {
	case d == nil:
		s.closeOldest(ctx)
		d = &doc{version: 1, hash: hash}
		s.docs[uri] = d
		err = s.conn.Notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": uri, "languageId": s.cfg.Language(path), "version": d.version, "text": text}})
	case d.hash != hash:
		d.version++
		d.hash = hash
		err = s.conn.Notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument": versioned{uri, d.version}, "contentChanges": []any{map[string]any{"text": text}}})
		if err == nil {
			err = s.conn.Notify(ctx, "textDocument/didSave", map[string]any{"textDocument": document{uri}})
		}
	}
	d.used = time.Now()
	return text, d.version, err
}

// closeOldest makes room for one more open file. The caller holds s.syncing.
func (s *server) closeOldest(ctx context.Context) {
	if len(s.docs) < mostOpen {
		return
	}
	var oldest string
	for uri, d := range s.docs {
		if oldest == "" || d.used.Before(s.docs[oldest].used) {
			oldest = uri
		}
	}
	delete(s.docs, oldest)
	s.conn.Notify(ctx, "textDocument/didClose", map[string]any{"textDocument": document{oldest}})
}

// Kinds of changes that a server is told of.
const (
	fileChanged = 2
	fileDeleted = 3
)

// touched tells the server, once it runs, of files that may have changed or gone.
func (s *server) touched(paths []string) {
	if !closed(s.ready) || s.dead() {
		return // it reads them when it starts, or never
	}
	var changes []any
	var open []string
	s.syncing.Lock()
	for _, path := range paths {
		kind := fileChanged
		if _, err := os.Lstat(path); err != nil {
			kind = fileDeleted
		}
		uri := uriOf(path)
		if kind == fileChanged && s.docs[uri] != nil {
			open = append(open, path)
		}
		if kind == fileDeleted && s.docs[uri] != nil {
			delete(s.docs, uri)
			s.conn.Notify(s.pool.ctx, "textDocument/didClose", map[string]any{"textDocument": document{uri}})
		}
		changes = append(changes, map[string]any{"uri": uri, "type": kind})
	}
	s.syncing.Unlock()
	if len(changes) > 0 {
		s.conn.Notify(s.pool.ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": changes})
	}
	for _, path := range open {
		s.open(s.pool.ctx, path)
	}
}
