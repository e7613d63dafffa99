package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fetchWait is how long one fetch may take.
const fetchWait = 10 * time.Minute

// download gets a file over HTTP.
func download(ctx context.Context, address string, headers map[string]string, into string, most int64) error {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "gofer")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 {
			return errors.New("it was passed on more than five times")
		}
		if r.URL.Host != via[0].URL.Host {
			for name := range headers {
				r.Header.Del(name) // they are for the host that the user named
			}
		}
		return nil
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	f, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(resp.Body, most+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return full(err)
	}
	if n > most {
		return fmt.Errorf("it has more than %d MB", most>>20)
	}
	return nil
}

// run runs a program and returns what it wrote. Nothing is asked of a person.
func run(ctx context.Context, dir string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never", "LC_ALL=C")
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} {
		cmd.Env = cutVariable(cmd.Env, name) // those of a git hook around gofer are about another repository
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &tail{Buffer: &said}
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not installed, and is needed for this", argv[0])
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", full(fmt.Errorf("%s %s: %w\n%s", filepath.Base(argv[0]), firstWord(argv[1:]), err, strings.TrimSpace(said.String())))
	}
	return out.String(), nil
}

func cutVariable(env []string, name string) []string {
	return slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
}

// firstWord is the subcommand of git.
func firstWord(args []string) string {
	for i := 0; i < len(args); i++ {
		if args[i] == "-c" {
			i++
			continue
		}
		if !strings.HasPrefix(args[i], "-") {
			return args[i]
		}
	}
	return ""
}

// tail keeps the first part of what a program complains about.
type tail struct{ *bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if room := 4000 - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// full says plainly that the disk is full.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || err != nil && strings.Contains(err.Error(), "No space left on device") {
		return fmt.Errorf("the disk is full; nothing was changed. Make room and try again: %w", err)
	}
	return err
}

// git runs git. Hooks and helpers that a repository could bring are switched off.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	off := []string{"git", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never", "-c", "advice.detachedHead=false"}
	return run(ctx, dir, append(off, args...)...)
}

// clone gets a repository, with as little of its history as there is to have, and returns the commit.
func clone(ctx context.Context, src Source, into string) (sha string, err error) {
	if err := src.check(); err != nil {
		return "", err
	}
	address, _ := src.git()
	if src.Kind == "url" {
		address = src.URL
		if !gitAddress(address) {
			return "", fmt.Errorf("%q is no address that git may be given", cut(address, 100))
		}
	}
	commit := src.SHA
	if commit == "" && shaForm().MatchString(src.Ref) {
		commit, src.Ref = src.Ref, ""
	}
	args := []string{"clone", "--quiet", "--depth", "1", "--no-tags"}
	if src.Ref != "" {
		args = append(args, "--branch", src.Ref)
	}
	if src.Kind == "git-subdir" {
		args = append(args, "--filter=blob:none", "--sparse")
	}
	if commit != "" {
		args = append(args, "--no-checkout")
	}
	if _, err := git(ctx, "", append(args, "--", address, into)...); err != nil {
		return "", err
	}
	if src.Kind == "git-subdir" {
		if _, err := git(ctx, into, "sparse-checkout", "set", "--", filepath.ToSlash(filepath.Clean(filepath.FromSlash(src.Path)))); err != nil {
			return "", err
		}
	}
	if commit != "" {
		if _, err := git(ctx, into, "fetch", "--quiet", "--depth", "1", "origin", commit); err != nil {
			return "", err
		}
		if _, err := git(ctx, into, "checkout", "--quiet", "--detach", commit); err != nil {
			return "", err
		}
	}
	return headOf(ctx, into)
}

// headOf is the commit that a folder is at.
func headOf(ctx context.Context, dir string) (string, error) {
	out, err := git(ctx, dir, "rev-parse", "HEAD")
	return strings.TrimSpace(out), err
}

// Bounds of a plugin.
const (
	mostFiles = 50_000
	mostBytes = 1 << 30
)

// A copier copies a plugin. Links inside it stay links; links to other places of its marketplace are followed; others are refused.
type copier struct {
	ctx    context.Context
	root   string // of the plugin
	around string // of what links may lead to
	files  int
	bytes  int64
}

func copyTree(ctx context.Context, from, around, into string) error {
	c := &copier{ctx: ctx, root: from, around: around}
	return full(c.folder(from, into, 0))
}

func (c *copier) folder(from, into string, depth int) error {
	if depth > 100 {
		return fmt.Errorf("%s is nested too deeply", from)
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.ctx.Err(); err != nil {
			return context.Cause(c.ctx)
		}
		if c.files++; c.files > mostFiles {
			return fmt.Errorf("the plugin has more than %d files", mostFiles)
		}
		source, target := filepath.Join(from, e.Name()), filepath.Join(into, e.Name())
		switch {
		case e.Name() == ".git":
		case e.IsDir():
			err = c.folder(source, target, depth+1)
		case e.Type()&fs.ModeSymlink != 0:
			err = c.link(source, target, depth)
		case e.Type().IsRegular():
			err = c.file(source, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) link(source, target string, depth int) error {
	real, err := filepath.EvalSymlinks(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it leads nowhere
	}
	if err != nil {
		return err
	}
	rel, _ := filepath.Rel(c.root, source)
	switch {
	case within(c.root, real):
		text, err := filepath.Rel(filepath.Dir(source), real)
		if err != nil {
			return err
		}
		return os.Symlink(text, target)
	case !within(c.around, real):
		return fmt.Errorf("%s is a link that leads out of the plugin, to %s", rel, real)
	case isDir(real):
		return c.folder(real, target, depth+1)
	}
	return c.file(real, target)
}

func (c *copier) file(source, target string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if c.bytes += info.Size(); c.bytes > mostBytes {
		return fmt.Errorf("the plugin has more than %d MB", mostBytes>>20)
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	return errors.Join(err, out.Close())
}
