package dialog

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// A Question is one that the model asks.
type Question struct {
	Text, Header string
	Multi        bool // several options may be chosen
	Options      []Option
}

// An Option is an answer that the model offers.
type Option struct{ Label, Description, Preview string }

// A Reply is the answer to one question.
type Reply struct {
	Chosen []int  // options
	Own    string // in the person's own words
	Note   string // something to add
}

// Text is the answer in words.
func (r Reply) text(q Question) string {
	var parts []string
	for _, i := range r.Chosen {
		parts = append(parts, q.Options[i].Label)
	}
	if own := strings.TrimSpace(r.Own); own != "" {
		parts = append(parts, own)
	}
	return strings.Join(parts, ", ")
}

// Questions asks one to four questions, one on each tab, and shows all answers before they are sent.
type Questions struct {
	Questions []Question
	Agent     string
	Waiting   func() int // further requests behind this one; nil: none

	Answered bool // false when done: the person did not want to answer
	Replies  []Reply

	done    bool
	tab     int // len(Questions) is the review
	lists   []cursor
	field   Field
	writing int // what the field is for
}

// What the field of a question is for.
const (
	notWriting = iota
	writingOwn
	writingNote
)

// Done reports whether the answers were given or refused.
func (q *Questions) Done() bool { return q.done }

// Answer is the answer to a question in words.
func (q *Questions) Answer(i int) string { return q.Replies[i].text(q.Questions[i]) }

func (q *Questions) begin() {
	if len(q.Replies) != len(q.Questions) {
		q.Replies, q.lists = make([]Reply, len(q.Questions)), make([]cursor, len(q.Questions))
	}
}

// simple reports whether one choice is all there is to say.
func (q *Questions) simple() bool { return len(q.Questions) == 1 && !q.Questions[0].Multi }

// Update takes a key.
func (q *Questions) Update(msg tea.Msg) tea.Cmd {
	q.begin()
	k := key(msg)
	switch {
	case q.writing != notWriting:
		q.write(msg, k)
	case isQuit(k):
		q.done = true
	case (k == "tab" || k == "right") && !q.simple():
		q.tab = min(q.tab+1, len(q.Questions))
	case (k == "shift+tab" || k == "left") && !q.simple():
		q.tab = max(q.tab-1, 0)
	case q.tab == len(q.Questions):
		if k == "enter" && q.complete() {
			q.done, q.Answered = true, true
		}
	default:
		q.choose(k)
	}
	return nil
}

func (q *Questions) complete() bool {
	for i := range q.Questions {
		if q.Answer(i) == "" {
			return false
		}
	}
	return true
}

func (q *Questions) choose(k string) {
	question, list := q.Questions[q.tab], &q.lists[q.tab]
	rows := len(question.Options) + 1
	if n, err := strconv.Atoi(k); err == nil && n >= 1 && n <= rows {
		list.at = n - 1
		k = "enter"
	}
	switch {
	case list.move(k, rows, rows):
	case k == "n" && list.at < len(question.Options):
		q.writing = writingNote
		q.field.Set(q.Replies[q.tab].Note)
	case k == "enter" || k == "space":
		if list.at == len(question.Options) {
			q.writing = writingOwn
			q.field.Set(q.Replies[q.tab].Own)
			return
		}
		q.pick(list.at)
	}
}

func (q *Questions) pick(i int) {
	r := &q.Replies[q.tab]
	if !q.Questions[q.tab].Multi {
		r.Chosen, r.Own = []int{i}, ""
		q.next()
		return
	}
	for at, have := range r.Chosen {
		if have == i {
			r.Chosen = append(r.Chosen[:at:at], r.Chosen[at+1:]...)
			return
		}
	}
	r.Chosen = append(r.Chosen, i)
	for at := len(r.Chosen) - 1; at > 0 && r.Chosen[at] < r.Chosen[at-1]; at-- {
		r.Chosen[at], r.Chosen[at-1] = r.Chosen[at-1], r.Chosen[at]
	}
}

// next goes on to the next question, or sends the answer if there is nothing more to say.
func (q *Questions) next() {
	if q.simple() && q.Replies[0].Note == "" {
		q.done, q.Answered = true, true
		return
	}
	q.tab = min(q.tab+1, len(q.Questions))
}

func (q *Questions) write(msg tea.Msg, k string) {
	r := &q.Replies[q.tab]
	switch k {
	case "esc":
		q.writing = notWriting
	case "ctrl+c":
		q.done = true
	case "enter":
		text := strings.TrimSpace(q.field.Text())
		if q.writing == writingNote {
			r.Note, q.writing = text, notWriting
			return
		}
		q.writing = notWriting
		r.Own = text
		if text == "" {
			return
		}
		if !q.Questions[q.tab].Multi {
			r.Chosen = nil
			q.next()
		}
	default:
		q.field.Update(msg)
	}
}

// View draws the question of the chosen tab, or the review.
func (q *Questions) View(c screen.Canvas) screen.Drawing {
	q.begin()
	title := c.T("The model asks")
	if q.Agent != "" {
		title = c.F("%s asks", oneLine(q.Agent))
	}
	title += waiting(c, q.Waiting)
	s := newSheet(c, title, c.Theme.Info)
	if !q.simple() {
		s.add(q.tabs(c))
		if c.Height > 12 {
			s.add("")
		}
	}
	if q.tab == len(q.Questions) {
		return q.review(s)
	}
	return q.question(s)
}

func (q *Questions) tabs(c screen.Canvas) string {
	var parts []string
	for i, question := range q.Questions {
		name := question.Header
		if name == "" {
			name = c.F("Question %d", i+1)
		}
		mark := "○ "
		if q.Answer(i) != "" {
			mark = "● "
		}
		parts = append(parts, tabName(c, mark+oneLine(name), i == q.tab))
	}
	return strings.Join(append(parts, tabName(c, c.T("Send"), q.tab == len(q.Questions))), "  ")
}

