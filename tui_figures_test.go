//go:build unix

package gofer_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/rogpeppe/go-internal/txtar"
)

var fuzzScreens = flag.Duration("fuzz-screens", 2*time.Second, "how long the terminal UI gets random keys and events")

func storyOf(model string) *txtar.Archive {
	return &txtar.Archive{Files: []txtar.File{{Name: "model", Data: []byte(model + "\nsection titles\n  when no tools\n  turn\n    text A title\n")}}}
}

func (x *terminal) size() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.written.Len()
}

// 5,000 words that stream in, and a resize in the middle: the screen is never cleared, little more than the text is written, and the
// scrollback holds the text, exactly and once.
func TestFiveThousandWords(t *testing.T) {
	t.Parallel()
	var words []string
	for i := range 5000 {
		words = append(words, fmt.Sprintf("w%04d", i))
	}
	var text strings.Builder
	for i, w := range words {
		text.WriteString(w)
		if i%97 == 96 {
			text.WriteString("\n\n")
		} else {
			text.WriteByte(' ')
		}
	}
	x := newTerminal(t, "100x30", storyOf("chunk 24\ndelay 100us\nturn\n  text <<END\n"+text.String()+"\n  END\n"))
	x.start()
	x.shows("? for keys")
	before := x.size()
	x.write("tell me\r")
	x.shows("w1")
	x.resize("120x30") // wider: the emulator, unlike real terminals, cuts what it has printed when it becomes narrower
	x.shows("w4999")
	x.until("it is still at work", func() bool { return !strings.Contains(x.screen(), "Esc stops") })
	x.mu.Lock()
	written := x.written.String()
	x.mu.Unlock()
	if n := len(written) - before; n > 2*text.Len() {
		t.Errorf("%d bytes of text cost %d bytes", text.Len(), n)
	} else {
		t.Logf("%d bytes of text cost %d bytes", text.Len(), n)
	}
	for _, clear := range []string{"\x1b[2J", "\x1b[3J", "\x1bc"} {
		if strings.Contains(written, clear) {
			t.Errorf("the screen was cleared by %q", clear)
		}
	}
	var seen []string
	for _, row := range append(x.scrolled(), strings.Split(x.screen(), "\n")...) {
		for _, w := range strings.Fields(row) {
			if len(w) == 5 && w[0] == 'w' && w[1] >= '0' && w[1] <= '9' {
				seen = append(seen, w)
			}
		}
	}
	if !slices.Equal(seen, words) {
		t.Errorf("%d words came through, want %d; the first difference is at %d", len(seen), len(words), firstDifference(seen, words))
	}
}

func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// The cursor is at the caret after every frame, whatever is typed and while a reply streams; backspace removes what a person sees as one
// character.
func TestTheCursorIsAtTheCaret(t *testing.T) {
	t.Parallel()
	x := newTerminal(t, "80x24", storyOf("chunk 6\ndelay 2ms\nturn\n  fill 3000\n"))
	x.start()
	x.shows("? for keys")
	frames, wrong := 0, ""
	x.mu.Lock()
	x.frame = func(g *vt.Emulator) {
		frames++
		at := g.CursorPosition()
		row := rowText(g, at.Y)
		// The caret is at the end of the prompt, and a blank that was typed last cannot be seen.
		if end := ansi.StringWidth(row); wrong == "" && (!strings.HasPrefix(row, ">") || at.X != max(end, 2) && at.X != end+1) {
			wrong = fmt.Sprintf("frame %d: the cursor is at column %d of %q\n%s", frames, at.X, row, screenText(g))
		}
	}
	x.mu.Unlock()
	x.write("go\r")
	for _, part := range []string{"你好", "，世界", " 👩‍👩‍👧", " 한국어", " é", " ok"} {
		x.write(part)
		x.shows(strings.TrimSpace(part))
	}
	for range 2 + 4 + 2 + 3 { // the family, Hangul, the accent, ok, each with its blank
		x.press("backspace")
	}
	x.until("backspaces did not remove one character each", func() bool { return strings.Contains(x.screen(), "> 你好，世界\n") })
	x.until("the reply did not end", func() bool { return !strings.Contains(x.screen(), "Esc stops") })
	x.mu.Lock()
	defer x.mu.Unlock()
	if wrong != "" {
		t.Error(wrong)
	}
	if frames < 10 {
		t.Errorf("only %d frames were seen", frames)
	}
}

// Esc ends a turn whose stream has stalled, at once: what the person waits for is the time that tells Esc from a longer sequence.
func TestEscIsQuick(t *testing.T) {
	t.Parallel()
	x := newTerminal(t, "80x24", storyOf("turn\n  after 3 stall forever\n  text This goes on and on, and then the line is dead.\n"))
	x.start()
	x.shows("? for keys")
	x.write("go\r")
	x.shows("This goes on")
	pressed := time.Now()
	x.press("esc")
	x.until("it did not stop", func() bool {
		s := x.screen()
		return strings.Contains(s, "Stopped.") && !strings.Contains(s, "Esc stops")
	})
	if d := time.Since(pressed); d > time.Second { // on an idle machine it is a tenth of that
		t.Errorf("it took %v", d)
	} else {
		t.Logf("it took %v", d)
	}
}

