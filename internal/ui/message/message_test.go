package message

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
	"gofer/internal/ui/words"
)

var update = flag.Bool("update", false, "write the golden files")

func canvas(width int, profile colorprofile.Profile) screen.Canvas {
	return screen.Canvas{Width: width, Height: 24, Theme: theme.New("dark", profile)}
}

const unified = "--- a/src/a.go\n+++ b/src/a.go\n@@ -10,3 +10,3 @@\n func a() {\n-\treturn 1\n+\treturn 2\n }\n"

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "output line %d\n", i+1)
	}
	return b.String()
}

// gallery draws everything there is, each with a name.
func gallery(c screen.Canvas) []string {
	var lines []string
	show := func(name string, drawn []string) {
		lines = append(lines, "["+name+"]")
		lines = append(lines, drawn...)
	}
	running := Output{}
	running.Write("compiling 10%\rcompiling 80%\rcompiling done\n" + numbered(20) + "\x1b[31mlast\x1b[0m\n\n")
	status := 529
	result := "the request is too large"
	show("prompt", Prompt(c, "Fix the parser, which drops the last token when there is no newline at the end.\nThen run the tests."))
	show("queued", Queued(c, "one\ntwo\nthree\nfour"))
	show("answer", Say(c, "I have **found** it:\n\n- the scanner stops too early\n\n```go\nreturn nil\n```"))
	show("thinking", Thinking(c, "First I look at the scanner.\nThen at the parser.", false))
	show("thinking, open", Thinking(c, "First I look at the scanner.\nThen at the parser.", true))
	show("running", Call{Name: "Bash", Title: "go test ./...", State: Running, Elapsed: 75 * time.Second, Output: &running}.Lines(c))
	show("running, with a hint", Call{Name: "Bash", Title: "Wait for the server", State: Running, Elapsed: 5 * time.Second, Hint: "Ctrl+B sends it to the background"}.Lines(c))
	show("running, a file", Call{Name: "Write", Title: "Writing b.txt", State: Running}.Lines(c))
	show("running, a server's", Call{Name: "mcp__issues__search", Title: "issues: Search", State: Running}.Lines(c))
	show("an agent, done", Call{Name: "Agent", Title: "look around (Explore)", State: Done, Display: event.ToolDisplay{Summary: `Explore: "look around" is done (12 tokens, 1 tool uses, 0.1 s)`}}.Lines(c))
	show("waiting", Call{Name: "Bash", Title: "go vet ./...", State: Waiting}.Lines(c))
	show("stopped", Call{Name: "Bash", Title: "sleep 100", State: Stopped}.Lines(c))
	show("refused", Call{Name: "Bash", Title: "rm -rf /", State: Refused}.Lines(c))
	show("done, short", Call{Name: "Bash", Title: "ls", State: Done, Display: event.ToolDisplay{Summary: "exit 0 in 12ms", Body: "a.go\nb.go\n"}}.Lines(c))
	show("done, long", Call{Name: "Bash", Title: "make", State: Done, Display: event.ToolDisplay{Summary: "exit 0 in 3.2s", Body: numbered(5000)}}.Lines(c))
	show("failed", Call{Name: "Bash", Title: "false", State: Done, Display: event.ToolDisplay{Summary: "exit 1 in 3ms", Body: "no such thing", Failed: true}}.Lines(c))
	show("edit", Call{Name: "Edit", Title: "Editing src/a.go", State: Done, Display: event.ToolDisplay{Summary: "Edited src/a.go (+1 −1)", Diff: unified}}.Lines(c))
	show("todo", Call{Name: "TodoWrite", Title: "Updating the todo list", State: Done, Display: event.ToolDisplay{Summary: "1 of 3 done", Body: "hidden"}}.Lines(c))
	read := Call{Name: "Read", Title: "Reading src/a.go", State: Done, Display: event.ToolDisplay{Summary: "Read 120 lines"}}
	grep := Call{Name: "Grep", Title: "Searching for func", State: Done, Display: event.ToolDisplay{Summary: "Found 3 files"}}
	for i, block := range Calls(c, []Call{read, read, grep, read, grep, {Name: "Bash", Title: "ls", State: Done}, read}) {
		show(fmt.Sprintf("calls %d", i+1), block)
	}
	show("denied", Event(c, event.Denied{ToolName: "Bash"}))
	show("retry", Event(c, event.Retry{Attempt: 2, MaxRetries: 10, DelayMS: 4000, Status: &status, Error: "overloaded"}))
	show("voided", Event(c, event.Voided{Reason: "the stream ended early"}))
	show("fallback", Event(c, event.Fallback{Original: "big", Fallback: "small"}))
	show("boundary", Event(c, event.Boundary{Metadata: event.BoundaryMetadata{PreTokens: 180_000, PostTokens: 12_300}}))
	show("hook", Event(c, event.HookResponse{HookName: "PostToolUse:Edit", Stderr: "gofmt: a.go\nline two", Outcome: "error", ExitCode: 2}))
	show("hook, silent", Event(c, event.HookResponse{HookName: "Stop", Outcome: "success"}))
	show("info", Event(c, event.Info{Content: "A new version of the settings is in force.", Level: "info"}))
	show("background", Event(c, event.TaskStarted{TaskID: "b1", Description: "npm run dev"}))
	show("ended", Event(c, event.TaskNotice{TaskID: "a1", Status: "completed", Summary: "Agent \"look\" is done", Usage: &event.TaskUsage{Tokens: 23_456, ToolUses: 7, DurationMS: 65_000}}))
	show("ended badly", Event(c, event.TaskNotice{TaskID: "b1", Status: "failed", Summary: "npm run dev ended with code 1"}))
	show("failure", Event(c, event.Result{IsError: true, Result: &result}))
	show("interrupted", Interrupted(c))
	show("refused and stopped", Event(c, event.Result{IsError: true, TerminalReason: "aborted_tools", Errors: []string{"The turn was interrupted: Bash was refused by the user. Ask what they would like."}}))
	show("plan", Call{Name: "ExitPlanMode", Title: "Ready to begin?", State: Done, Display: event.ToolDisplay{Summary: "Plan approved", Body: "# The plan\n\n1. Change `a.go`, which has **one** fault that takes more than a line of a narrow window to tell\n2. Test"}}.Lines(c))
	show("agents", Agents(c, []Agent{
		{Type: "Explore", Description: "Find the callers of parse", Doing: "Grep: Searching for parse(", Tools: 12, Tokens: 34_567, Elapsed: 83 * time.Second, Below: []Agent{{Type: "helper", Description: "deeper", Tools: 1, Elapsed: 3 * time.Second}}},
		{Type: "Review", Description: "Read the diff", Status: "completed", Tools: 3, Tokens: 900, Elapsed: 5 * time.Second},
	}))
	steps := []Step{{Text: "Find the fault", Status: "completed"}, {Text: "Mend the scanner", Status: "in_progress", Owner: "ann"}, {ID: "3", Text: "Run the tests", Status: "pending", Blocked: []string{"2"}}}
	show("steps", Steps(c, steps, 10))
	var many []Step
	for i := range 30 {
		many = append(many, Step{Text: fmt.Sprintf("step %d", i+1), Status: map[bool]string{true: "completed", false: "pending"}[i < 12]})
	}
	show("many steps", Steps(c, many, 8))
	show("spinner", []string{Spinner{Frame: 3, Doing: "Mending the scanner", Elapsed: 65 * time.Second, Tokens: 1234, Hint: "Esc stops"}.Line(c)})
	show("cost", []string{Cost{USD: 0.1234, Input: 120_000, Output: 3400, CacheShare: 0.912, Elapsed: 95 * time.Second}.Line(c)})
	show("welcome", Welcome{Version: "1.2.3", Model: "a model", Cwd: "~/src/gofer", Notes: []string{"No key was found."}, Examples: []string{"What does this project do?", "Mend the failing test in internal/parse and tell me what was wrong with it."}}.Lines(c))
	return lines
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 140} {
		got := strings.Join(gallery(canvas(width, colorprofile.NoTTY)), "\n") + "\n"
		name := filepath.Join("testdata", fmt.Sprintf("gallery.%d.txt", width))
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("width %d:\n%s", width, got)
		}
	}
}

