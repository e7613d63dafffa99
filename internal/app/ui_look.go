package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"gofer/internal/config"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
	"gofer/internal/ui/tui"
)

// theme lets the colours be chosen.
func (u *uiDesk) theme(_ context.Context, _ string) tui.Action {
	now := u.e.settings.Current().Settings.Theme
	names := append([]string{"auto"}, theme.Names()...)
	about := map[string]string{
		"auto": "as the terminal's background is", "dark": "for dark backgrounds", "light": "for light backgrounds",
		"dark-daltonized": "dark, without red against green", "light-daltonized": "light, without red against green",
		"dark-ansi": "dark, the terminal's own 16 colours", "light-ansi": "light, the terminal's own 16 colours",
	}
	d := &dialogs.Picker{Title: "Colours", Preview: func(c screen.Canvas, row int) []string { return themeSample(c, names[row]) }}
	for _, n := range names {
		d.Rows = append(d.Rows, dialogs.Row{Name: n, Detail: about[n], Now: n == now})
	}
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if d.Chosen < 0 {
			return tui.Action{}
		}
		a := done(u.e.settings.Set(config.User, "theme", names[d.Chosen]), u.say("The colours are %s now.", names[d.Chosen]))
		if a.Err == nil {
			a.Look = &tui.Look{Theme: names[d.Chosen]}
		}
		return a
	}}
}

// themeSample shows what a theme looks like, with as many colours as the terminal has now.
func themeSample(c screen.Canvas, name string) []string {
	t := c.Theme
	if name != "auto" && c.Theme.Strong.On() != "" {
		t = theme.New(name, profileOf(c.Theme))
	}
	return []string{
		t.Heading.Paint("A heading") + "  " + t.Strong.Paint("strong") + "  " + t.Faint.Paint("faint") + "  " + t.Code.Paint("code") + "  " + t.Link.Paint("a link"),
		t.Keyword.Paint("func") + " " + t.Function.Paint("greet") + "(name " + t.Type.Paint("string") + ") { print(" + t.Text.Paint(`"hello"`) + ", " + t.Number.Paint("42") + ") " + t.Comment.Paint("// a comment"),
		t.Removed.Paint("- what ") + t.RemovedWord.Paint("was") + t.Removed.Paint(" there"),
		t.Added.Paint("+ what ") + t.AddedWord.Paint("is") + t.Added.Paint(" there"),
		t.Good.Paint("✓ good") + "  " + t.Warn.Paint("! careful") + "  " + t.Bad.Paint("✗ bad") + "  " + t.PlanMode.Paint("plan") + "  " + t.EditMode.Paint("edits"),
	}
}

// profileOf tells by the sequences of a theme how many colours the terminal has.
func profileOf(t *theme.Theme) colorprofile.Profile {
	switch on := t.Accent.On(); {
	case on == "":
		return colorprofile.ASCII
	case strings.Contains(on, "38;2"), strings.Contains(on, "38:2"):
		return colorprofile.TrueColor
	case strings.Contains(on, "38;5"), strings.Contains(on, "38:5"):
		return colorprofile.ANSI256
	}
	return colorprofile.ANSI
}

// vim switches vim keys on or off.
func (u *uiDesk) vim(context.Context, string) tui.Action {
	on := u.e.settings.Current().Settings.EditorMode != "vim"
	mode, said := "normal", u.say("The prompt box has its usual keys.")
	if on {
		mode, said = "vim", u.say("The prompt box has vim keys: Esc for normal mode, i to insert.")
	}
	a := done(u.e.settings.Set(config.User, "editorMode", mode), said)
	if a.Err == nil {
		a.Look = &tui.Look{Vim: &on}
	}
	return a
}

// outputStyle lets be chosen how replies are written.
func (u *uiDesk) outputStyle(_ context.Context, args string) tui.Action {
	styles, _ := u.e.styles() // what is wrong with one of them was said when the session began
	now := u.e.outputStyle()
	set := func(name string) tui.Action {
		return done(u.e.settings.Set(config.Local, "outputStyle", name), u.say("Replies are written in the style %s from the next session on, or after /compact.", name))
	}
	if args != "" {
		for _, s := range styles {
			if strings.EqualFold(s.Name, args) {
				return set(s.Name)
			}
		}
		return tui.Action{Err: fmt.Errorf("there is no style %q", args)}
	}
	d := &dialogs.Picker{Title: "How replies are written"}
	for _, s := range styles {
		d.Rows = append(d.Rows, dialogs.Row{Name: s.Name, Detail: s.Description, Now: s.Name == now})
	}
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if d.Chosen < 0 {
			return tui.Action{}
		}
		return set(styles[d.Chosen].Name)
	}}
}

// statusLine lets the command be set that prints the status line.
func (u *uiDesk) statusLine(_ context.Context, args string) tui.Action {
	set := func(command string) tui.Action {
		if command == "" {
			return done(u.e.settings.Unset(config.User, "statusLine"), u.say("The status line is gofer's own again."))
		}
		u.desk.Refresh()
		return done(u.e.settings.Set(config.User, "statusLine", map[string]any{"type": "command", "command": command}), u.say("The status line comes from %s.", command))
	}
	if args != "" {
		return set(args)
	}
	d := &dialogs.Ask{Title: "The status line", Note: "A command whose first line of output is shown below the prompt. It gets the state of the session as JSON on standard input. Empty: gofer's own."}
	if now := u.e.settings.Current().Settings.StatusLine; now != nil {
		d.Field.Set(now.Command)
	}
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if !d.OK {
			return tui.Action{}
		}
		return set(strings.TrimSpace(d.Text()))
	}}
}

// keybindings opens the file with the user's keys.
func (u *uiDesk) keybindings(context.Context, string) tui.Action {
	file := filepath.Join(u.e.place.config, "keybindings.json")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, keys.Template(), 0o600)); err != nil {
			return tui.Action{Err: err}
		}
	}
	return u.edit(file, func() tui.Action {
		if _, problems := keys.Load(file); len(problems) > 0 {
			return tui.Action{Err: errors.Join(problems...)}
		}
		return tui.Action{Print: u.say("The keys in %s count from the next start on.", shortHome(file, u.e.place.home))}
	})
}

// edit opens a file in the user's editor, and goes on with what comes after it.
func (u *uiDesk) edit(file string, after func() tui.Action) tui.Action {
	return tui.Action{
		Release: func(ctx context.Context) error { return u.runEditor(ctx, file) },
		Then:    func(context.Context) tui.Action { return after() },
	}
}

func (u *uiDesk) runEditor(ctx context.Context, file string) error {
	w := u.e.world
	usual := "vi"
	if runtime.GOOS == "windows" {
		usual = "notepad"
	}
	env := environment(w, u.e.settings.Current())
	words := strings.Fields(firstOf(env("VISUAL"), env("EDITOR"), usual))
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = w.Stdin, w.Stdout, w.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %s (see the variables VISUAL and EDITOR): %w", words[0], err)
	}
	return nil
}
