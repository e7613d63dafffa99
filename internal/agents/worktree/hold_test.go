package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/guard"
	"gofer/internal/proc"
	"gofer/internal/tool"
	"gofer/internal/tool/files"
	"gofer/internal/tool/search"
	"gofer/internal/tool/shell"
)

// An agent with real tools, in a worktree, behind a gate that lets everything pass: only the hold is between it and the parent.
type held4test struct {
	repo   string
	tree   *Tree
	tools  *tool.Set
	handle tool.Handler
}

func newHeld(t *testing.T, o Options) held4test {
	t.Helper()
	repo := newRepo(t)
	return newHeldIn(t, repo, o)
}

func newHeldIn(t *testing.T, repo string, o Options) held4test {
	t.Helper()
	tree := create(t, repo, o)
	runner := proc.New(proc.Self())
	t.Cleanup(func() { runner.Close() })
	dir := shell.NewCwd(tree.Path)
	list := files.Tools(files.Env{Cwd: dir.Cwd})
	list = append(list, search.Tools(search.Env{Cwd: dir.Cwd})...)
	list = append(list, shell.Tools(shell.Env{Runner: runner, Dir: dir, OutputDir: t.TempDir()})...)
	hold := tree.Hold()
	policy := func() guard.Policy {
		return hold.Policy(guard.Policy{Mode: guard.Bypass, Dir: repo, Disk: guard.Real{}, Rules: guard.Compile(nil, guard.Anchors{Dir: repo})})
	}
	return held4test{repo, tree, tool.NewSet(list...), tool.Chain(tool.Run, hold.Middleware(dir.Cwd), guard.Gate(guard.Options{Policy: policy, Dir: dir.Cwd}))}
}

func (h held4test) call(t *testing.T, name string, input map[string]any) (tool.Result, error) {
	t.Helper()
	found, err := h.tools.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(input)
	c, err := found.Bind("1", raw)
	if err != nil {
		t.Fatal(err)
	}
	return h.handle(t.Context(), c)
}

func TestParentStaysClean(t *testing.T) {
	t.Parallel()
	h := newHeld(t, Options{Name: "x"})
	other := create(t, h.repo, Options{Name: "other"})
	a := filepath.Join(h.repo, "a.txt")
	head := run(t, h.repo, "rev-parse", "HEAD")
	refused := func(name string, input map[string]any, says ...string) {
		t.Helper()
		r, err := h.call(t, name, input)
		if err == nil {
			t.Errorf("%s %v was run: %s", name, input, r.Text())
			return
		}
		if !errors.Is(err, tool.ErrDenied) {
			t.Errorf("%s %v: %v is no refusal", name, input, err)
		}
		contains(t, name, err.Error(), says...)
	}
	own := filepath.Join(h.tree.Path, "a.txt")
	refused("Read", map[string]any{"file_path": a}, "Use "+own)
	refused("Write", map[string]any{"file_path": filepath.Join(h.repo, "new.txt"), "content": "x"}, filepath.Join(h.tree.Path, "new.txt"))
	refused("Edit", map[string]any{"file_path": a, "old_string": "one", "new_string": "two"}, "Use "+own)
	refused("Write", map[string]any{"file_path": "../../../new.txt", "content": "x"}, filepath.Join(h.tree.Path, "new.txt"))
	refused("Write", map[string]any{"file_path": filepath.Join(other.Path, "a.txt"), "content": "x"}, own)
	refused("Write", map[string]any{"file_path": filepath.Join(h.repo, ".git", "hooks", "pre-commit"), "content": "x"}, "not yours")
	refused("Grep", map[string]any{"pattern": "one", "path": h.repo}, h.tree.Path)
	if err := os.Symlink(h.repo, filepath.Join(h.tree.Path, "out")); err != nil {
		t.Fatal(err)
	}
	refused("Write", map[string]any{"file_path": filepath.Join(h.tree.Path, "out", "new.txt"), "content": "x"}, "leads to")
	for _, command := range []string{
		"sed -i s/one/two/ " + a,
		"sed -i s/one/two/ '" + a + "'",
		"sed -i s/one/two/ ../../../a.txt",
		"cd .. && cd ../.. && sed -i s/one/two/ a.txt",
		"cd " + h.repo + " && touch new.txt",
		"(cd ../../.. ; touch new.txt)",
		"echo x > ../../../new.txt",
		"echo x >> " + a,
		"git -C " + h.repo + " commit -q --allow-empty -m leak",
		"git -C ../../.. commit -q --allow-empty -m leak",
		"git -C../../.. commit -q --allow-empty -m leak",
		"git --git-dir=../../../.git --work-tree=../../.. commit -q --allow-empty -m leak",
		"GIT_DIR=../../../.git git commit -q --allow-empty -m leak",
		"env GIT_DIR=" + h.repo + "/.git git commit -q --allow-empty -m leak",
		"git update-ref refs/heads/main worktree-x",
		"git worktree remove --force " + other.Path,
		"git worktree prune",
		`python3 -c "open('` + a + `','w')"`,
		"P=" + h.repo + "; sed -i s/one/two/ $P/a.txt",
		"bash -c 'touch " + h.repo + "/new.txt'",
		"xargs touch <<< " + h.repo + "/new.txt",
		"make -C ../../.. all",
		"find ../../.. -name a.txt -delete",
		"cp a.txt ../../../copied.txt",
		"tee ../../../new.txt < a.txt",
		"touch ../other/new.txt",
		"rm -rf " + h.repo + "/sub",
		"cat <<EOF > " + h.repo + "/new.txt\nx\nEOF",
		"touch out/new.txt",
		"ls " + h.repo + "//sub",
	} {
		refused("Bash", map[string]any{"command": command})
	}
	if got := run(t, h.repo, "status", "--porcelain"); got != "" {
		t.Errorf("the parent is not clean: %s", got)
	}
	if got := run(t, h.repo, "rev-parse", "HEAD"); got != head {
		t.Errorf("the parent has commits: %s", run(t, h.repo, "log", "--oneline"))
	}
	if got := run(t, other.Path, "status", "--porcelain"); got != "" {
		t.Errorf("the other worktree is not clean: %s", got)
	}
}

