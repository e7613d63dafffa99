package hook

import "testing"

// Hooks of a skill run while it is active: in all agents if the main one uses it, else only in the agent that does.
func TestAttachedHooksRunForAWhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		agent     string
		main, sub int
	}{{"", 1, 1}, {"a1", 0, 1}, {"other", 0, 0}} {
		r := newRig(t, Options{})
		sub := r.engine.As(func() Facts { return Facts{Cwd: r.dir, AgentID: "a1"} })
		remove := r.engine.Attach(c.agent, []Group{on(UserPromptSubmit, "", command("true"))})
		if got := [2]int{r.engine.UserPromptSubmit(t.Context(), "x").Ran, sub.UserPromptSubmit(t.Context(), "x").Ran}; got != [2]int{c.main, c.sub} {
			t.Errorf("attached to %q: %v hooks ran", c.agent, got)
		}
		if r.engine.Has(UserPromptSubmit) != (c.main > 0) {
			t.Errorf("attached to %q: Has is wrong", c.agent)
		}
		remove()
		if r.engine.UserPromptSubmit(t.Context(), "x").Ran+sub.UserPromptSubmit(t.Context(), "x").Ran != 0 {
			t.Errorf("attached to %q: it runs after its end", c.agent)
		}
	}
}
