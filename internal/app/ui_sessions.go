package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"gofer/internal/llm"
	"gofer/internal/session/history"
	"gofer/internal/session/transcript"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui"
)

// sessionPicker lists the sessions of a place.
func sessionPicker(p place, now string) *dialogs.Sessions {
	root := transcript.Root(p.config)
	return &dialogs.Sessions{
		List: func(all bool, most int) ([]dialogs.Session, error) {
			f := transcript.Filter{Limit: most}
			if !all {
				f.Project = p.projectDir()
			}
			list, err := root.List(f)
			rows := make([]dialogs.Session, len(list))
			for i, s := range list {
				rows[i] = dialogs.Session{ID: s.ID, Path: s.Path, Title: s.Title(), Prompts: s.FirstPrompt + " " + s.LastPrompt, Branch: s.Branch,
					Folder: shortHome(s.Cwd, p.home), Changed: s.Modified, Size: s.Size, Messages: s.Messages, Now: s.ID == now}
			}
			return rows, err
		},
		Read: func(s dialogs.Session) (dialogs.Page, error) { return sessionPage(s.Path) },
		Rename: func(s dialogs.Session, title string) error {
			return transcript.Rename(s.Path, title, transcript.NewMask())
		},
	}
}

// previewMessages is how much of the end of a session is shown before it is gone on with.
const previewMessages = 40

// sessionPage shows the end of a session.
func sessionPage(path string) (dialogs.Page, error) {
	state, err := transcript.Load(path, "")
	if err != nil {
		return nil, err
	}
	messages := state.Messages
	if len(messages) > previewMessages {
		messages = messages[len(messages)-previewMessages:]
	}
	return func(c screen.Canvas) []string {
		var out []string
		for _, m := range messages {
			text := strings.TrimSpace(screen.Clean(spoken(m)))
			if text == "" {
				continue
			}
			lead, style := "  ", c.Theme.Faint
			if m.Role == llm.User {
				lead, style = "> ", c.Theme.User
			}
			for i, line := range screen.Wrap(text, max(c.Width-2, 8)) {
				if i > 0 {
					lead = "  "
				}
				out = append(out, lead+style.Paint(line))
			}
			out = append(out, "")
		}
		return out
	}, nil
}

