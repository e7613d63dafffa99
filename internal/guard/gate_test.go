package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/tool"
)

type bashIn struct {
	Command string `json:"command"`
}

// bashTool runs commands with the real shell.
func bashTool(dir string) *tool.Tool {
	return tool.Define(tool.Spec[bashIn]{
		Name:   "Bash",
		Access: func(in bashIn) []tool.Access { return []tool.Access{{Verb: tool.Exec, Target: in.Command}} },
		Run: func(ctx context.Context, in bashIn, _ tool.Call) (tool.Result, error) {
			cmd := exec.CommandContext(ctx, "bash", "-c", in.Command)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			return tool.Text(string(out)), err
		},
	})
}

type pathIn struct {
	Path string `json:"file_path"`
}

func fileTool(name string, verb tool.Verb, ran *[]string) *tool.Tool {
	return tool.Define(tool.Spec[pathIn]{
		Name:   name,
		Traits: func(pathIn) tool.Traits { return tool.Traits{ReadOnly: verb == tool.Read} },
		Access: func(in pathIn) []tool.Access { return []tool.Access{{Verb: verb, Target: in.Path}} },
		Run: func(_ context.Context, in pathIn, _ tool.Call) (tool.Result, error) {
			*ran = append(*ran, in.Path)
			return tool.Text("done"), nil
		},
	})
}

