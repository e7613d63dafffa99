package app

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gofer/internal/config"
	"gofer/internal/session/live"
	"gofer/internal/ui/fileindex"
	"gofer/internal/ui/headless"
	"gofer/internal/ui/input"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/tui"
	"gofer/internal/ui/tui/tty"
)

// wantsUI reports whether a run is for a person at a terminal.
func wantsUI(w World, f Flags) bool {
	return !f.Print && f.Output == headless.Text && f.Input == headless.Text && !f.Background &&
		isTerminal(w.Stdin) && isTerminal(w.Stdout)
}

// wantsLines reports whether the person is to have plain lines: somebody listens to them, or the terminal can show nothing else.
func wantsLines(w World, f Flags) bool { return f.ScreenReader || w.Env("TERM") == "dumb" }

// runUI shows the terminal UI until the person leaves. The prompt, if there is one, is sent first.
func runUI(ctx context.Context, w World, f Flags, p place, prompt string) error {
	bindings, problems := keys.Load(filepath.Join(p.config, "keybindings.json"))
	t := &terminalUI{world: w, keys: bindings}
	others := &mentionable{engine: t.engine}
	index := fileindex.New(p.cwd, others.hides)
	defer index.Close()
	box := input.New(bindings)
	box.History = &input.History{Path: filepath.Join(p.config, "history.jsonl"), Project: p.cwd, Session: p.session}
	box.Home, box.Dir = p.home, t.dir(p.cwd)
	box.Sources.Files = index
	box.Sources.Others = others.list
	box.Images = pictures{w}
	return tui.Run(ctx, tui.Options{
		In: w.Stdin, Out: w.Stdout, Env: w.Env, Self: terminalWatcher(w), Version: Version, Dir: shortHome(p.cwd, p.home), Prompt: prompt,
		Keys: bindings, Box: box, Look: firstLook(w, f, p),
		Open: func(ctx context.Context, d tui.Desk) (*tui.Host, error) {
			for _, problem := range problems {
				d.Note("warning", problem.Error())
			}
			p, err := t.chosen(ctx, d, f, p)
			if err != nil {
				return nil, err
			}
			return t.open(ctx, d, f, p)
		},
	})
}

// terminalWatcher is how gofer is executed to watch over the terminal; nil where gofer cannot be executed again.
func terminalWatcher(w World) []string {
	if w.Self == nil {
		return nil
	}
	return tty.Self()
}

// firstLook is how the UI looks before the session is open: what the user's own settings say, read without anything else.
func firstLook(w World, f Flags, p place) tui.Look {
	look := tui.Look{Language: firstOf(w.Env("LC_ALL"), w.Env("LC_MESSAGES"), w.Env("LANG"))}
	store, err := config.Open(config.Options{ConfigDir: p.config, ProjectDir: p.cwd, Flag: f.Settings, ManagedJSON: f.Managed})
	if err != nil {
		return look // opening the session says what is wrong
	}
	set := store.Current().Settings
	look.Theme = set.Theme
	if set.UILanguage != "auto" && set.UILanguage != "" {
		look.Language = set.UILanguage
	}
	vim, calm := set.EditorMode == "vim", set.ReducedMotion || w.Env("GOFER_REDUCED_MOTION") != ""
	look.Vim, look.Calm = &vim, &calm
	return look
}

// A terminalUI opens sessions for the UI: the first one, and those that take its place.
type terminalUI struct {
	world World
	keys  *keys.Map

	mu  sync.Mutex
	now *engine // whose folder and agents the prompt box completes
}

func (t *terminalUI) engine() *engine {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

func (t *terminalUI) dir(start string) func() string {
	return func() string {
		if e := t.engine(); e != nil {
			return e.dir.Cwd()
		}
		return start
	}
}

// chosen is the place of the session that the flags name. Where they name none to go on with, the person picks one.
func (t *terminalUI) chosen(ctx context.Context, d tui.Desk, f Flags, p place) (place, error) {
	if !f.Resume.Set || f.Resume.Value != "" {
		return p, nil
	}
	picked, err := pickSession(ctx, d, p)
	if err != nil || picked == "" {
		return p, err
	}
	f.Resume.Value = picked
	err = p.resolveSession(f)
	return p, err
}

// open opens a session for the UI.
func (t *terminalUI) open(ctx context.Context, d tui.Desk, f Flags, p place) (*tui.Host, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := t.world
	notes, closeNotes, err := noteWriter(d)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	w.Stderr = notes
	you := newUIPerson(d, p)
	who := you.people()
	who.stays = true
	plate := ordinary(p, f, live.Person, "")
	who.asker = plate.asks(who.asker)
	e, err := newEngine(ctx, w, f, p, who)
	if err != nil {
		cancel(nil)
		closeNotes()
		return nil, err
	}
	you.seat(e)
	e.announce(plate)
	t.mu.Lock()
	t.now = e
	t.mu.Unlock()
	served := make(chan struct{})
	go func() {
		defer close(served)
		e.session.Serve(ctx)
	}()
	end := sync.OnceFunc(func() {
		cancel(errLeft)
		<-served
		e.close()
		closeNotes()
	})
	host := e.host(end)
	t.dress(host, e, d, end)
	return host, nil
}

// errLeft is why a session ends whose person has left, or gone on to another one.
var errLeft = errors.New("the person has left the session")

// noteWriter is a file whose lines are shown above the prompt: parts that know of no UI warn on standard error.
func noteWriter(d tui.Desk) (*os.File, func(), error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if text := strings.TrimSpace(lines.Text()); text != "" {
				d.Note("warning", text)
			}
		}
	}()
	return w, sync.OnceFunc(func() {
		w.Close()
		<-done
		r.Close()
	}), nil
}
