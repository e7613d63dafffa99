//go:build unix

package gofer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/txtar"

	"gofer/internal/llm/script"
)

var updateScreens = flag.Bool("update-screens", false, "write the screens that are seen into testdata/screens")

// TestScreens plays the stories of testdata/screens: keys go into the real program in a real terminal, and what the terminal shows is
// compared. A story is a txtar file. Its comment holds the steps, one in a line:
//
//	gofer ARGS          start the program
//	type TEXT           type
//	press KEY ...       press keys: enter, esc, up, shift+tab, ctrl+c, …
//	paste FILE          paste a file of the story
//	wait TEXT           until the screen shows it
//	gone TEXT           until it does not
//	screen NAME         compare the end of what was shown, as much as fits on the screen
//	resize WxH          change the size of the terminal
//	file PATH TEXT      until the file (of the project, or ~/…) contains it
//	touch PATH          make an empty file
//	end CODE            until the program has ended
//
// The file "model" is the script of the model, "settings.json" the user's settings, files below project/ and home/ are there from the
// start. Every story is played in terminals of 80×24 and 140×40; NAME.80x24 and NAME.140x40 are the screens.
func TestScreens(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "screens", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no stories", err)
	}
	for _, file := range files {
		for _, size := range []string{"80x24", "140x40"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+size, func(t *testing.T) {
				if !*updateScreens { // which writes one file from two tests
					t.Parallel()
				}
				playScreens(t, file, size)
			})
		}
	}
}

