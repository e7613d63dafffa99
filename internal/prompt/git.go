package prompt

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// gitPatience is how long the first request may wait for git. Work trees exist in which git takes minutes.
	gitPatience = 150 * time.Millisecond
	statusMost  = 2000 // characters
	commitsMost = 5
)

// GitOptions say how the snapshot is taken.
type GitOptions struct {
	// Trusted means that the user trusts the folder. Without it nothing that the repository's own configuration names is run:
	// a repository that was unpacked, not cloned, can bring programs that git starts.
	Trusted  bool
	Home     string
	Patience time.Duration // 0: as long as a first request may be held up
	Language Language
}

// A GitSnapshot is being taken in the background.
type GitSnapshot struct {
	deadline context.Context
	cancel   context.CancelFunc
	done     chan struct{}
	text     string // set before done is closed
}

// StartGit begins to look at the repository: two processes of git, at the same time, beside everything else that a start does.
func StartGit(ctx context.Context, r Repo, o GitOptions) *GitSnapshot {
	if o.Patience == 0 {
		o.Patience = gitPatience
	}
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	g := &GitSnapshot{deadline: ctx, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer cancel()
		defer close(g.done)
		g.text = snapshot(ctx, r, o)
	}()
	return g
}

// Text waits for the snapshot, but not longer than the first request may be held up; "" if there is none by then. Whatever runs
// then has been killed.
func (g *GitSnapshot) Text() string {
	select {
	case <-g.done:
		return g.text
	case <-g.deadline.Done():
	}
	select {
	case <-g.done: // both at once: it is there
		return g.text
	default:
		return ""
	}
}

// Close gives up on the snapshot.
func (g *GitSnapshot) Close() { g.cancel() }

func snapshot(ctx context.Context, r Repo, o GitOptions) string {
	conf := readGitConfig(r, o.Home)
	var status, commits string
	var wg sync.WaitGroup
	statusErr := errUntrusted
	if o.Trusted || !conf.runsPrograms {
		wg.Go(func() {
			// fsmonitor may name a program, and a submodule has a configuration of its own.
			status, statusErr = runGit(ctx, r.Root, statusMost*4, "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--short", "--ignore-submodules=dirty")
		})
		wg.Go(func() {
			commits, _ = runGit(ctx, r.Root, 4000, "-c", "log.showSignature=false", "log", fmt.Sprint("-", commitsMost), "--no-color", "--no-decorate", "--format=%h %s")
		})
	}
	branch, main := r.branch(), r.mainBranch()
	wg.Wait()
	if ctx.Err() != nil {
		return ""
	}
	return renderGit(o.Language, gitFacts{branch: branch, main: main, user: conf.user, status: status, statusErr: statusErr, commits: commits})
}

type gitFacts struct {
	branch, main, user, status, commits string
	statusErr                           error
}

func renderGit(l Language, f gitFacts) string {
	var b strings.Builder
	line := func(eng, chn, value string) {
		if value = oneLine(value, 200); value != "" {
			fmt.Fprintf(&b, "%s%s%s\n", l.in(eng, chn), l.in(": ", "："), value)
		}
	}
	line("Branch", "分支", f.branch)
	line("Main branch", "主分支", f.main)
	line("User", "用户", f.user)
	switch status := strings.TrimRight(f.status, "\n"); {
	case f.statusErr != nil: // nothing is better than something wrong
	case status == "":
		line("Status", "状态", l.in("clean", "干净"))
	default:
		b.WriteString(l.in("Status:\n", "状态：\n"))
		b.WriteString(cutStatus(l, status) + "\n")
	}
	if f.commits = strings.TrimSpace(f.commits); f.commits != "" {
		b.WriteString(l.in("Last commits:\n", "最近的提交：\n"))
		for line := range strings.Lines(f.commits) {
			b.WriteString(oneLine(line, 200) + "\n")
		}
	}
	return inert(strings.TrimSpace(b.String()))
}

// cutStatus keeps the first characters of a long status, whole lines of them.
func cutStatus(l Language, status string) string {
	runes := []rune(strings.ToValidUTF8(status, "\ufffd"))
	if len(runes) <= statusMost {
		return string(runes)
	}
	short := string(runes[:statusMost])
	if i := strings.LastIndexByte(short, '\n'); i > 0 {
		short = short[:i]
	}
	return short + l.in("\n[cut: there is more; run git status to see it]", "\n[已截断：还有更多；运行 git status 查看]")
}

// runGit runs git and returns at most n bytes of what it writes. Git is ended when it has written more.
func runGit(ctx context.Context, dir string, n int64, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = gitEnv(os.Environ())
	killTree(cmd)
	cmd.WaitDelay = 20 * time.Millisecond
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(out, n))
	if int64(len(data)) == n {
		_ = cmd.Cancel()
		_ = cmd.Wait()
		return string(data), ctx.Err()
	}
	if waitErr := cmd.Wait(); waitErr != nil {
		err = waitErr
	}
	return string(data), err
}

// gitEnv drops what would make git look at another repository, as it is set inside of git's own hooks.
func gitEnv(env []string) []string {
	kept := make([]string, 0, len(env)+4)
	for _, e := range env {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF", "GIT_TRACE":
		default:
			kept = append(kept, e)
		}
	}
	return append(kept, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// branch reads the name of the branch; a commit when HEAD is detached.
func (r Repo) branch() string {
	head := firstLine(filepath.Join(r.GitDir, "HEAD"))
	if ref, ok := strings.CutPrefix(head, "ref:"); ok {
		return strings.TrimPrefix(strings.TrimSpace(ref), "refs/heads/")
	}
	if len(head) >= 12 {
		return "detached at " + head[:12]
	}
	return ""
}

// mainBranch is the branch that the remote calls its main one, or else the usual name that exists.
func (r Repo) mainBranch() string {
	if ref, ok := strings.CutPrefix(firstLine(filepath.Join(r.Common, "refs", "remotes", "origin", "HEAD")), "ref:"); ok {
		return strings.TrimPrefix(strings.TrimSpace(ref), "refs/remotes/origin/")
	}
	names := []string{"main", "master", "trunk"}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(r.Common, "refs", "heads", name)); err == nil {
			return name
		}
	}
	packed, err := readSmall(filepath.Join(r.Common, "packed-refs"), 1<<20)
	if err != nil {
		return ""
	}
	found := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(packed)); lines.Scan(); {
		if _, ref, ok := strings.Cut(lines.Text(), " refs/heads/"); ok {
			found[ref] = true
		}
	}
	for _, name := range names {
		if found[name] {
			return name
		}
	}
	return ""
}
