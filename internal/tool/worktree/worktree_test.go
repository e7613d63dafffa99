package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gofer/internal/tool"
)

// mover notes what it is told to do.
type mover struct {
	told []string
	err  error
}

func (m *mover) Enter(_ context.Context, name, path string) (Moved, error) {
	m.told = append(m.told, fmt.Sprintf("enter %q %q", name, path))
	return Moved{Dir: "/w", Path: "/w", Branch: "worktree-w", Message: "You are in /w."}, m.err
}

func (m *mover) Exit(_ context.Context, remove, discard bool) (Moved, error) {
	m.told = append(m.told, fmt.Sprintf("exit %v %v", remove, discard))
	return Moved{Dir: "/repo", Path: "/w", Message: "You are back."}, m.err
}

func TestTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, input string
		told        string      // what the mover is told; "": the call is refused before
		traits      tool.Traits // of a call that is not
	}{
		{EnterName, `{}`, `enter "" ""`, tool.Traits{ReadOnly: true}},
		{EnterName, `{"name":"fix"}`, `enter "fix" ""`, tool.Traits{ReadOnly: true}},
		{EnterName, `{"path":"/w"}`, `enter "" "/w"`, tool.Traits{ReadOnly: true}},
		{EnterName, `{"name":"fix","path":"/w"}`, "", tool.Traits{}},
		{ExitName, `{"action":"keep"}`, "exit false false", tool.Traits{ReadOnly: true}},
		{ExitName, `{"action":"remove"}`, "exit true false", tool.Traits{ReadOnly: true}},
		{ExitName, `{"action":"remove","discard_changes":true}`, "exit true true", tool.Traits{Destructive: true}},
		{ExitName, `{"action":"keep","discard_changes":true}`, "", tool.Traits{}},
		{ExitName, `{}`, "", tool.Traits{}},
		{ExitName, `{"action":"burn"}`, "", tool.Traits{}},
	} {
		m := &mover{}
		def, err := tool.NewSet(Tools(m)...).Find(c.tool)
		if err != nil {
			t.Fatal(err)
		}
		call, err := def.Bind("1", json.RawMessage(c.input))
		if err == nil {
			err = call.Check(t.Context())
		}
		if c.told == "" {
			if err == nil {
				t.Errorf("%s %s was taken", c.tool, c.input)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.input, err)
			continue
		}
		if call.Traits != c.traits {
			t.Errorf("%s %s: %+v", c.tool, c.input, call.Traits)
		}
		if r, err := tool.Run(t.Context(), call); err != nil || !strings.HasPrefix(r.Text(), "You are") {
			t.Errorf("%s %s: %q, %v", c.tool, c.input, r.Text(), err)
		}
		if got := strings.Join(m.told, ", "); got != c.told {
			t.Errorf("%s %s: told %s, want %s", c.tool, c.input, got, c.told)
		}
		m.err = errors.New("no")
		if _, err := tool.Run(t.Context(), call); !errors.Is(err, m.err) {
			t.Errorf("%s %s: %v", c.tool, c.input, err)
		}
	}
}
