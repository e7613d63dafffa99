package dialog

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// A Verdict is what was said to a permission request.
type Verdict int

// What can be said. The zero value is that nothing was said.
const (
	Unanswered Verdict = iota
	Once
	Always
	No        // with Feedback, if there is some
	Interrupt // no, and the turn ends
)

// A Part is one simple command of a shell command, and how it was judged.
type Part struct {
	Text   string
	Depth  int
	Asks   bool   // it is the reason for the question
	Reason string // why it passes, or why it is asked for
}

// A Scope is a place where "always" may be kept.
type Scope struct {
	Name string // "this session", "this project", …
	Kept string // the file; "" for none
}

// A Permission asks whether a call may run.
type Permission struct {
	Tool  string
	Title string // what the call does, in a few words
	Agent string // the sub-agent that asks; "" is the main one

	Parts []Part // of a shell command
	Body  Page   // what exactly: a diff, the input; nil: the parts are all

	Why    string // the reason for asking
	Origin string // the rule or mode behind it; "" for none

	Rules  []string // what "always" would let pass; none: there is no such answer
	Means  string   // for an "always" that is no rule, such as a mode: what it does
	Scopes []Scope  // where it may be kept; one or none: there is nothing to choose

	Waiting func() int // further requests behind this one; nil: none

	// The answer.
	Verdict  Verdict
	Scope    int
	Feedback string

	list    cursor
	body    scroll
	height  int // of the body when it was drawn last
	writing bool
	field   Field
}

// Done reports whether there is an answer.
func (p *Permission) Done() bool { return p.Verdict != Unanswered }

// options are the answers there are, in their order.
func (p *Permission) options() []Verdict {
	if len(p.Rules) == 0 && p.Means == "" {
		return []Verdict{Once, No, No}
	}
	return []Verdict{Once, Always, No, No}
}

// Update takes a key.
func (p *Permission) Update(msg tea.Msg) tea.Cmd {
	if p.writing {
		p.write(msg)
		return nil
	}
	k, all := key(msg), p.options()
	switch {
	case isQuit(k):
		p.Verdict = Interrupt
	case k == "tab" || k == "right":
		p.nextScope(1)
	case k == "shift+tab" || k == "left":
		p.nextScope(-1)
	case k == "enter":
		p.choose(p.list.at)
	case k == "y":
		p.choose(0)
	case k == "n":
		p.choose(len(all) - 2)
	case k == "pgup" || k == "pgdown" || k == "ctrl+u" || k == "ctrl+d":
		p.body.move(k, p.height)
	case p.list.move(k, len(all), len(all)):
	default:
		if n, err := strconv.Atoi(k); err == nil && n >= 1 && n <= len(all) {
			p.choose(n - 1)
		}
	}
	return nil
}

func (p *Permission) nextScope(by int) {
	if n := len(p.Scopes); n > 1 {
		p.Scope = (p.Scope + by + n) % n
	}
}

func (p *Permission) choose(i int) {
	all := p.options()
	p.list.at = i
	if i == len(all)-1 {
		p.writing = true
		return
	}
	p.Verdict = all[i]
}

func (p *Permission) write(msg tea.Msg) {
	switch k := key(msg); {
	case k == "esc" || k == "up":
		p.writing = false
	case k == "ctrl+c":
		p.Verdict = Interrupt
	case k == "enter":
		p.Verdict, p.Feedback = No, strings.TrimSpace(p.field.Text())
	default:
		p.field.Update(msg)
	}
}

// View draws the question.
func (p *Permission) View(c screen.Canvas) screen.Drawing {
	s := newSheet(c, p.heading(c), c.Theme.Warn)
	s.hint = c.T("Esc no, and stop · PgUp PgDn read on")
	if len(p.Scopes) > 1 && !p.writing {
		s.hint = c.T("Tab where it is kept") + " · " + s.hint
	}
	if p.writing {
		s.hint = c.T("Enter send · Esc back")
	}
	options := p.drawOptions(c)
	body := p.what(inner(c))
	why := p.why(inner(c))
	p.height = s.room(len(options) + len(why) + 2)
	if p.height < 3 { // a very low window: what is asked comes before why
		why = nil
		p.height = s.room(len(options))
	}
	s.add(p.body.cut(c, body, p.height)...)
	s.add(why...)
	if s.room(len(options)) > 0 {
		s.add("")
	}
	for i, line := range options {
		if p.writing && i == len(options)-1 {
			s.field(line, &p.field)
			continue
		}
		s.add(line)
	}
	return s.end()
}