func TestWorkInsideIsFree(t *testing.T) {
	t.Parallel()
	h := newHeld(t, Options{Name: "x"})
	elsewhere := t.TempDir()
	done := func(name string, input map[string]any) string {
		t.Helper()
		r, err := h.call(t, name, input)
		if err != nil || r.IsError {
			t.Errorf("%s %v: %v %s", name, input, err, r.Text())
		}
		return r.Text()
	}
	a := filepath.Join(h.tree.Path, "a.txt")
	done("Read", map[string]any{"file_path": a})
	done("Edit", map[string]any{"file_path": "a.txt", "old_string": "one", "new_string": "1"})
	done("Write", map[string]any{"file_path": filepath.Join(elsewhere, "note.txt"), "content": "x"})
	contains(t, "Grep", done("Grep", map[string]any{"pattern": "two", "output_mode": "files_with_matches"}), "sub/b.txt")
	for _, command := range []string{
		"sed -i s/1/uno/ " + a,
		"cd sub && cat ../a.txt",
		"cd " + h.tree.Path + "/sub && git status --short",
		"git add --all . && git commit -q -m 'work: see a/../b and " + h.repo + "2'",
		"git log --oneline main..HEAD",
		"git diff main...HEAD --stat",
		"git worktree list",
		"ls ./... 2>/dev/null; true",
		"cp a.txt " + elsewhere + "/a.txt && cat " + elsewhere + "/a.txt",
		"for f in *.txt; do wc -l $f; done",
	} {
		done("Bash", map[string]any{"command": command})
	}
	if o := finish(t, h.tree); o.Removed || o.Changes.Commits != 1 || len(o.Changes.Uncommitted) != 0 {
		t.Errorf("%+v", o)
	}
}

func TestSharedFoldersAreReadOnly(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	put(t, filepath.Join(repo, "node_modules", "x.js"), "shared")
	h := newHeldIn(t, repo, Options{Name: "x", Links: []string{"node_modules"}})
	file := filepath.Join(h.tree.Path, "node_modules", "x.js")
	if r, err := h.call(t, "Read", map[string]any{"file_path": file}); err != nil || !strings.Contains(r.Text(), "shared") {
		t.Errorf("%v", err)
	}
	if _, err := h.call(t, "Bash", map[string]any{"command": "cat node_modules/x.js"}); err != nil {
		t.Error(err)
	}
	if _, err := h.call(t, "Edit", map[string]any{"file_path": file, "old_string": "shared", "new_string": "mine"}); err == nil {
		t.Error("a shared file was changed")
	}
	if _, err := h.call(t, "Bash", map[string]any{"command": "echo mine > node_modules/x.js"}); err == nil {
		t.Error("a shared file was changed by a command")
	}
}

