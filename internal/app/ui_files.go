package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gofer/internal/config"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/tui"
)

// memory opens an instruction file or a memory in the editor.
func (u *uiDesk) memory(context.Context, string) tui.Action {
	files := u.e.memoryFiles()
	d := &dialogs.Picker{Title: "Instructions and memories", Intro: "Opens in your editor (VISUAL or EDITOR)."}
	for _, f := range files {
		note := ""
		if _, err := os.Stat(f[0]); err != nil {
			note = "new"
		}
		d.Rows = append(d.Rows, dialogs.Row{Name: shortHome(f[0], u.e.place.home), Detail: f[1], Note: note, Tone: dialogs.Muted})
	}
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if d.Chosen < 0 {
			return tui.Action{}
		}
		file := files[d.Chosen][0]
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return tui.Action{Err: err}
		}
		return u.edit(file, func() tui.Action {
			return tui.Action{Print: u.say("The model reads %s anew in the next session, and after /compact.", shortHome(file, u.e.place.home))}
		})
	}}
}

// memoryFiles are the files that a person may want to write what the model should know into, each with what it is for.
func (e *engine) memoryFiles() [][2]string {
	var list [][2]string
	for _, t := range e.told.instructions.MemoryTargets() {
		list = append(list, [2]string{t.Path, string(t.Source)})
	}
	seen := map[string]bool{}
	for _, f := range list {
		seen[f[0]] = true
	}
	for _, in := range e.told.instructions.List() {
		if !seen[in.Path] && in.Path != "" {
			list = append(list, [2]string{in.Path, string(in.Source)})
		}
	}
	if e.told.memory != nil {
		names, _ := filepath.Glob(filepath.Join(e.memoryDir(), "*.md"))
		for _, name := range names {
			list = append(list, [2]string{name, "memory"})
		}
	}
	return list
}

// keyName is the variable that holds the API key.
const keyName = "ANTHROPIC_API_KEY"

// login takes an API key and keeps it in the user's settings, which only the user can read.
func (u *uiDesk) login(context.Context, string) tui.Action {
	if u.e.world.Env(keyName) != "" {
		return tui.Action{Print: u.say("The environment sets %s, which counts before any other key. Change it there.", keyName)}
	}
	d := &dialogs.Ask{Title: "API key", Check: notEmpty, Field: dialogs.Field{Secret: true},
		Note: u.say("It is kept in %s, which only you can read, and never shown or sent anywhere but to the provider.", shortHome(filepath.Join(u.e.place.config, "settings.json"), u.e.place.home))}
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if !d.OK {
			return tui.Action{}
		}
		if err := u.keepKey(strings.TrimSpace(d.Text())); err != nil {
			return tui.Action{Err: err}
		}
		return tui.Action{Print: u.say("The key is kept."), Switch: u.again}
	}}
}

// keepKey writes the key, and sees to it that nobody else can read the file.
func (u *uiDesk) keepKey(key string) error {
	if strings.ContainsAny(key, " \n\t") {
		return errors.New("a key has no blanks in it")
	}
	u.e.mask.Add(keyName, key)
	if err := u.e.settings.Set(config.User, "env."+keyName, key); err != nil {
		return err
	}
	return os.Chmod(filepath.Join(u.e.place.config, "settings.json"), 0o600)
}

// logout forgets the API key.
func (u *uiDesk) logout(context.Context, string) tui.Action {
	if u.e.settings.Current().Settings.Env[keyName] == "" {
		return tui.Action{Print: u.say("There is no key in the settings.")}
	}
	if err := u.e.settings.Unset(config.User, "env."+keyName); err != nil {
		return tui.Action{Err: err}
	}
	return tui.Action{Print: u.say("The key is forgotten."), Switch: u.again}
}

// bug writes a report about the session to a file. Nothing is sent.
func (u *uiDesk) bug(_ context.Context, text string) tui.Action {
	write := func(text string) tui.Action {
		file, err := u.e.writeReport(text, time.Now())
		return done(err, u.say("The report is in %s. Nothing was sent; look through it before you hand it on.", file))
	}
	if text != "" {
		return write(text)
	}
	d := &dialogs.Ask{Title: "What is wrong?", Check: notEmpty}
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if !d.OK {
			return tui.Action{}
		}
		return write(strings.TrimSpace(d.Text()))
	}}
}

// writeReport writes what is known of the session, without secrets and without the conversation.
func (e *engine) writeReport(text string, now time.Time) (string, error) {
	dir := filepath.Join(e.place.config, "bug-reports")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# A report about gofer\n\n%s\n\n## The session\n\n", text)
	for _, r := range e.statusRows() {
		fmt.Fprintf(&b, "- %s: %s\n", r[0], r[1])
	}
	fmt.Fprintf(&b, "- Terminal: TERM=%s, COLORTERM=%s, TERM_PROGRAM=%s\n- Go: %s\n", e.world.Env("TERM"), e.world.Env("COLORTERM"), e.world.Env("TERM_PROGRAM"), runtime.Version())
	fmt.Fprintf(&b, "\n## Settings that are set\n\n%s\n", strings.Join(e.settings.Current().Keys(), ", "))
	if problems := e.settings.Current().Problems; len(problems) > 0 {
		b.WriteString("\n## Problems of the settings\n\n")
		for _, p := range problems {
			fmt.Fprintf(&b, "- %s\n", p)
		}
	}
	file := filepath.Join(dir, now.Format("2006-01-02-150405")+".md")
	return file, os.WriteFile(file, []byte(e.mask.Text(b.String())), 0o600)
}
