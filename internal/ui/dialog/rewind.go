package dialog

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// A Point is a prompt that can be gone back to.
type Point struct {
	ID   string
	Text string
	Time time.Time
}

// A ChangedFile is a file that going back would change.
type ChangedFile struct {
	Path           string
	Added, Removed int
	Note           string // why it stays as it is; "": it is brought back
}

// A Reach says what is brought back.
type Reach int

// What can be brought back. The zero value is nothing.
const (
	RewindNothing Reach = iota
	RewindBoth
	RewindConversation
	RewindFiles
)

// Rewind picks a prompt to go back to, and what is to be as it was then.
type Rewind struct {
	Points []Point // oldest first
	// Files says what going back to a point would do to files; it runs outside Update. An error is shown in their place.
	Files func(p Point) ([]ChangedFile, error)
	Clock func() time.Time

	Chosen *Point // nil when done: nothing is to be done
	Reach  Reach

	done  bool
	begun bool
	list  cursor
	page  int
	open  bool
	what  cursor
	known map[string][]ChangedFile
	wrong map[string]error
	asked map[string]bool
}

type changedMsg struct {
	of    *Rewind
	id    string
	files []ChangedFile
	err   error
}

// Done reports whether there is an answer.
func (r *Rewind) Done() bool { return r.done }

func (r *Rewind) begin() {
	if !r.begun {
		r.begun = true
		r.list.at = max(len(r.Points)-1, 0)
		r.known, r.wrong, r.asked = map[string][]ChangedFile{}, map[string]error{}, map[string]bool{}
	}
}

// Init is to be run when the picker is opened.
func (r *Rewind) Init() tea.Cmd {
	r.begin()
	return r.look()
}

// look finds out what going back to the chosen point would do.
func (r *Rewind) look() tea.Cmd {
	if len(r.Points) == 0 || r.Files == nil {
		return nil
	}
	p := r.Points[r.list.at]
	if r.asked[p.ID] {
		return nil
	}
	r.asked[p.ID] = true
	files := r.Files
	return func() tea.Msg {
		list, err := files(p)
		return changedMsg{r, p.ID, list, err}
	}
}

func (r *Rewind) options() []Reach {
	p := r.Points[r.list.at]
	if len(r.known[p.ID]) == 0 {
		return []Reach{RewindConversation, RewindNothing}
	}
	return []Reach{RewindBoth, RewindConversation, RewindFiles, RewindNothing}
}

// Update takes a key, or what a command brought.
func (r *Rewind) Update(msg tea.Msg) tea.Cmd {
	r.begin()
	if m, ok := msg.(changedMsg); ok {
		if m.of == r {
			r.known[m.id], r.wrong[m.id] = m.files, m.err
		}
		return nil
	}
	k := key(msg)
	switch {
	case k == "ctrl+c", k == "esc" && !r.open, len(r.Points) == 0 && k == "enter":
		r.done = true
	case r.open:
		r.pressWhat(k)
	case k == "enter":
		r.open, r.what = true, cursor{}
		return r.look()
	case r.list.move(k, len(r.Points), r.page):
		return r.look()
	}
	return nil
}

func (r *Rewind) pressWhat(k string) {
	all := r.options()
	if len(k) == 1 && k[0] >= '1' && int(k[0]-'0') <= len(all) {
		r.what.at, k = int(k[0]-'1'), "enter"
	}
	switch {
	case k == "esc":
		r.open = false
	case k == "enter":
		r.Reach, r.done = all[min(r.what.at, len(all)-1)], true
		if r.Reach != RewindNothing {
			r.Chosen = &r.Points[r.list.at]
		}
	default:
		r.what.move(k, len(all), len(all))
	}
}

// View draws the prompts, or what can be brought back.
func (r *Rewind) View(c screen.Canvas) screen.Drawing {
	r.begin()
	s := newSheet(c, c.T("Go back to before a prompt"), c.Theme.Accent)
	if len(r.Points) == 0 {
		s.hint = c.T("Esc close")
		s.add(c.Theme.Faint.Paint(c.T("There is no prompt to go back to yet.")))
		return s.end()
	}
	if r.open {
		return r.viewWhat(s)
	}
	s.hint = c.T("Enter choose · Esc leave")
	files := r.files(c, 4)
	r.page = max(s.room(len(files)+1), 3)
	from, to := r.list.window(len(r.Points), r.page)
	for i := from; i < to; i++ {
		p := r.Points[i]
		s.add(drawRow(c, Row{Name: p.Text, Note: r.age(c, p), Tone: Muted}, i == r.list.at, c.Width-1, 0))
	}
	if line := more(c, from, to, len(r.Points)); line != "" {
		s.add(line)
	}
	s.add(files...)
	return s.end()
}

func (r *Rewind) age(c screen.Canvas, p Point) string {
	if p.Time.IsZero() {
		return ""
	}
	now := time.Now
	if r.Clock != nil {
		now = r.Clock
	}
	return Age(c, now().Sub(p.Time))
}

// files says what going back would do to files.
func (r *Rewind) files(c screen.Canvas, most int) []string {
	id := r.Points[r.list.at].ID
	list, known := r.known[id]
	switch {
	case !known && r.asked[id]:
		return []string{"", c.Theme.Faint.Paint(c.T("One moment…"))}
	case r.wrong[id] != nil, len(list) == 0:
		return []string{"", c.Theme.Faint.Paint(c.T("No file was changed since."))}
	}
	out := []string{"", c.Theme.Faint.Paint(c.F("%d files changed since:", len(list)))}
	for i, f := range list {
		if i == most && len(list) > most+1 {
			return append(out, c.Theme.Faint.Paint(c.F("  … and %d more", len(list)-i)))
		}
		note := c.Theme.Good.Paint(fmt.Sprintf("+%d", f.Added)) + " " + c.Theme.Bad.Paint(fmt.Sprintf("-%d", f.Removed))
		if f.Note != "" {
			note = c.Theme.Warn.Paint(c.T("stays: ") + oneLine(f.Note))
		}
		out = append(out, "  "+screen.Cut(oneLine(f.Path), c.Width/2, "…")+"  "+note)
	}
	return out
}

func (r *Rewind) viewWhat(s *sheet) screen.Drawing {
	c, p := s.c, r.Points[r.list.at]
	s.hint = c.T("Enter choose · Esc back")
	lines := screen.Wrap(screen.Clean(strings.TrimSpace(p.Text)), c.Width-3)
	for i, line := range lines {
		if i == 3 {
			s.add(c.Theme.Faint.Paint("│ …"))
			break
		}
		s.add(c.Theme.Faint.Paint("│ ") + line)
	}
	s.add(r.files(c, max(s.room(9), 1))...)
	s.add("")
	names := map[Reach]string{
		RewindBoth: c.T("Bring back files and conversation"), RewindConversation: c.T("Bring back the conversation only"),
		RewindFiles: c.T("Bring back files only"), RewindNothing: c.T("Leave everything as it is"),
	}
	for i, reach := range r.options() {
		text := fmt.Sprintf("%d %s", i+1, names[reach])
		if i == r.what.at {
			s.add(c.Theme.Selected.Paint("❯ " + text))
		} else {
			s.add("  " + text)
		}
	}
	return s.end()
}
