package tree

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gofer/internal/session/history"
	"gofer/internal/session/history/gitindex"
)

type fileMode = fs.FileMode

const separator = filepath.Separator

const (
	// copyBlobs is how many contents of git are copied at once. Those of a command that changes more, such as git checkout, stay where
	// they are, and are read from there when they are needed.
	copyBlobs = 200
	otherForm = "git keeps it in another form"
)

// tracked judges files that git had as they were, or that were not there.
func (c *comparison) tracked(ctx context.Context, r *root, changed []candidate) {
	var fromGit []int // places in found
	var entries []int
	for _, k := range changed {
		path := r.abs(r.index.Entries[k.entry].Path)
		f, ok := c.judge(r, path, k)
		r.state[k.entry] = isLoose | isFresh
		c.set(path, k.stat, k.there)
		if !ok {
			continue
		}
		if f.Before.Blob != "" {
			fromGit, entries = append(fromGit, len(c.found)), append(entries, k.entry)
		}
		c.found = append(c.found, f)
	}
	if len(fromGit) <= copyBlobs {
		c.fetch(ctx, r, fromGit, entries)
	}
}

// judge says what happened to a tracked file. It reports false if nothing did.
func (c *comparison) judge(r *root, path string, k candidate) (f history.Found, changed bool) {
	f.Path = path
	if k.was&isFresh == 0 && !c.during(k.stat) && k.there {
		return f, false // someone else changed it before
	}
	oid := r.index.OID(k.entry)
	switch {
	case k.was&isAbsent != 0:
		_, f.Made = r.wasAbsent(path)
	case k.was&isClean == 0:
		f.Before = history.Old{Existed: true, Mode: k.stat.mode, Reason: unseen}
	default:
		f.Before = history.Old{Existed: true, Mode: fileMode(k.was & 0o777), Size: r.index.Size(k.entry), Repo: r.repo.GitDir, Blob: oid}
		if r.index.Link(k.entry) {
			f.Before.Mode |= fs.ModeSymlink
		}
	}
	if !k.there {
		return f, true
	}
	var content []byte
	f.After, content = c.fingerprint(path, k.stat)
	if k.was&isClean == 0 {
		return f, true
	}
	before := stat{mode: f.Before.Mode}
	f.AfterMode = k.stat.changedMode(before, false)
	sameKind := before.isLink() == k.stat.isLink()
	if content != nil && sameKind && f.AfterMode == 0 && gitindex.BlobName(content, oid) == oid {
		return f, false // it was only touched
	}
	return f, true
}

// fetch copies contents from git, so that they are there even if git forgets them.
func (c *comparison) fetch(ctx context.Context, r *root, places, entries []int) {
	var oids []string
	total := int64(0)
	for _, e := range entries {
		oids = append(oids, r.index.OID(e))
		total += r.index.Size(e)
	}
	if total > readBytes {
		return
	}
	// What cannot be read now is tried again when it is needed.
	_ = r.repo.Blobs(ctx, oids, c.watch.store.FileLimit(), func(n int, blob []byte, err error) error {
		if err != nil {
			return nil
		}
		old := &c.found[places[n]].Before
		old.Repo, old.Blob = "", ""
		var ok bool
		if old.Content, ok = r.repo.WorkContent(blob, r.index.Size(entries[n])); !ok {
			old.Reason = otherForm
		}
		return nil
	})
}

// contentOf reads a file, or where a link leads.
func contentOf(path string, s stat) ([]byte, error) {
	if s.isLink() {
		target, err := os.Readlink(path)
		return []byte(target), err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := make([]byte, s.size)
	_, err = io.ReadFull(f, content)
	return content, err
}
