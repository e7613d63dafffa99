package dialog

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// A PlanVerdict is what was said to a plan.
type PlanVerdict int

// What can be said. The zero value is that nothing was said.
const (
	PlanUnanswered PlanVerdict = iota
	PlanEdits                  // approved; edits pass without asking
	PlanManual                 // approved; what is not read-only is asked for
	PlanOn                     // go on planning, with Feedback
	PlanInterrupt              // no, and the turn ends
)

// A Plan asks whether a plan is to be carried out.
type Plan struct {
	Body    Page       // the plan
	Kinds   []string   // kinds of commands that may then run without asking
	File    string     // where the plan stands
	Waiting func() int // further requests behind this one; nil: none

	Verdict  PlanVerdict
	Feedback string

	list    cursor
	body    scroll
	height  int
	writing bool
	field   Field
}

// Done reports whether there is an answer.
func (p *Plan) Done() bool { return p.Verdict != PlanUnanswered }

// Update takes a key.
func (p *Plan) Update(msg tea.Msg) tea.Cmd {
	k := key(msg)
	if p.writing {
		switch {
		case k == "esc" || k == "up":
			p.writing = false
		case k == "ctrl+c":
			p.Verdict = PlanInterrupt
		case k == "enter":
			p.Verdict, p.Feedback = PlanOn, strings.TrimSpace(p.field.Text())
		default:
			p.field.Update(msg)
		}
		return nil
	}
	switch {
	case isQuit(k):
		p.Verdict = PlanInterrupt
	case k == "enter":
		p.choose(p.list.at)
	case k == "1" || k == "2" || k == "3":
		n, _ := strconv.Atoi(k)
		p.choose(n - 1)
	case k == "up" || k == "down":
		p.list.move(k, 3, 3)
	default:
		p.body.move(k, p.height)
	}
	return nil
}

func (p *Plan) choose(i int) {
	p.list.at = i
	if i == 2 {
		p.writing = true
		return
	}
	p.Verdict = []PlanVerdict{PlanEdits, PlanManual}[i]
}

// View draws the plan and the answers.
func (p *Plan) View(c screen.Canvas) screen.Drawing {
	title := c.T("Is this plan to be carried out?")
	title += waiting(c, p.Waiting)
	s := newSheet(c, title, c.Theme.PlanMode)
	s.hint = c.T("PgUp PgDn read on · Esc stop")
	if p.writing {
		s.hint = c.T("Enter send · Esc back")
	}
	extra := p.extra(c)
	p.height = s.room(len(extra) + 4)
	var lines []string
	if p.Body != nil {
		lines = p.Body(inner(c))
	}
	s.add(p.body.cut(c, lines, p.height)...)
	s.add(extra...)
	s.add("")
	texts := []string{c.T("Yes, and accept edits"), c.T("Yes, and ask before each edit"), c.T("No, plan on")}
	for i, text := range texts {
		line := "  " + strconv.Itoa(i+1) + " " + text
		if i == p.list.at {
			line = c.Theme.Selected.Paint("❯ " + strconv.Itoa(i+1) + " " + text)
		}
		if i == 2 && p.writing {
			s.field(line+": ", &p.field)
			continue
		}
		s.add(line)
	}
	return s.end()
}

func (p *Plan) extra(c screen.Canvas) []string {
	var out []string
	if len(p.Kinds) > 0 {
		text := c.F("May then run without asking: %s", oneLine(strings.Join(p.Kinds, "; ")))
		for _, line := range screen.Wrap(text, c.Width-1) {
			out = append(out, c.Theme.Faint.Paint(line))
		}
	}
	if p.File != "" {
		out = append(out, c.Theme.Faint.Paint(oneLine(p.File)))
	}
	if len(out) > 0 {
		out = append([]string{""}, out...)
	}
	return out
}