func bind(t *testing.T, tl *tool.Tool, id string, input any) tool.Call {
	t.Helper()
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tl.Bind(id, data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// realPolicy is a policy for a folder that exists.
func realPolicy(t *testing.T, dir string, mode Mode, rules ...string) Policy {
	p := testPolicy(t, mode, rules...)
	p.Dir, p.Disk = dir, Real{}
	p.WorkDirs = WorkDirs(p.Disk, dir)
	p.Rules = Compile(p.Rules.Rules(), Anchors{Dir: dir, Home: p.Home})
	return p
}

func gitRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNothingRidesOnAnAllowedCommand(t *testing.T) {
	t.Parallel()
	dir := gitRepository(t)
	p := realPolicy(t, dir, Default, "allow Bash(git log:*)")
	ledger := NewLedger()
	run := tool.Chain(tool.Run, Gate(Options{Policy: func() Policy { return p }, Ledger: ledger}))
	bash := bashTool(dir)
	commands := []string{
		"git log; touch P", "git log && touch P", "git log || touch P", "false || touch P; git log", "git log | touch P", "git log |& touch P",
		"git log & touch P", "git log\ntouch P", "git log $(touch P)", "git log `touch P`", "git log \"$(touch P)\"", "git log <(touch P)", "git log > >(touch P)",
		"git log <<X\n$(touch P)\nX", "git log <<< \"$(touch P)\"", "f() { touch P; }; git log; f", "git() { touch P; }; git log", "bash -c 'git log; touch P'", "bash -c \"touch P\" # git log",
		"eval 'git log; touch P'", "git log | xargs touch P", "echo P | xargs touch; git log", "find . -maxdepth 0 -exec touch P \\; ; git log", "env git log; env touch P", "env -i touch P",
		"PAGER='touch P' git log", "GIT_PAGER='touch P' git -p log", "git -c core.pager='touch P' -p log", "git -c alias.log='!touch P' log", "git log > P", "git log >> P", "git log >| P", "git log &> P", "git log 2> P",
		"git log --output=P", "git log --output P", "git log --outpu=P", "if git log; then touch P; fi", "while touch P; do git log; break; done", "for i in 1; do git log; touch P; done",
		"case x in x) git log; touch P;; esac", "{ git log; touch P; }", "(git log; touch P)", "git log && coproc touch P", "x=$(touch P) git log", "x='touch P'; git log; $x", "git log; \\touch P", "git log; 't'ouch P",
		"git log; $'\\x74ouch' P", "git log; /usr/bin/touch P", "git log; timeout 5 touch P", "time touch P; git log", "git log; echo $((a[$(touch P)]))", "git log; [[ $(touch P) ]]", "git log; : > P", "git log; cp .git/HEAD P",
		"git log; tee P", "git log | tee P", "git log; python3 -c 'open(\"P\",\"w\")'", "alias git='touch P'\ngit log", "trap 'touch P' EXIT; git log", "git log; sed -n 'w P' .git/HEAD", "git log | awk '{print > \"P\"}'", "git log | sort -o P",
		"git log --ext-diff -p; GIT_EXTERNAL_DIFF='touch P' git log -p --ext-diff", "PATH=.:$PATH git log; touch P", "command touch P; git log", "exec touch P; git log", "source <(echo touch P); git log", "git log; . /dev/stdin <<< 'touch P'",
		"echo 'touch P' | bash; git log", "bash <<'X'\ntouch P\nX", "git log; nohup touch P", "git log; parallel touch ::: P", "git log # harmless\ntouch P",
	}
	for i, text := range commands {
		command := strings.ReplaceAll(text, "P", fmt.Sprintf("P%d", i))
		if strings.Contains(text, "PAGER") || strings.Contains(text, "PATH") {
			command = strings.ReplaceAll(strings.ReplaceAll(command, fmt.Sprintf("P%dAGER", i), "PAGER"), fmt.Sprintf("P%dATH", i), "PATH")
		}
		if _, err := run(t.Context(), bind(t, bash, fmt.Sprint(i), bashIn{command})); !errors.Is(err, tool.ErrDenied) {
			t.Errorf("%s: was let through (%v)", command, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "P*")); len(left) > 0 {
		t.Errorf("files were written: %v", left)
	}
	if got := len(ledger.Denials()); got != len(commands) || len(commands) < 40 {
		t.Errorf("%d denials for %d commands", got, len(commands))
	}
	for _, command := range []string{"cd sub && git log | head -5 > /dev/null", "git log", "git log --oneline | wc -l", "git log 2>&1 | tail -3"} {
		if _, err := run(t.Context(), bind(t, bash, "ok", bashIn{command})); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestDeniedFileIsNotReadBySymlinksGlobsOrFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	write(".env", "canary")
	write(".env.example", "example")
	write("src/a.go", "package a")
	write("deep/er/secret.txt", "canary")
	link(".env", "innocent.txt")
	link("innocent.txt", "twice.txt")
	link(".", "here")
	link(outside, "away")
	link("../../../../../../../../../../etc/passwd", "up")
	p := realPolicy(t, dir, Default, "deny Read(./.env)", "deny Read(deep/er/**)")
	decide := func(call string) Behavior { return Decide(p, tableFacts(p, call)).Behavior }
	for call, want := range map[string]Behavior{
		"Read(.env)": Deny, "Read(innocent.txt)": Deny, "Read(twice.txt)": Deny, "Read(here/.env)": Deny, "Read(here/here/innocent.txt)": Deny, "Read(.env.example)": Allow,
		"Read(away/x)": Ask, "Read(up)": Ask, "Read(here/src/a.go)": Allow, "cat innocent.txt": Deny, "cat twice.txt": Deny, "cat *.txt": Deny, "cat in*": Deny, "cat here/.env": Deny,
		"cat here/../" + filepath.Base(dir) + "/.env": Deny, "cat away/../x": Ask, "cat src/../.env": Deny, "python3 -c 'open(\"innocent.txt\")'": Deny, "./w innocent.txt": Deny,
		"grep -r canary .": Deny, "grep -r canary src": Allow, "grep -rn canary src deep": Deny, "rg canary": Deny, "rg canary src": Allow, "cp -r . /tmp/x": Deny, "tar cf - .": Deny,
		"find . -type f | xargs cat": Deny, "find src -type f | xargs cat": Allow, "find . -name '*.go' -exec cat {} +": Allow, "cat .env.example": Allow, "cat src/*.go": Allow, "cat up": Ask, "cat u*": Ask, "ls away": Ask,
		"cat away/*": Ask, "cp up x": Ask, "Write(innocent.txt)": Ask, "diff -r src deep": Deny,
	} {
		if got := decide(call); got != want {
			t.Errorf("%s is %v, want %v", call, got, want)
		}
	}
	p.Mode = AcceptEdits
	for call, want := range map[string]Behavior{"Write(away/x)": Ask, "Write(src/new.go)": Allow, "touch away/x": Ask, "echo x > away/x": Ask, "touch src/x": Allow, "rm -r here/src": Allow, "Write(up)": Ask} {
		if got := decide(call); got != want {
			t.Errorf("with acceptEdits %s is %v, want %v", call, got, want)
		}
	}
}

func TestAnswersOfThePerson(t *testing.T) {
	t.Parallel()
	type outcome struct {
		ran     []string
		err     error
		denials []Denial
	}
	try := func(t *testing.T, live *Live, asker Asker, path string) outcome {
		var o outcome
		ledger := NewLedger()
		run := tool.Chain(tool.Run, Gate(Options{Policy: live.Policy, Asker: asker, Ledger: ledger, Apply: func(_ context.Context, u []Update) error { return live.Apply(u) }}))
		_, o.err = run(t.Context(), bind(t, fileTool("Edit", tool.Write, &o.ran), "id1", pathIn{path}))
		o.denials = ledger.Denials()
		return o
	}
	newLive := func(rules ...string) *Live {
		p := testPolicy(t, Default, rules...)
		return NewLive(Base{Policy: p, Rules: p.Rules.Rules()})
	}
	answer := func(a Answer, err error) Asker {
		return AskFunc(func(context.Context, Request) (Answer, error) { return a, err })
	}
	const file = "/home/me/work/a.txt"
	t.Run("once", func(t *testing.T) {
		o := try(t, newLive(), answer(Answer{Allow: true}, nil), file)
		if o.err != nil || len(o.ran) != 1 || len(o.denials) != 0 {
			t.Errorf("%+v", o)
		}
	})
	t.Run("no, with a reason", func(t *testing.T) {
		o := try(t, newLive(), answer(Answer{Message: "use b.txt"}, nil), file)
		var d *Denied
		if !errors.As(o.err, &d) || o.err.Error() != "use b.txt" || !d.ByPerson || len(o.ran) != 0 {
			t.Errorf("%+v", o)
		}
		if len(o.denials) != 1 || o.denials[0].ToolName != "Edit" || o.denials[0].ToolUseID != "id1" || !bytes.Contains(o.denials[0].ToolInput, []byte("a.txt")) {
			t.Errorf("%+v", o.denials)
		}
	})
	t.Run("no, and stop", func(t *testing.T) {
		if o := try(t, newLive(), answer(Answer{Interrupt: true}, nil), file); !errors.Is(o.err, tool.ErrEndTurn) {
			t.Errorf("%+v", o)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		if o := try(t, newLive(), nil, file); !errors.Is(o.err, tool.ErrDenied) || !strings.Contains(o.err.Error(), "nobody here to ask") {
			t.Errorf("%+v", o)
		}
	})
	t.Run("no answer is not a refusal", func(t *testing.T) {
		o := try(t, newLive(), answer(Answer{}, fmt.Errorf("after 5 minutes: %w", ErrNoAnswer)), file)
		var d *Denied
		if !errors.As(o.err, &d) || d.ByPerson || !strings.Contains(o.err.Error(), "not a refusal") {
			t.Errorf("%+v", o)
		}
	})
	t.Run("changed input is gated again", func(t *testing.T) {
		live := newLive("deny Edit(secret)")
		o := try(t, live, answer(Answer{Allow: true, UpdatedInput: json.RawMessage(`{"file_path":"/home/me/work/b.txt"}`)}, nil), file)
		if o.err != nil || len(o.ran) != 1 || o.ran[0] != "/home/me/work/b.txt" {
			t.Errorf("%+v", o)
		}
		o = try(t, live, answer(Answer{Allow: true, UpdatedInput: json.RawMessage(`{"file_path":"/home/me/work/secret"}`)}, nil), file)
		if !errors.Is(o.err, tool.ErrDenied) || len(o.ran) != 0 {
			t.Errorf("%+v", o)
		}
		o = try(t, live, answer(Answer{Allow: true, UpdatedInput: json.RawMessage(`{"file_path":5}`)}, nil), file)
		if !errors.Is(o.err, tool.ErrDenied) || len(o.ran) != 0 {
			t.Errorf("%+v", o)
		}
	})
	t.Run("always", func(t *testing.T) {
		live := newLive()
		asked := 0
		asker := AskFunc(func(_ context.Context, r Request) (Answer, error) {
			asked++
			return Answer{Allow: true, Updates: r.Suggestions}, nil
		})
		for range 3 {
			if o := try(t, live, asker, file); o.err != nil {
				t.Error(o.err)
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

func TestQuestionsComeOneAtATimeAndAnAnswerServesThoseThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testPolicy(t, Default)
		live := NewLive(Base{Policy: p})
		var asked, at atomic.Int32
		asker := AskFunc(func(_ context.Context, r Request) (Answer, error) {
			if at.Add(1) > 1 {
				t.Error("two questions at once")
			}
			defer at.Add(-1)
			asked.Add(1)
			time.Sleep(time.Second)
			return Answer{Allow: true, Updates: r.Suggestions}, nil
		})
		gate := Gate(Options{Policy: live.Policy, Asker: asker, Apply: func(_ context.Context, u []Update) error { return live.Apply(u) }})
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				var ran []string
				c := bind(t, fileTool("Edit", tool.Write, &ran), fmt.Sprint(i), pathIn{"/home/me/work/a"})
				if _, err := tool.Chain(tool.Run, gate)(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

func TestTheFirstAnswerWins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := AskFunc(func(ctx context.Context, _ Request) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		})
		broken := AskFunc(func(context.Context, Request) (Answer, error) { return Answer{}, errors.New("gone") })
		quick := AskFunc(func(context.Context, Request) (Answer, error) {
			time.Sleep(time.Second)
			return Answer{Allow: true}, nil
		})
		if a, err := First(slow, broken, quick).Ask(t.Context(), Request{}); err != nil || !a.Allow {
			t.Error(a, err)
		}
		if _, err := First(broken, broken).Ask(t.Context(), Request{}); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Error(err)
		}
	})
}

func TestCancelWhileAsking(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	asker := AskFunc(func(ctx context.Context, _ Request) (Answer, error) {
		cancel(why)
		<-ctx.Done()
		return Answer{}, ctx.Err()
	})
	ledger := NewLedger()
	p := testPolicy(t, Default)
	var ran []string
	run := tool.Chain(tool.Run, Gate(Options{Policy: func() Policy { return p }, Asker: asker, Ledger: ledger}))
	if _, err := run(ctx, bind(t, fileTool("Edit", tool.Write, &ran), "1", pathIn{"/home/me/work/a"})); !errors.Is(err, why) {
		t.Error(err)
	}
	if len(ran) > 0 || len(ledger.Denials()) > 0 {
		t.Error(ran, ledger.Denials())
	}
}