func playScreens(t *testing.T, file, size string) {
	story, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	term := newTerminal(t, size, story)
	for n, line := range strings.Split(string(story.Comment), "\n") {
		step, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		if step == "" || strings.HasPrefix(step, "#") {
			continue
		}
		term.step = fmt.Sprintf("%s:%d: %s", file, n+1, strings.TrimSpace(line))
		switch step {
		case "gofer":
			term.start(strings.Fields(arg)...)
		case "type":
			term.write(arg)
		case "press":
			term.press(strings.Fields(arg)...)
		case "paste":
			term.write("\x1b[200~" + term.story(arg) + "\x1b[201~")
		case "wait":
			term.until("it does not show "+arg, func() bool { return strings.Contains(term.screen(), arg) })
		case "gone":
			term.until("it still shows "+arg, func() bool { return !strings.Contains(term.screen(), arg) })
		case "resize":
			term.resize(arg)
		case "file":
			path, text, _ := strings.Cut(arg, " ")
			path = term.path(path)
			term.until("the file does not contain it", func() bool {
				data, _ := os.ReadFile(path)
				return strings.Contains(string(data), text)
			})
		case "touch":
			term.put(arg, nil)
		case "screen":
			term.compare(arg+"."+size, maskScreen)
		case "dialog":
			term.compare(arg+"."+size, func(s string) string { return maskScreen(lastDialog(s)) })
		case "end":
			if code := term.wait(); fmt.Sprint(code) != strings.TrimSpace(arg) {
				t.Fatalf("%s: it ended with %d", term.step, code)
			}
		default:
			t.Fatalf("%s: there is no such step", term.step)
		}
	}
	if *updateScreens {
		if err := os.WriteFile(file, txtar.Format(story), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A terminal runs gofer and shows what a person would see.
type terminal struct {
	t      *testing.T
	files  *txtar.Archive
	dir    string // HOME; the project is below it
	url    string
	server *script.Server
	step   string
	env    []string
	shell  string // a command that runs gofer, which is $0 there
	// stranger: the folder is not trusted when gofer first starts there. Stories that wait for the question are about that.
	stranger bool

	tty, slave *os.File
	lines      []*os.File
	cmd        *exec.Cmd
	ended      chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	glass   *vt.Emulator
	written bytes.Buffer         // everything that gofer wrote
	frame   func(t *vt.Emulator) // called after every frame
	closed  bool                 // the program has hung up
	gone    bool                 // the test is over
}

const waitForScreen = 10 * time.Second

func newTerminal(t *testing.T, size string, story *txtar.Archive) *terminal {
	t.Helper()
	term := &terminal{t: t, files: story, dir: t.TempDir(), ended: make(chan struct{}), stranger: bytes.Contains(story.Comment, []byte("Do you trust"))}
	term.changed = sync.NewCond(&term.mu)
	var w, h int
	fmt.Sscanf(size, "%dx%d", &w, &h)
	term.glass = vt.NewEmulator(w, h)
	term.glass.SetScrollbackSize(100_000)
	t.Cleanup(term.close)
	term.plug()
	if err := os.MkdirAll(term.path("."), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range story.Files {
		switch {
		case f.Name == "model":
			term.serve(f.Data)
		case f.Name == "settings.json":
			term.put("~/.claude/settings.json", f.Data)
		case strings.HasPrefix(f.Name, "project/"):
			term.put(strings.TrimPrefix(f.Name, "project/"), f.Data)
		case strings.HasPrefix(f.Name, "home/"):
			term.put("~/"+strings.TrimPrefix(f.Name, "home/"), f.Data)
		}
	}
	go func() { // what the terminal answers
		buf := make([]byte, 1024)
		for {
			n, err := term.glass.Read(buf)
			if err != nil {
				return
			}
			term.plugged().Write(buf[:n])
		}
	}()
	return term
}

// plug connects the terminal to a new line. A program that ends hangs up its own.
func (x *terminal) plug() {
	tty, slave, err := pty.Open()
	if err != nil {
		x.t.Skipf("there are no pseudo terminals here: %v", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	pty.Setsize(tty, &pty.Winsize{Rows: uint16(x.glass.Height()), Cols: uint16(x.glass.Width())})
	x.lines = append(x.lines, tty, slave)
	x.tty, x.slave, x.closed = tty, slave, false
	go x.read(tty)
}

func (x *terminal) plugged() *os.File {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tty
}

// path is a file of the project, or of the home.
func (x *terminal) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(x.dir, rest)
	}
	return filepath.Join(x.dir, "project", name)
}

func (x *terminal) put(name string, data []byte) {
	file := x.path(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) serve(src []byte) {
	s, err := script.Parse("model", src)
	if err != nil {
		x.t.Fatal(err)
	}
	x.server = script.NewServer(s)
	if x.url, err = x.server.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { x.server.Close() })
}

// start runs gofer in the terminal.
func (x *terminal) start(args ...string) {
	self, err := os.Executable()
	if err != nil {
		x.t.Fatal(err)
	}
	if x.cmd != nil {
		x.wait()
		x.plug()
	}
	if !x.stranger {
		x.trust()
	}
	x.ended = make(chan struct{})
	x.cmd = exec.Command(self, args...)
	if x.shell != "" {
		x.cmd = exec.Command("/bin/sh", "-c", x.shell, self)
	}
	x.cmd.Dir = x.path(".")
	x.cmd.Env = append([]string{"GOFER_TEST_MAIN=1", "HOME=" + x.dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "XTERM_VERSION=1", "SHELL=/bin/sh", "LANG=C.UTF-8",
		"TMPDIR=" + x.dir, "GORACE=" + quickExit, "CLAUDE_CODE_MAX_RETRIES=0", "GOFER_REDUCED_MOTION=1", "IS_SANDBOX=1"}, x.env...)
	if x.url != "" {
		x.cmd.Env = append(x.cmd.Env, "ANTHROPIC_BASE_URL="+x.url, "ANTHROPIC_API_KEY=test")
	}
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = x.slave, x.slave, x.slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // the terminal of its standard files is its own
	if err := x.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		cmd.Wait()
		close(ended)
		x.changed.Broadcast()
	}(x.cmd, x.ended)
}

// trust lets the folder be one in which the person has worked before, unless something is known of it already.
func (x *terminal) trust() {
	project, err := filepath.EvalSymlinks(x.path("."))
	if err != nil {
		x.t.Fatal(err)
	}
	state := map[string]any{}
	if data, err := os.ReadFile(x.path("~/.claude.json")); err == nil {
		if err := json.Unmarshal(data, &state); err != nil {
			x.t.Fatal(err)
		}
	}
	projects, _ := state["projects"].(map[string]any)
	if projects == nil {
		projects = map[string]any{}
	}
	if projects[project] != nil {
		return
	}
	projects[project] = map[string]any{"hasTrustDialogAccepted": true}
	state["projects"] = projects
	data, err := json.Marshal(state)
	if err != nil {
		x.t.Fatal(err)
	}
	x.put("~/.claude.json", data)
}

func (x *terminal) close() {
	if x.cmd != nil {
		select {
		case <-x.ended:
		default:
			x.cmd.Process.Kill()
			<-x.ended
		}
	}
	for _, f := range x.lines {
		f.Close()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = true
	x.glass.InputPipe().(io.Closer).Close() // Close itself is not made for one who still reads
}

const frameEnd = "\x1b[?2026l"

// read takes what gofer writes, frame by frame.
func (x *terminal) read(tty *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := tty.Read(buf)
		x.mu.Lock()
		if x.gone {
			x.mu.Unlock()
			return
		}
		x.written.Write(buf[:n])
		for data := buf[:n]; len(data) > 0; {
			at := bytes.Index(data, []byte(frameEnd))
			if at < 0 {
				x.glass.Write(data)
				break
			}
			x.glass.Write(data[:at+len(frameEnd)])
			data = data[at+len(frameEnd):]
			if x.frame != nil {
				x.frame(x.glass)
			}
		}
		if err != nil && tty == x.tty {
			x.closed = true
		}
		x.mu.Unlock()
		x.changed.Broadcast()
		if err != nil {
			return
		}
	}
}

func (x *terminal) write(text string) {
	// A large paste is more than the terminal takes at once.
	if _, err := io.WriteString(x.tty, text); err != nil {
		x.t.Fatalf("%s: %v", x.step, err)
	}
}

func (x *terminal) press(names ...string) {
	for _, name := range names {
		x.write(keyBytes(x.t, name))
	}
}

func keyBytes(t *testing.T, name string) string {
	named := map[string]string{"enter": "\r", "esc": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
		"backspace": "\x7f", "delete": "\x1b[3~", "home": "\x1b[H", "end": "\x1b[F", "pgup": "\x1b[5~", "pgdown": "\x1b[6~", "space": " "}
	if b, ok := named[name]; ok {
		return b
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok && len(letter) == 1 {
		return string(letter[0] & 0x1f)
	}
	if rest, ok := strings.CutPrefix(name, "alt+"); ok {
		return "\x1b" + rest
	}
	if len([]rune(name)) != 1 {
		t.Fatalf("there is no key %q", name)
	}
	return name
}

func (x *terminal) resize(size string) {
	var w, h int
	if n, _ := fmt.Sscanf(size, "%dx%d", &w, &h); n != 2 {
		x.t.Fatalf("%s: the size is WxH", x.step)
	}
	x.mu.Lock()
	// A real terminal that becomes lower keeps the line of the cursor, and scrolls others out at the top. The emulator would cut it off.
	if at := x.glass.CursorPosition(); at.Y >= h {
		over := at.Y - h + 1
		fmt.Fprintf(x.glass, "\x1b[%d;1H%s\x1b[%d;%dH", x.glass.Height(), strings.Repeat("\n", over), at.Y-over+1, at.X+1)
	}
	x.glass.Resize(w, h)
	x.mu.Unlock()
	pty.Setsize(x.tty, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
}

// until waits for something to become true.
func (x *terminal) until(wrong string, ok func() bool) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitForScreen)
	defer cancel()
	stop := context.AfterFunc(ctx, x.changed.Broadcast)
	defer stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		x.mu.Unlock()
		good := ok()
		x.mu.Lock()
		if good {
			return
		}
		over := false
		select {
		case <-x.ended:
			over = x.closed || ctx.Err() != nil
		default:
		}
		if ctx.Err() != nil || over {
			x.mu.Unlock()
			shown := x.screen()
			x.mu.Lock()
			x.t.Fatalf("%s: %s:\n%s", x.step, wrong, shown)
		}
		// Files change without a word from the terminal.
		wake := time.AfterFunc(20*time.Millisecond, x.changed.Broadcast)
		x.changed.Wait()
		wake.Stop()
	}
}

// screen is what the terminal shows, as text.
func (x *terminal) screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return screenText(x.glass)
}

// recent is as much of the end of everything as fits on the screen. Unlike the screen itself it does not depend on how far the live part,
// which grows and shrinks with time, has scrolled the terminal.
func (x *terminal) recent() string {
	rows := append(x.scrolled(), strings.Split(strings.TrimRight(x.screen(), "\n"), "\n")...)
	x.mu.Lock()
	defer x.mu.Unlock()
	text := screenText(x.glass)
	if !x.glass.IsAltScreen() {
		text = strings.Join(rows[max(0, len(rows)-x.glass.Height()):], "\n") + "\n"
	}
	return maskScreen(strings.ReplaceAll(text, x.dir, "HOME"))
}

func screenText(g *vt.Emulator) string {
	var rows []string
	for y := range g.Height() {
		rows = append(rows, rowText(g, y))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n") + "\n"
}

func rowText(g *vt.Emulator, y int) string {
	var b strings.Builder
	for col := 0; col < g.Width(); {
		c := g.CellAt(col, y)
		if c == nil || c.Content == "" {
			b.WriteByte(' ')
			col++
			continue
		}
		b.WriteString(c.Content)
		col += max(c.Width, 1)
	}
	return strings.TrimRight(b.String(), " ")
}

// scrolled is everything that has left the screen at its top.
func (x *terminal) scrolled() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var rows []string
	for y := range x.glass.ScrollbackLen() {
		var b strings.Builder
		for col := 0; col < x.glass.Width(); {
			c := x.glass.ScrollbackCellAt(col, y)
			if c == nil || c.Content == "" {
				b.WriteByte(' ')
				col++
				continue
			}
			b.WriteString(c.Content)
			col += max(c.Width, 1)
		}
		rows = append(rows, strings.TrimRight(b.String(), " "))
	}
	return rows
}

// What differs from run to run: times, and how much of a reply has come.
var (
	changingWait  = regexp.MustCompile(`(?m)  (\d+m )?\d+s( · Ctrl.B.*)?$`) // how long a call runs already, once it is worth saying, and what can be done about it
	changingFacts = regexp.MustCompile(`\((\d+m )?\d+s( · ↓ [^·)]+)?( · [^)]*)?\)`)
	changingEnd   = regexp.MustCompile(`(?m)  (\d+m )?\d+s$`) // of a call that runs for long
	changingUse   = regexp.MustCompile(`\d+ calls?( · [\d.]+k? tokens)?( · \d+s)?`)
	changingTime  = regexp.MustCompile(`( · |  | in | after |, )(\d+m )?[\d.]+ ?m?s`)
	changingCount = regexp.MustCompile(`[\d.]+k? tokens`)
	changingID    = regexp.MustCompile(`\b([ab][0-9a-z]{8}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\b`)
)

func maskScreen(s string) string {
	s = changingWait.ReplaceAllString(s, "")
	s = changingUse.ReplaceAllString(changingEnd.ReplaceAllString(s, ""), "USE")
	s = changingFacts.ReplaceAllString(s, "(…$3)")
	s = changingTime.ReplaceAllString(s, "${1}…s")
	return changingID.ReplaceAllString(changingCount.ReplaceAllString(s, "N tokens"), "ID")
}

func (x *terminal) compare(name string, look func(string) string) {
	x.t.Helper()
	if *updateScreens {
		x.calm()
		x.keep(name, look(x.recent()))
		return
	}
	want := x.story(name)
	x.until("it is not the screen "+name+", which is\n"+want+"but", func() bool { return look(x.recent()) == want })
}

// lastDialog is the part of a screen that begins with the rule above a dialog.
func lastDialog(screen string) string {
	lines := strings.SplitAfter(screen, "\n")
	for i, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "── ") {
			return strings.Join(lines[i:], "")
		}
	}
	return ""
}

// calm waits until the terminal has not changed for a while. Only the recording of screens needs it.
func (x *terminal) calm() {
	last := ""
	for same := 0; same < 10; {
		time.Sleep(30 * time.Millisecond)
		if now := x.recent(); now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
}

func (x *terminal) keep(name, text string) {
	for i, f := range x.files.Files {
		if f.Name == name {
			x.files.Files[i].Data = []byte(text)
			return
		}
	}
	x.files.Files = append(x.files.Files, txtar.File{Name: name, Data: []byte(text)})
}

// story is a file of the story.
func (x *terminal) story(name string) string {
	for _, f := range x.files.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	if name == "large" {
		return largePaste()
	}
	x.t.Fatalf("%s: the story has no file %q; -update-screens records screens", x.step, name)
	return ""
}

// largePaste is a megabyte of lines.
func largePaste() string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "This is line of the paste %d, with words\n", i)
	}
	return b.String()
}

// wait waits for the end and returns the exit code.
func (x *terminal) wait() int {
	x.t.Helper()
	select {
	case <-x.ended:
		return x.cmd.ProcessState.ExitCode()
	case <-time.After(waitForScreen):
		x.t.Fatalf("%s: it does not end:\n%s", x.step, x.screen())
		return -1
	}
}
