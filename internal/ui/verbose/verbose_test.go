package verbose

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/ui/message"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

var _ screen.Dialog = (*View)(nil)

func canvas(width, height int, profile colorprofile.Profile) screen.Canvas {
	return screen.Canvas{Width: width, Height: height, Theme: theme.New("dark", profile)}
}

func say(text string) event.Event {
	return event.Assistant{Message: event.AssistantMessage{Content: []llm.Block{llm.TextBlock(text)}}}
}

func ask(text string) event.Event {
	return event.User{Prompt: true, Message: llm.UserText(text)}
}

// session makes a log of about so many lines: prompts, thoughts, calls with output, answers.
func session(lines int) *message.Log {
	log := &message.Log{}
	output := strings.Repeat("a line of output that a command has written, with some words in it\n", 90)
	for i := range lines / 100 {
		id := fmt.Sprint(i)
		log.Add(ask("prompt " + id))
		log.Add(event.Assistant{Message: event.AssistantMessage{Content: []llm.Block{{Kind: llm.Thinking, Text: "I think about " + id}}}})
		log.Add(event.ToolBegun{ID: id, Name: "Bash", Title: "make " + id})
		log.Add(event.ToolEnded{ID: id, Display: event.ToolDisplay{Summary: "exit 0", Body: output}})
		log.Add(say("Answer **" + id + "** with `code`."))
	}
	return log
}

func press(v *View, keys ...string) {
	for _, k := range keys {
		v.Update(key(k))
	}
}

func key(name string) tea.KeyPressMsg {
	codes := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "esc": tea.KeyEscape, "enter": tea.KeyEnter, "backspace": tea.KeyBackspace}
	if code, ok := codes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

func shown(v *View, c screen.Canvas) string {
	return ansi.Strip(strings.Join(v.View(c).Lines, "\n"))
}

func TestEverythingIsUnfolded(t *testing.T) {
	t.Parallel()
	log := &message.Log{}
	v := New(log)
	c := canvas(60, 40, colorprofile.TrueColor)
	if got := shown(v, c); !strings.Contains(got, "Nothing has been said yet.") {
		t.Errorf("an empty log shows %q", got)
	}
	log.Add(ask("Mend it"))
	log.Add(event.Assistant{Message: event.AssistantMessage{Content: []llm.Block{{Kind: llm.Thinking, Text: "a hidden thought"}, {Kind: llm.ToolUse, Call: &llm.Call{ID: "r", Name: "Read"}}}}})
	log.Add(event.ToolBegun{ID: "r", Name: "Read", Title: "Reading a.go"})
	log.Add(event.ToolEnded{ID: "r", Display: event.ToolDisplay{Summary: "Read 20 lines"}})
	log.Add(event.User{Message: llm.Message{Blocks: []llm.Block{llm.ResultBlock("r", "the whole file\n"+strings.Repeat("x\n", 18)+"its end", false)}}})
	log.Add(event.ToolBegun{ID: "b", Name: "Bash", Title: "sleep 9"})
	log.Add(event.ToolOutput{ID: "b", Text: "still here\n"})
	got := shown(v, c)
	for _, want := range []string{"> Mend it", "a hidden thought", "● Read a.go  20 lines", "the whole file", "its end", "● Bash sleep 9", "still here"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not shown in\n%s", want, got)
		}
	}
	log.Add(event.Result{})
	if got := shown(v, c); !strings.Contains(got, "stopped") {
		t.Errorf("a call without an end is not shown as stopped:\n%s", got)
	}
}

