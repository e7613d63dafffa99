package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Repo is a repository as it is seen from one of its trees.
type Repo struct {
	Root   string // the tree that was asked for, with links followed
	Given  string // the same as it was named
	Main   string // the tree that worktrees are kept in: the repository's own, or Root if it has none
	Common string // what all trees share: refs, objects, configuration; "" outside git
	Branch string // of Root; "" when HEAD is detached
	Head   string // the commit of Root; "" when there is none yet
}

// Find looks at the repository that dir is in. Whether a worktree can be made from it is another question.
func Find(ctx context.Context, dir string) (*Repo, error) {
	out, err := line(ctx, dir, "rev-parse", "--is-inside-work-tree", "--is-inside-git-dir", "--is-bare-repository")
	if err != nil {
		return nil, notRepository(dir, err)
	}
	switch facts := strings.Fields(out); {
	case len(facts) == 3 && facts[0] == "true":
	case len(facts) == 3 && facts[2] == "true":
		return nil, fmt.Errorf("%s is a bare repository: it has no files to work on. Clone it, or make a tree with git worktree add, and start there", dir)
	default:
		return nil, fmt.Errorf("%s is inside the folder that git keeps its own files in; start in the tree beside it", dir)
	}
	out, err = line(ctx, dir, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir", "--show-prefix")
	if err != nil {
		return nil, err
	}
	parts := strings.SplitN(out, "\n", 4)
	if len(parts) < 3 {
		return nil, fmt.Errorf("git cannot say where the tree of %s is: %q", dir, out)
	}
	r := &Repo{Root: filepath.FromSlash(parts[0]), Common: filepath.FromSlash(parts[2])}
	r.Given = given(dir, r.Root, parts[3:])
	r.Main = r.mainTree(ctx, filepath.FromSlash(parts[1]))
	if r.Root == filepath.Dir(r.Root) {
		return nil, fmt.Errorf("the repository is %s itself, so that everything on this machine would belong to it: there are no worktrees of it", r.Root)
	}
	if ref, err := line(ctx, r.Root, "symbolic-ref", "-q", "HEAD"); err == nil {
		r.Branch = strings.TrimPrefix(ref, "refs/heads/")
	} else if !failed(err) {
		return nil, err
	}
	if r.Head, err = line(ctx, r.Root, "rev-parse", "-q", "--verify", "HEAD^{commit}"); err != nil && !failed(err) {
		return nil, err
	}
	return r, nil
}

func notRepository(dir string, err error) error {
	if !failed(err) {
		return err
	}
	if strings.Contains(err.Error(), "not a git repository") {
		return fmt.Errorf("%s is not in a git repository, so there are no worktrees here; git init and a first commit make one (or a WorktreeCreate hook, for other systems)", dir)
	}
	return err
}

// outside stands for the folder itself where there is no repository.
func outside(dir string) *Repo {
	r := &Repo{Root: dir, Given: filepath.Clean(dir), Main: dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		r.Root, r.Main = real, real
	}
	return r
}

// given is the root by the name under which dir was reached, which may lead through links.
func given(dir, root string, prefix []string) string {
	dir = filepath.Clean(dir)
	sub := filepath.FromSlash(strings.TrimSuffix(strings.Join(prefix, ""), "/"))
	if sub == "" {
		return dir
	}
	if up, ok := strings.CutSuffix(dir, string(filepath.Separator)+sub); ok && up != "" {
		return up
	}
	return root
}

// mainTree is where the worktrees of the repository are kept, whichever of its trees we are in: a worktree inside a worktree would go with
// it.
func (r *Repo) mainTree(ctx context.Context, gitDir string) string {
	if same(gitDir, r.Common) {
		return r.Root
	}
	if filepath.Base(r.Common) == ".git" {
		if info, err := os.Stat(filepath.Dir(r.Common)); err == nil && info.IsDir() {
			if bare, _ := line(ctx, r.Common, "config", "--type=bool", "core.bare"); bare != "true" {
				return filepath.Dir(r.Common)
			}
		}
	}
	// The repository of a submodule says itself where its tree is.
	if tree, err := line(ctx, r.Common, "config", "core.worktree"); err == nil && tree != "" {
		if !filepath.IsAbs(tree) {
			tree = filepath.Join(r.Common, tree)
		}
		return filepath.Clean(tree)
	}
	return r.Root // a bare repository with trees beside it
}

// A beginning is the commit that a worktree starts from.
type beginning struct {
	commit, branch string
	notes          []string
}

// start finds the commit to begin from, or says why there is none.
func (r *Repo) start(ctx context.Context, o Options) (beginning, error) {
	if r.Head == "" {
		return beginning{}, fmt.Errorf("the repository %s has no commit yet, and a worktree is a copy of one. Commit something first (git commit --allow-empty -m start is enough)", r.Root)
	}
	if r.Branch == "" {
		return beginning{}, fmt.Errorf("HEAD of %s is detached at %s, so there is no branch that work could be merged back to. Make one (git switch -c NAME) or go to one (git switch -)", r.Root, short(r.Head))
	}
	here := beginning{commit: r.Head, branch: r.Branch}
	if !o.Fresh {
		return here, nil
	}
	fresh, err := r.remoteStart(ctx, o.Fetch)
	if err != nil {
		if ctx.Err() != nil {
			return beginning{}, err
		}
		here.notes = []string{fmt.Sprintf("It begins at HEAD (%s), because the remote's main branch is not to be had: %v.", r.Branch, err)}
		return here, nil
	}
	return fresh, nil
}

// remoteStart is the main branch of the remote.
func (r *Repo) remoteStart(ctx context.Context, fetch bool) (beginning, error) {
	ref := ""
	if head, err := line(ctx, r.Root, "symbolic-ref", "-q", "refs/remotes/origin/HEAD"); err == nil {
		ref = head
	} else {
		for _, name := range []string{"main", "master", "trunk"} {
			if _, err := line(ctx, r.Root, "rev-parse", "-q", "--verify", "refs/remotes/origin/"+name); err == nil {
				ref = "refs/remotes/origin/" + name
				break
			}
		}
	}
	if ref == "" {
		return beginning{}, errors.New("there is no remote called origin with a main branch")
	}
	branch := strings.TrimPrefix(ref, "refs/remotes/origin/")
	var b beginning
	if fetch {
		brief, cancel := context.WithTimeout(ctx, 20*time.Second)
		_, err := git(brief, r.Root, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "origin", "+refs/heads/"+branch+":"+ref)
		cancel()
		if err != nil {
			b.notes = []string{fmt.Sprintf("The remote could not be asked for its newest state (%v), so it begins at what was known of %s.", err, branch)}
		}
	}
	commit, err := line(ctx, r.Root, "rev-parse", "-q", "--verify", ref+"^{commit}")
	if err != nil {
		return beginning{}, err
	}
	b.commit, b.branch = commit, "origin/"+branch
	return b, nil
}

// uncommitted counts what the tree has and its last commit does not. It is for a warning, so that failing counts as none.
func (r *Repo) uncommitted(ctx context.Context) int {
	out, _, err := invocation{dir: r.Root, args: []string{"status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"}}.run(ctx)
	if err != nil {
		return 0
	}
	return len(fields(out))
}

// submoduleNotes says which submodules are empty in a new tree.
func (r *Repo) submoduleNotes(ctx context.Context, path string) []string {
	if _, err := os.Stat(filepath.Join(path, ".gitmodules")); err != nil {
		return nil
	}
	out, err := git(ctx, path, "config", "-z", "-f", ".gitmodules", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range fields(out) {
		if _, sub, ok := strings.Cut(f, "\n"); ok {
			names = append(names, sub)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The submodules (%s) are empty in it; git submodule update --init PATH, run inside it, fetches one.", strings.Join(names, ", "))}
}