func (p *Permission) heading(c screen.Canvas) string {
	title := p.Tool
	if p.Agent != "" {
		title += " · " + c.F("asked by %s", oneLine(p.Agent))
	}
	title += waiting(c, p.Waiting)
	return title
}

// what shows exactly what would happen.
func (p *Permission) what(c screen.Canvas) []string {
	var out []string
	if p.Title != "" {
		out = append(out, screen.Wrap(c.Theme.Strong.Paint(screen.Clean(p.Title)), c.Width)...)
	}
	if p.Body != nil {
		out = append(out, p.Body(c)...)
	}
	if len(p.Parts) < 2 {
		return out
	}
	for _, part := range p.Parts {
		mark, tone := "✓", Good
		if part.Asks {
			mark, tone = "?", Warn
		}
		indent := strings.Repeat("  ", min(part.Depth, 6))
		text := screen.Clean(part.Text)
		lines := screen.Wrap(text, max(c.Width-4-len(indent), 8))
		for i, line := range lines {
			if i == 0 {
				out = append(out, "  "+indent+paint(c, tone, mark)+" "+line)
			} else {
				out = append(out, "    "+indent+line)
			}
		}
		if part.Reason != "" && part.Asks && part.Reason != p.Why { // which is said below
			for _, line := range screen.Wrap(reason(c, oneLine(part.Reason)), max(c.Width-6-len(indent), 8)) {
				out = append(out, "      "+indent+c.Theme.Faint.Paint(line))
			}
		}
	}
	return out
}

func (p *Permission) why(c screen.Canvas) []string {
	text := reason(c, oneLine(p.Why))
	if p.Origin != "" {
		text += " (" + oneLine(p.Origin) + ")"
	}
	if text == "" {
		return nil
	}
	lines := screen.Wrap(text, c.Width)
	if len(lines) > 3 {
		lines = append(lines[:2], screen.Cut(lines[2], c.Width-1, "")+"…")
	}
	out := []string{""}
	for _, line := range lines {
		out = append(out, c.Theme.Faint.Paint(line))
	}
	return out
}

func (p *Permission) drawOptions(c screen.Canvas) []string {
	texts := []string{c.T("Yes, once")}
	if len(p.options()) == 4 {
		texts = append(texts, p.always(c))
	}
	last := c.T("No, and say what to do instead")
	if p.writing {
		last += ": "
	}
	texts = append(texts, c.T("No"), last)
	var out []string
	for i, text := range texts {
		line := fmt.Sprintf("  %d %s", i+1, text)
		if i == p.list.at {
			line = c.Theme.Selected.Paint(fmt.Sprintf("❯ %d ", i+1)) + c.Theme.Selected.Paint(text)
		}
		if p.writing && i == len(texts)-1 {
			out = append(out, line)
			continue
		}
		for j, l := range screen.Wrap(line, max(c.Width-3, 10)) {
			if j > 0 {
				l = "    " + l
			}
			out = append(out, l)
		}
	}
	return out
}

// always says exactly what the answer "always" lets pass, and where that is kept.
func (p *Permission) always(c screen.Canvas) string {
	var text string
	switch {
	case len(p.Rules) > 0 && p.Means != "":
		text = c.F("Yes, always: %s; %s", oneLine(strings.Join(p.Rules, ", ")), c.T(p.Means))
	case len(p.Rules) > 0:
		text = c.F("Yes, always: %s", oneLine(strings.Join(p.Rules, ", ")))
	default:
		text = c.F("Yes, and %s", c.T(p.Means))
	}
	if p.Scope >= len(p.Scopes) {
		return text
	}
	scope := p.Scopes[p.Scope]
	where := c.T(scope.Name)
	if scope.Kept != "" {
		where += ", " + oneLine(scope.Kept)
	}
	arrows := ""
	if len(p.Scopes) > 1 {
		arrows = " ⇥"
	}
	return text + " [" + where + "]" + arrows
}