func check(t *testing.T, what string, lines []string, width int) {
	t.Helper()
	for _, line := range lines {
		if w := screen.Width(line); w > width {
			t.Fatalf("%s: %q is %d wide, the canvas %d", what, line, w, width)
		}
		if plain := ansi.Strip(line); screen.Clean(plain) != plain || strings.Contains(plain, "\n") {
			t.Fatalf("%s: %q steers", what, line)
		}
	}
}

func TestNothingIsWiderThanTheCanvas(t *testing.T) {
	t.Parallel()
	zh := words.In("zh")
	for _, width := range []int{1, 2, 3, 4, 5, 6, 8, 11, 15, 20, 33, 60, 99} {
		for _, c := range []screen.Canvas{canvas(width, colorprofile.TrueColor), {Width: width, Height: 24, Theme: theme.New("light", colorprofile.ANSI), Words: zh}} {
			var drawn []string
			for _, line := range gallery(c) {
				if !strings.HasPrefix(line, "[") {
					drawn = append(drawn, line)
				}
			}
			check(t, fmt.Sprintf("width %d", width), drawn, width)
		}
	}
}

// Text from outside stands in every field.
func TestForeignTextIsHarmlessEverywhere(t *testing.T) {
	t.Parallel()
	pieces := []string{"\x1b[2J", "\x1b]0;x\x07", "\x1b]8;;http://x", "\n", "\r", "\t", "\u202e", "\x9b", "\xff", "a", " ", "你好", "👨‍👩‍👧", "`", "**", "@@ -1 +1 @@\n", "+x", "-y", "\x00"}
	r := rand.New(rand.NewPCG(11, 12))
	for range 80 {
		evil := func() string {
			var b strings.Builder
			for range r.IntN(30) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			return b.String()
		}
		width := 1 + r.IntN(90)
		c := canvas(width, colorprofile.TrueColor)
		out := &Output{}
		out.Write(evil())
		display := event.ToolDisplay{Summary: evil(), Body: evil(), Failed: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			display.Diff = evil()
		}
		call := Call{Name: evil(), Title: evil(), State: State(r.IntN(5)), Output: out, Display: display}
		reason := evil()
		var log Log
		for _, e := range []event.Event{
			event.User{Prompt: true, Message: llm.UserText(evil())}, event.Denied{ToolName: evil()}, event.Retry{Error: llm.ErrorKind(evil())}, event.Voided{Reason: evil()}, event.Fallback{Content: evil(), Original: evil()},
			event.Boundary{Metadata: event.BoundaryMetadata{Kept: evil()}}, event.HookResponse{HookName: evil(), Stderr: evil(), Outcome: "error"}, event.Info{Content: evil(), Level: "error"}, event.TaskStarted{TaskID: evil(), Description: evil()},
			event.TaskNotice{TaskID: evil(), Status: evil(), Summary: evil()}, event.ToolBegun{ID: "1", Name: evil(), Title: evil()}, event.ToolOutput{ID: "1", Text: evil()},
			event.Assistant{Parent: &reason, Message: event.AssistantMessage{Content: []llm.Block{llm.TextBlock(evil()), {Kind: llm.Thinking, Text: evil()}, {Kind: llm.ToolUse, Call: &llm.Call{ID: "2", Name: evil(), Input: json.RawMessage(evil())}}}}},
			event.ToolEnded{ID: "1", Display: display}, event.User{Message: llm.Message{Blocks: []llm.Block{llm.ResultBlock("2", evil(), true)}}},
			event.Result{IsError: true, Errors: []string{evil()}},
		} {
			check(t, fmt.Sprintf("%T", e), Event(c, e), width)
			log.Add(e)
			check(t, "live", log.Live(c), width)
		}
		for i := log.First(); i < log.End(); i++ {
			check(t, "log", log.At(i).Lines(c), width)
		}
		check(t, "call", call.Lines(c), width)
		check(t, "queued", Queued(c, evil()), width)
		check(t, "thinking", Thinking(c, evil(), true), width)
		check(t, "agents", Agents(c, []Agent{{Type: evil(), Description: evil(), Doing: evil(), Status: evil(), Below: []Agent{{Type: evil()}}}}), width)
		check(t, "steps", Steps(c, []Step{{ID: evil(), Text: evil(), Owner: evil(), Blocked: []string{evil()}, Status: "pending"}}, 5), width)
		check(t, "spinner", []string{Spinner{Doing: evil()}.Line(c)}, width)
		check(t, "welcome", Welcome{Version: evil(), Model: evil(), Cwd: evil(), Notes: []string{evil()}, Examples: []string{evil()}}.Lines(c), width)
	}
}

