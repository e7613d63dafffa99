//go:build unix

package hook

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofer/internal/tool"
)

// Hooks that misbehave. Each is reported, none holds the call up for long, and none gives a permission: the call passes on to
// the gate without a verdict. With onFailure "block" the same hooks refuse it.
func TestBadHooks(t *testing.T) {
	t.Parallel()
	bad := map[string]struct {
		hook Hook
		want string // in the warning
	}{
		"hangs":                        {Hook{Type: "command", Command: "sleep 600", Timeout: 0.3}, "did not end within 300ms"},
		"hangs and ignores TERM":       {Hook{Type: "command", Command: "trap '' TERM; while :; do sleep 600; done", Timeout: 0.3}, "did not end within"},
		"hangs in a child":             {Hook{Type: "command", Command: "bash -c 'sleep 600' & wait", Timeout: 0.3}, "did not end within"},
		"reads for ever":               {Hook{Type: "command", Command: "cat > /dev/null; sleep 600", Timeout: 0.3}, "did not end within"},
		"prints slowly for ever":       {Hook{Type: "command", Command: "while :; do echo x; sleep 0.05; done", Timeout: 0.3}, "did not end within"},
		"floods stdout with a GB":      {command("head -c 1073741824 /dev/zero; touch survived"), "more than 64 MB"},
		"floods stderr with a GB":      {command("head -c 1073741824 /dev/zero >&2; touch survived"), "more than 64 MB"},
		"floods from a child":          {command("(head -c 1073741824 /dev/zero; touch survived) & wait"), "more than 64 MB"},
		"half JSON":                    {command(`printf '{"hookSpecificOutput":{"permissionDecision":"allow"'`), "broken JSON"},
		"two JSON objects":             {command(`echo '{"decision":"approve"}'; echo '{"decision":"approve"}'`), "broken JSON"},
		"JSON of wrong types":          {command(`echo '{"decision":"approve","continue":"yes"}'`), `"continue"`},
		"an unknown decision":          {command(`echo '{"hookSpecificOutput":{"permissionDecision":"alow"}}'`), "alow"},
		"the answer to another event":  {command(`echo '{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"allow"}}'`), "Stop"},
		"JSON 20,000 levels deep":      {command(`printf '{"a":%s' "$(head -c 20000 /dev/zero | tr '\0' '[')"`), "broken JSON"},
		"JSON larger than the cap":     {command(`printf '{"decision":"approve","reason":"'; head -c 2000000 /dev/zero | tr '\0' a; printf '"}'`), "only the first"},
		"a missing program":            {command("/no/such/program"), "not found"},
		"a missing program, exec form": {Hook{Type: "command", Command: "/no/such/program", Args: []string{}}, "could not be started"},
		"a folder":                     {command("/"), "cannot be executed"},
		"NUL in the command":           {Hook{Type: "command", Command: "echo \x00", Args: []string{}}, "could not be started"},
		"no command":                   {command("  "), "no command"},
		"killed by a signal":           {command("kill -KILL $$"), "SIGKILL"},
		"crashes":                      {command("kill -SEGV $$"), "SIGSEGV"},
		"exit 1":                       {command("echo broken >&2; exit 1"), "exit code 1: broken"},
		"exit 255, words in bad UTF-8": {command(`printf '\377\376' >&2; exit 255`), "exit code 255"},
		"an unknown shell":             {Hook{Type: "command", Command: "echo", Shell: "fish"}, "fish"},
		"an unknown type":              {Hook{Type: "carrier-pigeon", Command: "coo"}, "carrier-pigeon"},
		"a condition nobody evaluates": {Hook{Type: "command", Command: "true", If: "Touch(x)"}, "condition"},
	}
	for name, row := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, block := range []bool{false, true} {
				h := row.hook
				if block {
					h.OnFailure = "block"
				}
				r := newRig(t, Options{}, on(PreToolUse, "", h))
				begun := time.Now()
				o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
				if took := time.Since(begun); took > 30*time.Second {
					t.Errorf("it took %s", took)
				}
				if !strings.Contains(r.warnings(), row.want) {
					t.Errorf("reported: %q, want %q", r.warnings(), row.want)
				}
				if len(r.responses()) != 1 || r.responses()[0].Outcome == "success" {
					t.Errorf("responses: %+v", r.responses())
				}
				if o.Block != block || !block && o.Verdict != tool.VerdictNone || o.Input != nil {
					t.Errorf("it decided something: %+v", o)
				}
				if r.exists("survived") {
					t.Error("it was not stopped")
				}
			}
		})
	}
}

