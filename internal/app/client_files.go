package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gofer/internal/guard"
	"gofer/internal/tool"
	"gofer/internal/tool/files"
	"gofer/internal/ui/control"
	"gofer/internal/ui/fileindex"
)

// fileHandlers answer what a client asks about files.
func (e *engine) fileHandlers() map[string]control.Handler {
	return map[string]control.Handler{
		"read_file":          handle(e.readFileRequest),
		"seed_read_state":    handle(e.seedRequest),
		"register_repo_root": handle(e.repoRootRequest),
	}
}

// mostRead is how many bytes of a file a client gets if it does not say how many it wants, and the most it can want.
const (
	mostRead  = 1 << 20
	mostAsked = 32 << 20
)

// readFileRequest reads a file for the client, if the model might read it without asking.
func (e *engine) readFileRequest(_ context.Context, r struct {
	Path     string `json:"path"`
	MaxBytes int    `json:"max_bytes"`
	Encoding string `json:"encoding"`
}) (any, error) {
	denied := errors.New("read denied: " + r.Path)
	path := e.clientPath(r.Path)
	if !e.mayRead(path) {
		return nil, denied
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, denied
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, denied
	}
	defer f.Close()
	limit := mostRead
	if r.MaxBytes > 0 {
		limit = min(r.MaxBytes, mostAsked)
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, denied
	}
	answer := map[string]any{"absPath": path, "requested_path": r.Path}
	if len(data) > limit {
		data = data[:limit]
		answer["truncated"] = true
	}
	if r.Encoding == "base64" {
		answer["contents"], answer["encoding"] = base64.StdEncoding.EncodeToString(data), "base64"
		return answer, nil
	}
	answer["contents"], answer["lossy"] = strings.ToValidUTF8(string(data), "\uFFFD"), !utf8.Valid(data)
	return answer, nil
}

// clientPath is a path of the client, from the working directory of the session.
func (e *engine) clientPath(path string) string {
	path = expandHome(path, e.place.home)
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.dir.Cwd(), path)
	}
	return filepath.Clean(path)
}

// mayRead says whether the rules let a file be read without asking anyone.
func (e *engine) mayRead(path string) bool {
	d := guard.Decide(e.policy.Policy(), guard.Facts{Tool: "Read", Access: []tool.Access{{Verb: tool.Read, Target: path}},
		Traits: tool.Traits{ReadOnly: true}, Dir: e.dir.Cwd()})
	return d.Behavior == guard.Allow
}

// seedRequest lets a file count as read that the client has seen the model read. One that has changed since does not.
func (e *engine) seedRequest(_ context.Context, r struct {
	Path  string  `json:"path"`
	MTime float64 `json:"mtime"`
}) (any, error) {
	at := time.UnixMilli(int64(r.MTime)).Add(time.Millisecond) // the client has rounded it down
	if entry, ok := files.Remember(e.clientPath(r.Path), at); ok {
		e.seen.Restore([]files.Entry{entry})
	}
	return nil, nil
}

// repoRootRequest adds a folder below those that the session began with to its working directories.
func (e *engine) repoRootRequest(_ context.Context, r struct {
	Directory string `json:"directory"`
}) (any, error) {
	dir, err := filepath.EvalSymlinks(e.clientPath(r.Directory))
	if err != nil {
		return nil, fmt.Errorf("register_repo_root: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("register_repo_root: %s is not a folder", dir)
	}
	below := func(root string) bool {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		rel, err := filepath.Rel(root, dir)
		return err == nil && rel != "." && filepath.IsLocal(rel)
	}
	switch {
	case !slices.ContainsFunc(e.workDirs(), below):
		return nil, fmt.Errorf("register_repo_root: %s does not lie below the session's working directory or a folder of --add-dir", dir)
	case slices.Contains(e.flags.wishes.addedRoots(), dir):
		return nil, fmt.Errorf("register_repo_root: %s is a working directory already", dir)
	}
	if err := e.policy.Apply([]guard.Update{{Type: guard.AddDirectories, Directories: []string{dir}, Destination: guard.FromSession}}); err != nil {
		return nil, err
	}
	e.flags.wishes.change(func(w *wishes) { w.roots = append(w.roots, dir) })
	return map[string]any{"directory": dir}, nil
}

// Bounds of what is suggested for a few letters of a file's name.
const (
	mostFiles     = 15
	suggestFiles  = 3 * time.Second
	mostTopFolder = 200
)

// filesRequest finds files by a few letters. Without any it lists the working directory.
func (e *engine) filesRequest(ctx context.Context, r struct{ Query string }) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, suggestFiles)
	defer cancel()
	type suggestion struct {
		Path string `json:"path"`
	}
	list := []suggestion{}
	if strings.TrimSpace(r.Query) == "" {
		for _, name := range e.topOfFolder() {
			list = append(list, suggestion{name})
		}
	} else {
		index := e.fileIndex()
		if _, settled := index.Find(ctx, r.Query, mostFiles); !settled {
			index.Settle(ctx)
		}
		found, _ := index.Find(ctx, r.Query, mostFiles)
		for _, m := range found {
			list = append(list, suggestion{m.Path})
		}
	}
	return map[string]any{"suggestions": list, "cwd": e.dir.Cwd()}, nil
}

// topOfFolder is what stands in the working directory, folders first.
func (e *engine) topOfFolder() []string {
	entries, err := os.ReadDir(e.dir.Cwd())
	if err != nil {
		return nil
	}
	var folders, names []string
	for _, entry := range entries[:min(len(entries), mostTopFolder)] {
		switch {
		case entry.Name() == ".git" || !e.mayRead(filepath.Join(e.dir.Cwd(), entry.Name())):
		case entry.IsDir():
			folders = append(folders, entry.Name()+"/")
		default:
			names = append(names, entry.Name())
		}
	}
	return append(folders, names...)
}

// fileIndex is the index of the session's files, made when it is first asked for.
func (e *engine) fileIndex() (index *fileindex.Index) {
	e.flags.wishes.change(func(w *wishes) {
		if w.index == nil {
			w.index = fileindex.New(e.root(), hides(e.policy.Policy))
		}
		index = w.index
	})
	return index
}