func TestAnAnswerStreamsToTheSameLines(t *testing.T) {
	t.Parallel()
	c := canvas(50, colorprofile.TrueColor)
	text := "First **paragraph** of the answer that is long enough to be wrapped.\n\n- a\n- b\n\n```go\nx := 1\n```\nEnd."
	var a Answer
	var got []string
	for i := 0; i < len(text); i += 3 {
		a.Write(text[i:min(i+3, len(text))])
		got = append(got, a.Stable(c)...)
		check(t, "tail", a.Tail(c), 50)
	}
	a.Close()
	got = append(got, a.Stable(c)...)
	if want := Say(c, text); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestHugeOutputsCostLittle(t *testing.T) {
	t.Parallel()
	c := canvas(80, colorprofile.TrueColor)
	huge := strings.Repeat("x", 8<<20) + "\n" + strings.Repeat("line\n", 1<<18)
	start := time.Now()
	lines := Call{Name: "Bash", Title: "yes", State: Done, Display: event.ToolDisplay{Body: huge}}.Lines(c)
	if len(lines) > bodyFirst+bodyLast+2 {
		t.Errorf("%d lines", len(lines))
	}
	var out Output
	for range 1000 {
		out.Write(huge[:3_000])
	}
	if len(out.text) > 3*keepOutput {
		t.Errorf("%d bytes are kept", len(out.text))
	}
	var log Log
	log.Add(event.ToolBegun{ID: "1", Name: "Bash"})
	log.Add(event.ToolEnded{ID: "1", Display: event.ToolDisplay{Body: huge}})
	if log.bytes > 2*maxOutput {
		t.Errorf("the log keeps %d bytes", log.bytes)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestAFailureIsToldOnce(t *testing.T) {
	t.Parallel()
	var log Log
	text := "API Error: 500"
	log.Add(event.Assistant{Message: event.AssistantMessage{Model: event.Synthetic, Content: []llm.Block{llm.TextBlock(text)}}})
	log.Add(event.Result{IsError: true, Result: &text})
	if log.End() != 1 {
		t.Errorf("%d entries", log.End())
	}
	log.Add(event.Result{IsError: true, Errors: []string{"another one"}})
	if log.End() != 2 {
		t.Errorf("%d entries", log.End())
	}
}

func TestALogIsBoundedAndKeepsItsNumbers(t *testing.T) {
	t.Parallel()
	var log Log
	text := strings.Repeat("word ", 1400)
	for i := range 12_000 {
		log.add(&Entry{kind: ofOutput, text: text, depth: i})
	}
	if log.bytes > maxLog || log.First() == 0 || log.End() != 12_000 {
		t.Errorf("%d bytes, entries %d to %d", log.bytes, log.First(), log.End())
	}
	if e := log.At(11_000); e.depth != 11_000 {
		t.Errorf("entry 11000 is %d", e.depth)
	}
}

func TestLongTextsBecomeManyEntriesAndLoseNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"lines": numbered(5000), "one line": strings.Repeat("你好", 20_000), "short": "a", "mixed": strings.Repeat("x", 30_000) + "\n" + numbered(500)} {
		var log Log
		log.addText(ofOutput, strings.TrimRight(text, "\n"), 0, false)
		var got strings.Builder
		for i := log.First(); i < log.End(); i++ {
			if len(log.At(i).text) > 2*chunkSize {
				t.Errorf("%s: an entry of %d bytes", name, len(log.At(i).text))
			}
			got.WriteString(log.At(i).text)
		}
		if strip := strings.NewReplacer("\n", "").Replace; strip(got.String()) != strip(text) {
			t.Errorf("%s: %d bytes became %d", name, len(text), got.Len())
		}
	}
}