// When nothing happens nothing is written, and next to no time is used.
func TestIdle(t *testing.T) {
	t.Parallel()
	x := newTerminal(t, "80x24", storyOf("turn\n  text hello\n"))
	x.start()
	x.shows("? for keys")
	x.write("hi\r")
	x.shows("hello")
	x.until("it is still at work", func() bool { return !strings.Contains(x.screen(), "Esc stops") })
	<-time.After(500 * time.Millisecond) // what follows a turn is over then
	before, used := x.size(), cpuOf(x.cmd.Process.Pid)
	const watched = 2 * time.Second
	<-time.After(watched) // that nothing happens can only be seen by waiting
	if n := x.size() - before; n != 0 {
		t.Errorf("%d bytes were written while nothing happened", n)
	}
	if used < 0 {
		return
	}
	if share := float64(cpuOf(x.cmd.Process.Pid)-used) / float64(watched); share > 0.03 { // the race detector and a busy machine count too
		t.Errorf("it used %.2f %% of a core while nothing happened", 100*share)
	} else {
		t.Logf("it used %.2f %% of a core while nothing happened", 100*share)
	}
}

// cpuOf is how much time a process has used; -1 where that is not told.
func cpuOf(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	var user, system int64
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// Random keys, pastes and resizes while a model talks and calls tools: it neither ends nor hangs, and the screen is whole afterwards.
func TestRandomKeys(t *testing.T) {
	t.Parallel()
	x := newTerminal(t, "80x24", storyOf(`chunk 7
delay 1ms
turn
  repeat 400
  text Some **words** of {{n}}, and 你好.
  call Bash {"command": "echo {{n}}; sleep 0.0{{n}}", "description": "Echo"}
`))
	x.env = []string{"EDITOR=true"}
	x.start()
	x.shows("? for keys")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	names := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "left", "right", "backspace", "delete", "home", "end", "pgup", "pgdown", "space",
		"ctrl+a", "ctrl+b", "ctrl+e", "ctrl+j", "ctrl+k", "ctrl+l", "ctrl+n", "ctrl+o", "ctrl+p", "ctrl+r", "ctrl+s", "ctrl+t", "ctrl+u", "ctrl+w", "ctrl+y", "alt+b", "alt+f", "alt+d",
		"a", "b", "z", "1", "2", "?", "/", "@", "!", "#", "你"}
	deadline := time.Now().Add(*fuzzScreens)
	for n := 0; time.Now().Before(deadline); n++ {
		switch k := r.IntN(100); {
		case k < 3:
			x.write("\x1b[200~pasted\n\x1b[31mtext " + strings.Repeat("x", r.IntN(2000)) + "\x1b[201~")
		case k < 5:
			x.resize(fmt.Sprintf("%dx%d", 20+r.IntN(120), 6+r.IntN(40)))
		case k < 7:
			x.write("\x1b[" + string(rune(32+r.IntN(96))) + ";9x")
		case k < 9:
			x.write("\x1b]11;rgb:ffff/ffff/ffff\x07")
		case k < 12:
			x.write("👩‍👩‍👧")
		default:
			x.press(names[r.IntN(len(names))])
		}
		<-time.After(time.Duration(r.IntN(3)) * time.Millisecond)
		select {
		case <-x.ended:
			t.Fatalf("it ended after %d keys (seed %d):\n%s", n, seed, x.screen())
		default:
		}
	}
	x.resize("80x24")
	// Everything that is open can be left, and then the prompt answers.
	probe := fmt.Sprintf("probe%d", seed%1000)
	for n := 0; ; n++ {
		x.press("esc")
		<-time.After(100 * time.Millisecond) // Esc by itself is told from a sequence by time
		x.press("ctrl+u")
		x.write(probe)
		if ok := x.soon(func() bool { return inBox(x.screen(), probe) }); ok {
			return
		}
		if n == 100 { // a busy machine may read late, and take Esc and what follows for one key
			t.Fatalf("it does not answer any more, or the screen is torn (seed %d):\n%s", seed, x.screen())
		}
	}
}

// inBox reports whether a text stands between the two rules of the prompt box, and not in the field of some dialog.
func inBox(screen, text string) bool {
	rows := strings.Split(screen, "\n")
	rule := func(r string) bool { return strings.HasPrefix(r, "──") } // a dialog has none below
	n := slices.IndexFunc(rows, func(r string) bool { return strings.Contains(r, text) })
	return n >= 0 && slices.ContainsFunc(rows[:n], rule) && slices.ContainsFunc(rows[n:], rule)
}

// soon reports whether something becomes true within a moment.
func (x *terminal) soon(ok func() bool) bool {
	for deadline := time.Now().Add(500 * time.Millisecond); time.Now().Before(deadline); {
		if ok() {
			return true
		}
		<-time.After(5 * time.Millisecond)
	}
	return false
}

// The first prompt is there quickly, also with many old sessions and servers that do not answer; what was typed before is not lost.
func TestTheFirstPromptIsQuick(t *testing.T) {
	t.Parallel()
	story := storyOf("turn\n  text You said {{last_user}}.\n")
	var servers []string
	for i := range 20 {
		servers = append(servers, fmt.Sprintf(`"dead%d": {"type": "http", "url": "http://192.0.2.%d:9/mcp"}`, i, i+1))
	}
	story.Files = append(story.Files, txtar.File{Name: "home/.claude.json", Data: []byte(`{"mcpServers": {` + strings.Join(servers, ",") + `}}`)})
	x := newTerminal(t, "80x24", story)
	for i := range 500 { // the bench has 5,000
		x.put(fmt.Sprintf("~/.claude/projects/other-%d/00000000-0000-4000-8000-%012d.jsonl", i%10, i), []byte(`{"type":"user","message":{"role":"user","content":"old"}}`+"\n"))
	}
	began := time.Now()
	x.start()
	x.write("typed early")
	x.until("there is no prompt", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return bytes.Contains(x.written.Bytes(), []byte("──────"))
	})
	t.Logf("the first prompt was there after %v", time.Since(began))
	x.shows("> typed early")
	x.press("enter")
	x.shows("You said typed early")
}
