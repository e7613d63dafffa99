package worktree

import (
	"encoding/json"
	"testing"

	"gofer/internal/tool"
)

// What the tools do is shown with the whole program, in testdata/script/worktree.txtar. Here is what decides who is asked: the traits of a call, and
// what is refused before anybody is.
func TestCalls(t *testing.T) {
	t.Parallel()
	asked, free := tool.Traits{Destructive: true}, tool.Traits{ReadOnly: true}
	set := tool.NewSet(Tools(nil)...)
	for _, c := range []struct {
		tool, input string
		want        *tool.Traits // nil: the call is refused
	}{
		{EnterName, `{}`, &free},
		{EnterName, `{"name":"fix"}`, &free},
		{EnterName, `{"path":"/w"}`, &free},
		{EnterName, `{"name":"fix","path":"/w"}`, nil},
		{ExitName, `{"action":"keep"}`, &free},
		{ExitName, `{"action":"remove"}`, &free},
		{ExitName, `{"action":"remove","discard_changes":true}`, &asked},
		{ExitName, `{"action":"keep","discard_changes":true}`, nil},
		{ExitName, `{}`, nil},
		{ExitName, `{"action":"burn"}`, nil},
	} {
		def, err := set.Find(c.tool)
		if err != nil {
			t.Fatal(err)
		}
		call, err := def.Bind("1", json.RawMessage(c.input))
		if err == nil {
			err = call.Check(t.Context())
		}
		switch {
		case c.want == nil && err == nil:
			t.Errorf("%s %s was taken", c.tool, c.input)
		case c.want != nil && err != nil:
			t.Errorf("%s %s: %v", c.tool, c.input, err)
		case c.want != nil && call.Traits != *c.want:
			t.Errorf("%s %s: %+v", c.tool, c.input, call.Traits)
		}
	}
}