// Hooks that are odd but not wrong: nothing is reported, and nothing waits.
func TestOddHooks(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]Hook{
		"forks and leaves, pipes open":  command("sleep 600 & echo $! > pid; exit 0"),
		"leaves a flood behind":         command("yes & echo $! > pid; exit 0"),
		"closes its input at once":      command("exec 0<&-; exit 0"),
		"ignores its input":             command("exit 0"),
		"closes its outputs at once":    command("exec 1>&- 2>&-; exit 0"),
		"prints bad UTF-8":              command(`printf '\377\376\000'`),
		"prints nothing but line ends":  command(`printf '\n\n\n'`),
		"prints a list":                 command(`printf '[1,2'`),
		"prints 2 MB of words":          command(`head -c 2000000 /dev/zero | tr '\0' a`),
		"an empty object":               printJSON(`{}`),
		"null everywhere":               printJSON(`{"continue":null,"hookSpecificOutput":null,"decision":""}`),
		"its folder is gone, it stays":  command("cd / && true"),
		"is suspended and goes on":      command("(sleep 0.1; kill -CONT $$) & kill -STOP $$; exit 0"),
		"leaves a child with its stdin": command("cat > /dev/null & echo $! > pid; exit 0"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Options{}, on(PreToolUse, "", h))
			// More input than a pipe takes, so that a hook that does not read it would block a careless writer.
			size := 200 << 10
			if strings.Contains(name, "input") {
				size = 10 << 20
			}
			fields := map[string]string{"path": strings.Repeat("x", size)}
			begun := time.Now()
			o := r.engine.Run(t.Context(), Input{Event: PreToolUse, Fields: fields})
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if o.Block || o.Stop || o.Verdict != tool.VerdictNone || len(o.Failures) > 0 {
				t.Errorf("got %+v", o)
			}
			if r.exists("pid") {
				pid, _ := strconv.Atoi(strings.TrimSpace(r.read("pid")))
				syscall.Kill(pid, syscall.SIGKILL) // what it left is ours to clean up
			}
		})
	}
}

func TestAFloodStaysSmallInMemory(t *testing.T) {
	r := newRig(t, Options{}, on(PreToolUse, "", command("head -c 1073741824 /dev/zero")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d MB were allocated", grown>>20)
	}
}

// All processes of a hook that is stopped are gone.
func TestNothingOfAStoppedHookLives(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "", Hook{Type: "command", Timeout: 0.5, Command: `
		trap '' TERM
		(trap '' TERM; echo $BASHPID > child; exec sleep 600) &
		echo $$ > main
		while :; do sleep 600; done`}))
	r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
	for _, name := range []string{"main", "child"} {
		pid, err := strconv.Atoi(strings.TrimSpace(r.read(name)))
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return gone(pid) })
	}
}

// gone reports whether the process has ended. One that nobody has waited for yet counts as ended.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// A shell ends with 2 when it cannot read its script: such a hook refuses, and its reason shows why.
func TestAScriptThatCannotBeReadRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "", command("if then (")))
	if o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`)); !o.Block || !strings.Contains(o.Reason, "syntax error") {
		t.Errorf("got %+v", o)
	}
}

// A model that removes its folder does not get rid of the hooks.
func TestHooksRunWhenTheFolderIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "", command("exit 2")))
	e := r.engine.As(func() Facts {
		return Facts{Cwd: filepath.Join(r.dir, "gone"), ProjectDir: filepath.Join(r.dir, "gone too")}
	})
	if o := e.PreToolUse(t.Context(), r.call(`{"path":"x"}`)); !o.Block {
		t.Errorf("got %+v, %s", o, r.warnings())
	}
}