func TestScrolling(t *testing.T) {
	t.Parallel()
	log := &message.Log{}
	for i := range 100 {
		log.Add(ask(fmt.Sprintf("prompt %d", i)))
	}
	v := New(log)
	c := canvas(40, 12, colorprofile.NoTTY)
	body := func() []string {
		d := v.View(c)
		if len(d.Lines) != 12 {
			t.Fatalf("%d rows", len(d.Lines))
		}
		return d.Lines[1:11]
	}
	if rows := body(); rows[9] != "> prompt 99" {
		t.Errorf("it does not open at the end: %q", rows)
	}
	press(v, "up")
	if rows := body(); rows[8] != "> prompt 98" {
		t.Errorf("one up: %q", rows)
	}
	log.Add(ask("prompt 100"))
	if rows := body(); rows[8] != "> prompt 98" {
		t.Errorf("the page moved away when something was added: %q", rows)
	}
	press(v, "end")
	log.Add(ask("prompt 101"))
	if rows := body(); rows[9] != "> prompt 101" {
		t.Errorf("the end does not follow: %q", rows)
	}
	press(v, "home")
	if rows := body(); rows[1] != "> prompt 0" || rows[9] != "> prompt 4" {
		t.Errorf("home: %q", rows)
	}
	press(v, "pgdown")
	if rows := body(); rows[1] != "> prompt 5" {
		t.Errorf("a page down: %q", rows)
	}
	press(v, "pgup", "pgup", "up")
	if rows := body(); rows[1] != "> prompt 0" {
		t.Errorf("beyond the top: %q", rows)
	}
	// All lines, one by one, are seen in order.
	for i := range 91 {
		if rows := body(); rows[1] != "" && rows[1] != fmt.Sprintf("> prompt %d", (i+1)/2) {
			t.Fatalf("after %d steps: %q", i, rows)
		}
		press(v, "down")
	}
	press(v, "q")
	if !v.Done() || !v.FullScreen() {
		t.Error("q does not leave")
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	log := session(3000)
	log.Add(say("here is a **Needle** in it, and a second needle"))
	for range 50 {
		log.Add(say("filler"))
	}
	log.Add(say("the last needle"))
	v := New(log)
	c := canvas(80, 20, colorprofile.TrueColor)
	v.View(c)
	find := func(text string) string {
		press(v, "/")
		for _, r := range text {
			press(v, string(r))
		}
		press(v, "enter")
		return strings.Join(v.View(c).Lines, "\n")
	}
	now := c.Theme.MatchNow.On()
	if got := find("needle"); !strings.Contains(got, "the last "+now+"needle") {
		t.Errorf("the match in view is not the first found:\n%s", got)
	}
	press(v, "n") // around the end
	if got := strings.Join(v.View(c).Lines, "\n"); !strings.Contains(got, now+"needle") || strings.Contains(got, "the last") {
		t.Errorf("n does not go on from the beginning:\n%s", got)
	}
	if plain := shown(v, c); !strings.Contains(plain, "here is a Needle in it, and a second needle") {
		t.Errorf("the marks changed the text:\n%s", plain)
	}
	press(v, "N")
	if got := shown(v, c); !strings.Contains(got, "the last needle") {
		t.Errorf("N does not go back:\n%s", got)
	}
	if got := find("Needle"); !strings.Contains(got, now) || strings.Contains(ansi.Strip(got), "the last") {
		t.Errorf("a capital letter is not meant:\n%s", got)
	}
	if got := find("prompt 7"); !strings.Contains(ansi.Strip(got), "> prompt 7") {
		t.Errorf("two words are not found:\n%s", got)
	}
	if got := find("no such text"); !strings.Contains(got, "Not found: no such text") {
		t.Errorf("nothing is said of a text that is not there:\n%s", got)
	}
	press(v, "/", "x", "esc")
	if v.Done() || v.typing {
		t.Error("Esc in the search field leaves the view")
	}
}

// Whatever is pressed and added, the page is whole and no line is too wide.
func TestAnyKeysInAnyOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 14))
	log := session(2000)
	v := New(log)
	keys := []string{"up", "down", "pgup", "pgdown", "home", "end", "/", "e", "1", "enter", "n", "N", "esc", "backspace", "g", "G"}
	for i := range 150 {
		k := keys[r.IntN(len(keys))]
		press(v, k)
		v.done = false
		if i%50 == 0 {
			log.Add(say("more\x1b[2J **text** " + fmt.Sprint(i)))
		}
		c := canvas(1+r.IntN(120), 1+r.IntN(50), colorprofile.TrueColor)
		d := v.View(c)
		if len(d.Lines) != max(c.Height, 3) {
			t.Fatalf("%d rows on %d", len(d.Lines), c.Height)
		}
		for _, line := range d.Lines {
			if w := screen.Width(line); w > c.Width {
				t.Fatalf("%q is %d wide on %d", line, w, c.Width)
			}
		}
	}
}

func TestALongSessionOpensAndScrollsAtOnce(t *testing.T) {
	t.Parallel()
	log := session(100_000)
	c := canvas(120, 40, colorprofile.TrueColor)
	v := New(log)
	opening := timed(func() { v.View(c) })
	slowest := time.Duration(0)
	for _, k := range []string{"pgup", "up", "home", "pgdown", "end", "up", "pgup", "pgup", "home", "end"} {
		best := time.Hour // of several, since other tests take the processor
		for range 5 {
			best = min(best, timed(func() { press(v, k); v.View(c) }))
		}
		slowest = max(slowest, best)
	}
	searching := timed(func() { press(v, "home", "/", "9", "9", "9", "enter"); v.View(c) })
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("opened in %v, slowest key %v, search %v, %d lines laid out", opening, slowest, searching, v.kept)
	if opening > 200*time.Millisecond || slowest > 50*time.Millisecond {
		t.Errorf("opened in %v, slowest key %v", opening, slowest)
	}
	if v.kept > 2*maxKept {
		t.Errorf("%d lines are kept", v.kept)
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func BenchmarkOpen100000Lines(b *testing.B) {
	log, c := session(100_000), canvas(120, 40, colorprofile.TrueColor)
	for b.Loop() {
		New(log).View(c)
	}
}

func BenchmarkPageUp(b *testing.B) {
	v, c := New(session(100_000)), canvas(120, 40, colorprofile.TrueColor)
	v.View(c)
	for b.Loop() {
		press(v, "pgup")
		v.View(c)
		if v.top.entry == v.log.First() {
			press(v, "end")
		}
	}
}

func BenchmarkSearch100000Lines(b *testing.B) {
	v, c := New(session(100_000)), canvas(120, 40, colorprofile.TrueColor)
	v.View(c)
	for b.Loop() {
		v.search("nowhere to be found")
	}
}
