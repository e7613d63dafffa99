package gitindex

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrNotThere says that a repository does not have an object.
var ErrNotThere = errors.New("git no longer has it")

// Blobs hands the contents of objects to take, one after the other, each with its place in oids. One process of git reads them
// all. take may be told an error instead of a content. An error of take itself ends it.
func (r Repo) Blobs(ctx context.Context, oids []string, limit int64, take func(i int, content []byte, err error) error) error {
	if len(oids) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "--git-dir="+r.GitDir, "cat-file", "--batch")
	cmd.Dir = r.GitDir
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(strings.Join(oids, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git is needed to read old contents: %w", err)
	}
	err = each(bufio.NewReaderSize(out, 64<<10), len(oids), limit, take)
	if err != nil {
		cancel()
	}
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	return err
}

// each reads what git cat-file --batch writes.
func each(in *bufio.Reader, n int, limit int64, take func(int, []byte, error) error) error {
	for i := range n {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("git ended early: %w", err)
		}
		fields := strings.Fields(line)
		if len(fields) != 3 {
			if err := take(i, nil, ErrNotThere); err != nil {
				return err
			}
			continue
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("git answers %q", line)
		}
		var content []byte
		var failed error
		if size > limit {
			_, err = io.CopyN(io.Discard, in, size+1)
			failed = errors.New("it is too large to be kept")
		} else {
			content = make([]byte, size)
			if _, err = io.ReadFull(in, content); err == nil {
				_, err = in.Discard(1)
			}
		}
		if err != nil {
			return fmt.Errorf("reading from git: %w", err)
		}
		if fields[1] != "blob" {
			content, failed = nil, ErrNotThere
		}
		if err := take(i, content, failed); err != nil {
			return err
		}
	}
	return nil
}

// environment keeps git from looking elsewhere and from fetching: a repository may be set up so that a missing object makes git
// start a program.
func environment(env []string) []string {
	kept := make([]string, 0, len(env)+4)
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); !strings.HasPrefix(name, "GIT_") {
			kept = append(kept, e)
		}
	}
	return append(kept, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// WorkContent is the content that a clean file had in the work tree, made of the object that git keeps for it. Git may have
// changed it on its way: line ends and large files are followed here, and the size that git noted for the file proves it. For
// everything else ok is false.
func (r Repo) WorkContent(blob []byte, size int64) (content []byte, ok bool) {
	if int64(len(blob)) == size {
		return blob, true
	}
	if lines := bytes.Count(blob, []byte("\n")); int64(len(blob)+lines) == size && !bytes.Contains(blob, []byte("\r\n")) {
		return bytes.ReplaceAll(blob, []byte("\n"), []byte("\r\n")), true
	}
	oid, ok := lfsObject(blob)
	if !ok {
		return nil, false
	}
	path := filepath.Join(r.common(), "lfs", "objects", oid[:2], oid[2:4], oid)
	if info, err := os.Stat(path); err != nil || info.Size() != size {
		return nil, false
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	sum := sha256.Sum256(content)
	return content, hex.EncodeToString(sum[:]) == oid
}

// lfsObject finds the name of the large file that a pointer stands for.
func lfsObject(blob []byte) (string, bool) {
	if len(blob) > 1024 || !bytes.HasPrefix(blob, []byte("version https://git-lfs")) {
		return "", false
	}
	_, rest, ok := strings.Cut(string(blob), "\noid sha256:")
	if !ok || len(rest) < 64 {
		return "", false
	}
	_, err := hex.DecodeString(rest[:64])
	return rest[:64], err == nil
}

// BlobName is the name that git would give to a content, with object names as long as like.
func BlobName(content []byte, like string) string {
	head := []byte("blob " + strconv.Itoa(len(content)) + "\x00")
	if len(like) == 64 {
		h := sha256.New()
		h.Write(head)
		h.Write(content)
		return hex.EncodeToString(h.Sum(nil))
	}
	h := sha1.New()
	h.Write(head)
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