// spoken is what a person or the model said in a message, without reminders, calls and results.
func spoken(m llm.Message) string {
	var parts []string
	for _, b := range m.Blocks {
		if b.Kind == llm.Text && !strings.HasPrefix(strings.TrimSpace(b.Text), "<system-reminder>") {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// resume goes on with an older session.
func (u *uiDesk) resume(_ context.Context, ref string) tui.Action {
	if ref != "" {
		s, err := transcript.Root(u.e.place.config).Find(u.e.place.projectDir(), ref)
		if err != nil {
			return tui.Action{Err: err}
		}
		return u.goOn(s.ID, s.Path, s.Cwd)
	}
	d := sessionPicker(u.e.place, u.e.place.session)
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if d.Chosen == nil || d.Chosen.Now {
			return tui.Action{}
		}
		return u.goOn(d.Chosen.ID, d.Chosen.Path, expandHome(d.Chosen.Folder, u.e.place.home))
	}}
}

// goOn goes on with a session of this folder. One of another folder has to be gone on with there.
func (u *uiDesk) goOn(id, path, folder string) tui.Action {
	if filepath.Dir(path) != u.e.place.projectDir() {
		return tui.Action{Print: u.say("That session belongs to another folder. To go on with it: cd %s && gofer --resume %s", folder, id)}
	}
	p := u.e.place
	p.session, p.resume, p.resumeAt, p.began = id, path, "", ""
	u.e.endReason = "resume"
	f := u.onward()
	f.Mode = u.e.flags.Mode // the session has one of its own
	return tui.Action{Switch: u.another(f, p)}
}

// branch goes on in a copy of the session.
func (u *uiDesk) branch(ctx context.Context, title string) tui.Action {
	p := u.e.place
	source := p.transcript()
	if _, err := os.Stat(source); u.e.transcript == nil || err != nil {
		return tui.Action{Err: errors.New("there is nothing to copy yet")}
	}
	p.session, p.resumeAt, p.began = uuid.NewString(), "", ""
	var err error
	if p.resume, err = transcript.Fork(source, "", p.projectDir(), p.session); err != nil {
		return tui.Action{Err: err}
	}
	if err := history.Fork(u.e.place.history(), p.history()); err != nil {
		return tui.Action{Err: err}
	}
	f := u.onward()
	f.Name = title
	return tui.Action{Print: u.say("This is a copy now. The original stays: gofer --resume %s", u.e.place.session), Switch: u.another(f, p)}
}

// rewind brings files or the conversation back to before a prompt.
func (u *uiDesk) rewind(context.Context) tui.Action {
	if u.e.transcript == nil {
		return tui.Action{Err: errors.New("this session leaves no record, so there is nothing to go back to")}
	}
	state, err := transcript.Load(u.e.place.transcript(), "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tui.Action{Err: err}
	}
	d := &dialogs.Rewind{Files: u.changedSince}
	parents := map[string]string{}
	if state != nil {
		for _, p := range state.Prompts {
			d.Points = append(d.Points, dialogs.Point{ID: p.UUID, Text: p.Text, Time: p.Time})
			parents[p.UUID] = p.Parent
		}
	}
	return tui.Action{Dialog: d, Then: func(ctx context.Context) tui.Action {
		if d.Chosen == nil {
			return tui.Action{}
		}
		return u.rewindTo(ctx, *d.Chosen, parents[d.Chosen.ID], d.Reach)
	}}
}

// changedSince is what going back would do to files.
func (u *uiDesk) changedSince(p dialogs.Point) ([]dialogs.ChangedFile, error) {
	plan, err := u.e.previewRewind(u.e.ctx, p.ID)
	if err != nil {
		return nil, err
	}
	short := func(path string) string {
		if rel, err := filepath.Rel(u.e.place.cwd, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
		return path
	}
	var list []dialogs.ChangedFile
	for _, f := range plan.Files {
		list = append(list, dialogs.ChangedFile{Path: short(f.Path), Added: f.Insertions, Removed: f.Deletions})
	}
	for _, l := range plan.Left {
		list = append(list, dialogs.ChangedFile{Path: short(l.Path), Note: l.Reason})
	}
	return list, nil
}

func (u *uiDesk) rewindTo(ctx context.Context, p dialogs.Point, parent string, reach dialogs.Reach) tui.Action {
	a := tui.Action{}
	if reach != dialogs.RewindConversation {
		done, err := u.e.rewindTo(ctx, p.ID)
		if err != nil {
			return tui.Action{Err: err}
		}
		a.Print = strings.TrimRight(tellRewind(done, u.e.place), "\n")
	}
	if reach == dialogs.RewindFiles {
		return a
	}
	a.Insert = p.Text
	a.Switch = func(ctx context.Context, d tui.Desk) (*tui.Host, error) {
		if err := u.e.transcript.Rewind(ctx, parent); err != nil {
			return nil, err
		}
		return u.again(ctx, d)
	}
	return a
}

// again opens the session anew, as its record has it now.
func (u *uiDesk) again(ctx context.Context, d tui.Desk) (*tui.Host, error) {
	u.close()
	p := u.e.place
	p.resume, p.resumeAt, p.began = p.transcript(), "", ""
	if _, err := os.Stat(p.resume); err != nil {
		p.resume = "" // nothing was said yet
	}
	return u.open(ctx, d, u.onward(), p)
}

// export writes the conversation to a file or the clipboard.
func (u *uiDesk) export(_ context.Context, file string) tui.Action {
	source := u.e.place.transcript()
	if _, err := os.Stat(source); u.e.transcript == nil || err != nil {
		return tui.Action{Err: errors.New("there is nothing to export yet")}
	}
	if file != "" {
		return u.exportTo(file)
	}
	d := &dialogs.Choice{Title: "Where is the conversation to go?", Options: []string{"The clipboard", "A file"}}
	return tui.Action{Dialog: d, Then: func(ctx context.Context) tui.Action {
		switch d.Chosen {
		case 0:
			var b strings.Builder
			if err := transcript.Export(&b, source, transcript.Markdown); err != nil {
				return tui.Action{Err: err}
			}
			return u.toClipboard(ctx, b.String(), "The conversation")
		case 1:
			ask := &dialogs.Ask{Title: "Which file?", Note: "The ending says the form: .md, .json or .txt", Check: notEmpty}
			ask.Field.Set("gofer-" + time.Now().Format("2006-01-02-150405") + ".md")
			return tui.Action{Dialog: ask, Then: func(context.Context) tui.Action {
				if !ask.OK {
					return tui.Action{}
				}
				return u.exportTo(strings.TrimSpace(ask.Text()))
			}}
		}
		return tui.Action{}
	}}
}

func (u *uiDesk) exportTo(file string) tui.Action {
	said, err := u.e.exportTo(file)
	return tui.Action{Print: said, Err: err}
}

// exportTo writes the conversation to a file that is not there yet. Its ending says in which form.
func (e *engine) exportTo(file string) (string, error) {
	file = expandHome(file, e.place.home)
	if !filepath.IsAbs(file) {
		file = filepath.Join(e.dir.Cwd(), file)
	}
	format := transcript.Markdown
	switch filepath.Ext(file) {
	case ".json":
		format = transcript.JSON
	case ".txt":
		format = transcript.Text
	case "":
		file += ".md"
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("exporting the session: %w", err)
	}
	if err := errors.Join(transcript.Export(f, e.place.transcript(), format), f.Close()); err != nil {
		os.Remove(file)
		return "", fmt.Errorf("exporting the session: %w", err)
	}
	return "The conversation is in " + file + ".", nil
}