// Rules about files of the project hold for their copies.
func TestRulesMoveIntoTheTree(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x"})
	hold := tree.Hold()
	var rules []guard.Rule
	for _, r := range []struct {
		text, root string
		b          guard.Behavior
	}{
		{"Read(/secret/**)", repo, guard.Deny}, {"Edit(/" + repo + "/locked/**)", "", guard.Deny}, {"Read(.env)", repo, guard.Deny}, {"Edit(conf/**)", "", guard.Deny},
		{"Edit(/src/**)", repo, guard.Allow}, {"Bash(" + repo + "/run.sh:*)", "", guard.Allow}, {"Bash(" + repo + "/wipe.sh:*)", "", guard.Deny},
	} {
		rule, err := guard.ParseRule(r.text)
		if err != nil {
			t.Fatal(err)
		}
		rule.Behavior, rule.Root, rule.Source = r.b, r.root, guard.FromUser
		rules = append(rules, rule)
	}
	project := guard.Policy{Dir: repo, WorkDirs: []string{repo}, Rules: guard.Compile(rules, guard.Anchors{Dir: repo})}
	above := project
	project.Parent = &above
	p := hold.Policy(project)
	in := func(path string) string { return filepath.Join(tree.Path, path) }
	for _, c := range []struct {
		verb   tool.Verb
		target string
		want   guard.Behavior
	}{
		{tool.Read, in("secret/key"), guard.Deny},
		{tool.Read, in("sub/.env"), guard.Deny},
		{tool.Read, in("a.txt"), guard.Allow},
		{tool.Read, filepath.Join(repo, "a.txt"), guard.Ask},
		{tool.Write, in("locked/x"), guard.Deny},
		{tool.Write, in("conf/x"), guard.Deny},
		{tool.Write, in("src/x.go"), guard.Allow},
		{tool.Write, in("a.txt"), guard.Ask},
		{tool.Write, filepath.Join(repo, "a.txt"), guard.Ask},
		{tool.Exec, in("wipe.sh") + " all", guard.Deny},
		{tool.Exec, in("run.sh"), guard.Ask},
		{tool.Exec, "cat a.txt", guard.Allow},
		{tool.Exec, "cat secret/key", guard.Deny},
	} {
		name := map[tool.Verb]string{tool.Read: "Read", tool.Write: "Write", tool.Exec: "Bash"}[c.verb]
		d := guard.Decide(p, guard.Facts{Tool: name, Access: []tool.Access{{Verb: c.verb, Target: c.target}}})
		if d.Behavior != c.want {
			t.Errorf("%s %s: %v (%s), want %v", c.verb, c.target, d.Behavior, d.Reason, c.want)
		}
	}
	live := guard.NewLive(hold.Base(guard.Base{Policy: guard.Policy{Dir: repo, Mode: guard.AcceptEdits}, Rules: rules, Dirs: []string{filepath.Join(repo, "sub"), "/elsewhere"}}))
	for target, want := range map[string]guard.Behavior{in("a.txt"): guard.Allow, in("locked/x"): guard.Deny, filepath.Join(repo, "sub", "b.txt"): guard.Ask, "/elsewhere/x": guard.Allow} {
		d := guard.Decide(live.Policy(), guard.Facts{Tool: "Write", Access: []tool.Access{{Verb: tool.Write, Target: target}}})
		if d.Behavior != want {
			t.Errorf("live %s: %v (%s), want %v", target, d.Behavior, d.Reason, want)
		}
	}
}

// An agent inside cannot send another one outside.
func TestChildrenStayInside(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x"})
	type order struct {
		Cwd string `json:"cwd,omitempty"`
	}
	agent := tool.Define(tool.Spec[order]{Name: "Agent", Run: func(context.Context, order, tool.Call) (tool.Result, error) { return tool.Text("started"), nil }})
	handle := tool.Chain(tool.Run, tree.Hold().Middleware(func() string { return tree.Path }))
	for cwd, ok := range map[string]bool{"": true, "sub": true, filepath.Join(tree.Path, "sub"): true, repo: false, "../../..": false, filepath.Join(repo, "sub"): false} {
		raw, _ := json.Marshal(order{cwd})
		c, err := agent.Bind("1", raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := handle(t.Context(), c); (err == nil) != ok {
			t.Errorf("cwd %q: %v", cwd, err)
		}
	}
}
