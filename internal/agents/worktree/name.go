package worktree

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxName  = 48
	maxTries = 200
)

// CheckName says what is wrong with a name that a person or a model chose.
func CheckName(name string) error {
	if strings.TrimSpace(name) == "" {
		return errors.New("the name of a worktree is empty")
	}
	if len(name) > 2*maxName {
		return fmt.Errorf("the name of a worktree has at most %d characters", 2*maxName)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.Trim(part, ".") == "" || strings.ContainsFunc(part, func(r rune) bool { return !nameRune(r) }) {
			return fmt.Errorf("%q cannot be the name of a worktree: letters, digits, dots, dashes and underscores can, with slashes between them", name)
		}
	}
	return nil
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_'
}

// cleanName makes of any text a name for a folder and a branch.
func cleanName(text string) (string, error) {
	if text == "" {
		var raw [4]byte
		rand.Read(raw[:]) // it does not fail
		return "tree-" + hex.EncodeToString(raw[:]), nil
	}
	mapped := strings.Map(func(r rune) rune {
		if nameRune(r) {
			return r
		}
		return '-'
	}, text)
	for _, twice := range []string{"--", ".."} { // git takes two dots for a range
		for strings.Contains(mapped, twice) {
			mapped = strings.ReplaceAll(mapped, twice, twice[:1])
		}
	}
	mapped = strings.Trim(mapped[:min(len(mapped), maxName)], "-.")
	mapped = strings.TrimSuffix(mapped, ".lock") // git keeps these names for itself
	if mapped == "" {
		return "", fmt.Errorf("%q has no letter or digit that a worktree could be called after", text)
	}
	return mapped, nil
}

// reserve finds a name that nobody uses and holds it.
func (r *Repo) reserve(ctx context.Context, name string) (string, *lock, error) {
	for i := 1; i <= maxTries; i++ {
		if ctx.Err() != nil {
			return "", nil, context.Cause(ctx)
		}
		slug := name
		if i > 1 {
			slug = fmt.Sprintf("%s-%d", name, i)
		}
		l, err := r.tryLock(slug)
		if err != nil {
			return "", nil, err
		}
		if l == nil {
			continue
		}
		if _, err := os.Lstat(filepath.Join(r.home(), slug)); err != nil && errors.Is(err, os.ErrNotExist) {
			if _, err := r.read(slug); err != nil {
				return slug, l, nil
			}
		}
		l.release(false)
	}
	return "", nil, fmt.Errorf("there are %d worktrees called %s already; gofer worktree prune removes those that are no longer needed", maxTries, name)
}

// freeBranch finds a name for the branch: one that exists is somebody's, and so is one that others are below.
func (r *Repo) freeBranch(ctx context.Context, slug string) (string, error) {
	for i := 1; i <= maxTries; i++ {
		branch := "worktree-" + slug
		if i > 1 {
			branch = fmt.Sprintf("%s-%d", branch, i)
		}
		taken, err := git(ctx, r.Main, "for-each-ref", "--count=1", "--format=x", "refs/heads/"+branch)
		if err != nil {
			return "", err
		}
		if taken == "" {
			return branch, nil
		}
	}
	return "", fmt.Errorf("there are %d branches called worktree-%s already; delete those that are no longer needed", maxTries, slug)
}
