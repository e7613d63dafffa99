package guard

import (
	"testing"

	"gofer/internal/tool"
)

func TestFilesOfAWorktreeAreProtectedLikeThoseOfAProject(t *testing.T) {
	t.Parallel()
	p := Policy{Mode: AcceptEdits, Dir: "/repo", WorkDirs: []string{"/repo"}, Rules: Compile(nil, Anchors{Dir: "/repo"})}
	for file, want := range map[string]Behavior{
		"/repo/.claude/worktrees/fix/src/a.go":              Allow,
		"/repo/.claude/worktrees/fix":                       Ask,
		"/repo/.claude/worktrees/fix/.git":                  Ask,
		"/repo/.claude/worktrees/fix/.claude/settings.json": Ask,
		"/repo/.claude/worktrees/../settings.json":          Ask,
		"/repo/.claude/worktrees/a/../../settings.json":     Ask,
		"/repo/.claude/settings.json":                       Ask,
		"/repo/.claude/hooks/worktrees/x/y":                 Ask,
	} {
		d := Decide(p, Facts{Tool: "Write", Access: []tool.Access{{Verb: tool.Write, Target: file}}})
		if d.Behavior != want {
			t.Errorf("%s: %v (%s), want %v", file, d.Behavior, d.Reason, want)
		}
	}
}