func tabName(c screen.Canvas, name string, on bool) string {
	if on {
		return c.Theme.Selected.Paint("[" + name + "]")
	}
	return c.Theme.Faint.Paint(" " + name + " ")
}

func (q *Questions) question(s *sheet) screen.Drawing {
	c, question, reply := s.c, q.Questions[q.tab], q.Replies[q.tab]
	s.hint = c.T("Enter choose · n add a note · Esc do not answer")
	if question.Multi {
		s.hint = c.T("Space choose · Tab go on · n add a note · Esc do not answer")
	}
	if q.writing != notWriting {
		s.hint = c.T("Enter keep · Esc back")
	}
	text := screen.Wrap(c.Theme.Strong.Paint(screen.Clean(question.Text)), c.Width-1)
	preview := q.preview(c, question)
	tail := 1
	if len(preview) > 0 {
		tail += 1 + min(len(preview), 8)
	}
	if reply.Note != "" || q.writing == writingNote {
		tail++
	}
	if most := s.room(tail + 2); len(text) > most { // the option that is chosen is more to the point than the end of the question
		text = text[:max(most, min(1, s.room(tail)))]
	}
	s.add(text...)
	s.add(q.options(c, question, reply, s.room(tail))...)
	q.own(s, question, reply)
	switch {
	case q.writing == writingNote:
		s.field(c.T("Note: "), &q.field)
	case reply.Note != "":
		s.add(c.Theme.Faint.Paint(c.T("Note: ") + oneLine(reply.Note)))
	}
	if room := s.room(0); room > 2 && len(preview) > 0 {
		s.add("")
		s.add(preview[:min(len(preview), room-1)]...)
	}
	return s.end()
}

// options are the rows of the options, as many as fit. Where there is no room for all, only the chosen one is described.
func (q *Questions) options(c screen.Canvas, question Question, reply Reply, height int) []string {
	at := q.lists[q.tab].at
	var rows []string
	var owner []int // which option a row belongs to
	collect := func(described func(i int) bool) {
		rows, owner = nil, nil
		for i, o := range question.Options {
			lines := q.option(c, question, reply, i, o)
			if !described(i) {
				lines = lines[:1]
			}
			for _, line := range lines {
				rows, owner = append(rows, line), append(owner, i)
			}
		}
	}
	collect(func(int) bool { return true })
	if len(rows) > height {
		collect(func(i int) bool { return i == at })
	}
	return around(rows, owner, at, height)
}

// around returns as many rows as fit, among them those of the chosen option.
func around(rows []string, owner []int, chosen, height int) []string {
	if len(rows) <= height {
		return rows
	}
	first := 0
	for i, o := range owner {
		if o == min(chosen, owner[len(owner)-1]) {
			first = i
			break
		}
	}
	top := max(min(first, len(rows)-height), 0)
	return rows[top : top+height]
}

func (q *Questions) option(c screen.Canvas, question Question, reply Reply, i int, o Option) []string {
	mark := ""
	if question.Multi {
		mark = "[ ] "
		for _, have := range reply.Chosen {
			if have == i {
				mark = "[x] "
			}
		}
	} else if len(reply.Chosen) == 1 && reply.Chosen[0] == i {
		mark = "✓ "
	}
	text := fmt.Sprintf("%d %s%s", i+1, mark, oneLine(o.Label))
	if i == q.lists[q.tab].at {
		text = c.Theme.Selected.Paint("❯ " + text)
	} else {
		text = "  " + text
	}
	out := []string{text}
	if o.Description != "" {
		for _, line := range screen.Wrap(oneLine(o.Description), max(c.Width-7, 10)) {
			out = append(out, "      "+c.Theme.Faint.Paint(line))
		}
	}
	return out
}

// own is the row for an answer in the person's own words.
func (q *Questions) own(s *sheet, question Question, reply Reply) {
	c, i := s.c, len(question.Options)
	label := fmt.Sprintf("%d ", i+1)
	here := q.lists[q.tab].at == i
	paint := func(t string) string {
		if here {
			return c.Theme.Selected.Paint("❯ " + t)
		}
		return "  " + t
	}
	switch {
	case q.writing == writingOwn:
		s.field(paint(label), &q.field)
	case reply.Own != "":
		s.add(paint(label + oneLine(reply.Own)))
	default:
		s.add(paint(label + c.T("Something else…")))
	}
}

func (q *Questions) preview(c screen.Canvas, question Question) []string {
	at := q.lists[q.tab].at
	if at >= len(question.Options) || question.Options[at].Preview == "" {
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(screen.Clean(question.Options[at].Preview), "\n") {
		out = append(out, c.Theme.Border.Paint("│ ")+line)
	}
	return out
}

func (q *Questions) review(s *sheet) screen.Drawing {
	c := s.c
	s.hint = c.T("Enter send · Shift-Tab back · Esc do not answer")
	if !q.complete() {
		s.hint = c.T("A question has no answer yet · Shift-Tab back · Esc do not answer")
	}
	for i, question := range q.Questions {
		s.add(c.Theme.Faint.Paint(oneLine(question.Text)))
		answer := q.Answer(i)
		if answer == "" {
			s.add("  " + c.Theme.Warn.Paint(c.T("no answer")))
		} else {
			s.add("  " + oneLine(answer))
		}
		if note := q.Replies[i].Note; note != "" {
			s.add("  " + c.Theme.Faint.Paint(c.T("Note: ")+oneLine(note)))
		}
	}
	return s.end()
}
