package dialog

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

func TestPermissionAnswers(t *testing.T) {
	t.Parallel()
	scopes := []Scope{{Name: "session"}, {Name: "project"}, {Name: "user"}}
	for _, c := range []struct {
		keys     []string
		verdict  Verdict
		scope    int
		feedback string
	}{
		{[]string{"1"}, Once, 1, ""},
		{[]string{"enter"}, Once, 1, ""},
		{[]string{"y"}, Once, 1, ""},
		{[]string{"2"}, Always, 1, ""},
		{[]string{"tab", "2"}, Always, 2, ""},
		{[]string{"tab", "tab", "down", "enter"}, Always, 0, ""},
		{[]string{"left", "2"}, Always, 0, ""},
		{[]string{"3"}, No, 1, ""},
		{[]string{"n"}, No, 1, ""},
		{[]string{"4", "type:use fd 你好", "enter"}, No, 1, "use fd 你好"},
		{[]string{"up", "enter", "type:x", "enter"}, No, 1, "x"},
		{[]string{"4", "type:x", "esc", "1"}, Once, 1, ""},
		{[]string{"4", "type:1234", "enter"}, No, 1, "1234"},
		{[]string{"esc"}, Interrupt, 1, ""},
		{[]string{"4", "ctrl+c"}, Interrupt, 1, ""},
		{[]string{"5", "x", "9"}, Unanswered, 1, ""},
	} {
		p := &Permission{Tool: "Bash", Rules: []string{"Bash(ls:*)"}, Scopes: scopes, Scope: 1}
		send(p, c.keys...)
		if p.Verdict != c.verdict || p.Scope != c.scope || p.Feedback != c.feedback || p.Done() != (c.verdict != Unanswered) {
			t.Errorf("%q: %v %d %q", c.keys, p.Verdict, p.Scope, p.Feedback)
		}
	}
	// Without a rule to suggest there are three answers.
	p := &Permission{Tool: "Bash"}
	send(p, "2")
	if p.Verdict != No {
		t.Errorf("2 without a rule: %v", p.Verdict)
	}
}

// The Enter of somebody who types when a dialog comes up is not an answer, and what they typed is not lost.
func TestQuiet(t *testing.T) {
	t.Parallel()
	p := &Permission{Tool: "Bash"}
	q, cmd := Hush(p, true)
	if cmd == nil {
		t.Fatal("nothing ends the quiet")
	}
	if got := looks(t, q, 80, 24); !strings.Contains(got, "still goes to the prompt") {
		t.Errorf("nothing says that it takes no keys yet:\n%s", got)
	}
	first := quietMsg{q, q.round}
	q.Update(press("o"))
	q.Update(press("k"))
	q.Update(press("enter"))
	q.Update(first) // too early: keys have come since
	q.Update(press("enter"))
	if p.Done() {
		t.Fatal("a key that was not meant for the dialog answered it")
	}
	if got := q.Missed(); len(got) != 2 || key(got[0]) != "o" || key(got[1]) != "k" {
		t.Errorf("these keys are given back: %v", got)
	}
	q.Update(quietMsg{q, q.round})
	q.Update(press("enter"))
	if p.Verdict != Once {
		t.Errorf("after the quiet: %v", p.Verdict)
	}
	p = &Permission{Tool: "Bash"}
	q, _ = Hush(p, false)
	q.Update(press("2"))
	if p.Verdict != No {
		t.Errorf("while nobody typed: %v", p.Verdict)
	}
}

func TestPlanAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys    []string
		verdict PlanVerdict
		words   string
	}{
		{[]string{"1"}, PlanEdits, ""}, {[]string{"down", "enter"}, PlanManual, ""}, {[]string{"esc"}, PlanInterrupt, ""},
		{[]string{"3", "type:smaller", "enter"}, PlanOn, "smaller"}, {[]string{"pgdown", "3", "enter"}, PlanOn, ""}, {[]string{"x"}, PlanUnanswered, ""},
	} {
		p := &Plan{Body: Text("do it")}
		send(p, c.keys...)
		if p.Verdict != c.verdict || p.Feedback != c.words {
			t.Errorf("%q: %v %q", c.keys, p.Verdict, p.Feedback)
		}
	}
}

func TestQuestionAnswers(t *testing.T) {
	t.Parallel()
	one := &Questions{Questions: sampleQuestions().Questions[:1]}
	send(one, "2")
	if !one.Answered || one.Answer(0) != "SQLite" {
		t.Errorf("one question: %v %q", one.Answered, one.Answer(0))
	}
	q := sampleQuestions()
	send(q, "1", "3", "1", "4", "type:BSD", "enter", "tab", "enter")
	if !q.Answered || q.Answer(0) != "PostgreSQL" || q.Answer(1) != "Linux, Windows, BSD" {
		t.Errorf("two questions: %v %q %q", q.Answered, q.Answer(0), q.Answer(1))
	}
	q = sampleQuestions()
	send(q, "1", "tab", "enter")
	if q.Done() {
		t.Error("it was sent without an answer to the second question")
	}
	send(q, "esc")
	if !q.Done() || q.Answered {
		t.Error("Esc did not leave it unanswered")
	}
}

func TestPickerPicks(t *testing.T) {
	t.Parallel()
	p := samples()["model"]().(*Picker)
	send(p, "right", "enter")
	if p.Chosen != 1 || p.Level != "high" {
		t.Errorf("%d %q", p.Chosen, p.Level)
	}
	p = samples()["model"]().(*Picker)
	send(p, "type:haiku", "enter")
	if p.Chosen != 2 || p.Level != "" {
		t.Errorf("by search: %d %q", p.Chosen, p.Level)
	}
	p = samples()["model"]().(*Picker)
	send(p, "end", "type:my-model", "enter")
	if p.Chosen != 3 || p.Own != "my-model" {
		t.Errorf("another: %d %q", p.Chosen, p.Own)
	}
	p = samples()["model"]().(*Picker)
	send(p, "type:xyz", "enter", "esc", "esc")
	if !p.Done() || p.Chosen != -1 {
		t.Errorf("left: %v %d", p.Done(), p.Chosen)
	}
}

func TestSessionPicks(t *testing.T) {
	t.Parallel()
	var asked []int
	p := sampleSessions(5000)
	list := p.List
	p.List = func(all bool, most int) ([]Session, error) {
		asked = append(asked, most)
		return list(all, most)
	}
	drive(p, "type:4711", "enter")
	if p.Chosen == nil || p.Chosen.ID != "id-4711" {
		t.Errorf("picked %+v", p.Chosen)
	}
	if !slices.Equal(asked, []int{firstSessions, 0}) {
		t.Errorf("the list was read as %v: first the newest, then all", asked)
	}
	p = sampleSessions(3)
	renamed := ""
	p.Rename = func(s Session, title string) error {
		renamed = s.ID + "=" + title
		return nil
	}
	drive(p, "down", "ctrl+r", "ctrl+u", "type:New name", "enter", "esc")
	if renamed != "id-1=New name" || !p.Done() || p.Chosen != nil {
		t.Errorf("renamed %q, %v", renamed, p.Chosen)
	}
}

func TestRewindReach(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys  []string
		id    string
		reach Reach
	}{
		{[]string{"enter", "1"}, "p7", RewindConversation}, // no file changed since
		{[]string{"up", "enter", "1"}, "p6", RewindBoth},
		{[]string{"up", "enter", "down", "down", "enter"}, "p6", RewindFiles},
		{[]string{"home", "enter", "2"}, "p0", RewindConversation},
		{[]string{"enter", "esc", "esc"}, "", RewindNothing},
		{[]string{"up", "enter", "4"}, "", RewindNothing},
	} {
		r := sampleRewind()
		drive(r, c.keys...)
		id := ""
		if r.Chosen != nil {
			id = r.Chosen.ID
		}
		if !r.Done() || id != c.id || r.Reach != c.reach {
			t.Errorf("%q: %v %q %v", c.keys, r.Done(), id, r.Reach)
		}
	}
}

func TestManagerActs(t *testing.T) {
	t.Parallel()
	var did []string
	items := []string{"one", "two"}
	m := &Manager{Load: func() ([]Section, error) {
		s := Section{Acts: []Act{{Key: "a", Name: "add", Text: "Name", Do: func(text string) (string, error) {
			items = append(items, text)
			return "added", nil
		}}, {Key: "g", Name: "go", Text: "Name", Leave: true}}}
		for _, id := range items {
			s.Items = append(s.Items, Item{ID: id, Name: id, Acts: []Act{{Key: "d", Name: "delete", Confirm: "Sure?", Do: func(string) (string, error) {
				did = append(did, "deleted "+id)
				items = slices.DeleteFunc(items, func(s string) bool { return s == id })
				return "", nil
			}}}})
		}
		return []Section{s}, nil
	}}
	drive(m, "a", "type:three", "enter", "down", "d", "n", "d", "y")
	if !slices.Equal(did, []string{"deleted two"}) || !slices.Equal(items, []string{"one", "three"}) {
		t.Errorf("%v, left are %v", did, items)
	}
	if got := looks(t, m, 80, 24); !strings.Contains(got, "three") || strings.Contains(got, "two") {
		t.Errorf("the list is not read anew:\n%s", got)
	}
	send(m, "/", "type:thr", "enter", "g", "type:away", "enter")
	if !m.Done() || m.Left != "go" || m.LeftItem != "three" || m.LeftText != "away" {
		t.Errorf("%v %q %q %q", m.Done(), m.Left, m.LeftItem, m.LeftText)
	}
}

func TestFormValues(t *testing.T) {
	t.Parallel()
	f := sampleForm()
	// The number is wrong at first, and the form goes back to it.
	send(f, "type:Ann 你好", "tab", "right", "right", "tab", "type:11", "tab", "tab", "tab", "enter")
	if f.Done() || f.at != 2 {
		t.Fatalf("a number that is too large was taken: %v %d", f.Action, f.at)
	}
	send(f, "backspace", "tab", "type:ann@example.com", "tab", "space", "tab", "enter")
	want := map[string]any{"name": "Ann 你好", "size": "m", "count": int64(1), "mail": "ann@example.com", "sure": false}
	if f.Action != "accept" || !reflect.DeepEqual(f.Values, want) {
		t.Errorf("%s %v", f.Action, f.Values)
	}
	f = sampleForm()
	send(f, "shift+tab", "enter")
	if f.Action != "decline" {
		t.Errorf("declined: %q", f.Action)
	}
	f = sampleForm()
	send(f, "esc")
	if f.Action != "cancel" {
		t.Errorf("left: %q", f.Action)
	}
	for _, bad := range []string{`{"properties":{"x":{"type":"object"}}}`, `{"properties":[]}`, `[`} {
		if _, err := Entries([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys  []string
		text  string
		caret int
	}{
		{[]string{"type:你好", "left"}, "你好", 2},
		{[]string{"type:a👩‍👩‍👧b", "left", "backspace"}, "ab", 1},
		{[]string{"type:한글", "backspace"}, "한", 2},
		{[]string{"type:one two three", "ctrl+w"}, "one two ", 8},
		{[]string{"type:one two", "alt+left", "ctrl+k"}, "one ", 4},
		{[]string{"type:abc", "home", "type:x", "end", "type:y"}, "xabcy", 5},
		{[]string{"type:abc", "ctrl+u"}, "", 0},
		{[]string{"type:e", "type:\u0301", "backspace"}, "", 0},
	} {
		a := &Ask{Title: "x"}
		send(a, c.keys...)
		d := a.View(canvas(80, 10))
		if a.Text() != c.text || d.Cursor.X-3 != c.caret {
			t.Errorf("%q: %q, caret %d", c.keys, a.Text(), d.Cursor.X-3)
		}
	}
	f := &Field{}
	f.Update(tea.PasteMsg{Content: "a\r\nb\x1b[2J\x00c" + strings.Repeat("x", 1<<20)})
	if got := f.Text(); len(got) > mostTyped || !strings.HasPrefix(got, "a") || strings.ContainsAny(got, "\x1b\x00") {
		t.Errorf("a paste came in as %d bytes: %.20q", len(got), got)
	}
	if line, _ := f.draw(canvas(20, 1), 20); screen.Width(line) > 20 {
		t.Errorf("drawn too wide: %q", line)
	}
}

func TestViewSearch(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	v := &View{Title: "x", Tabs: []Tab{{Body: Text(b.String())}}}
	looks(t, v, 80, 10)
	send(v, "/", "type:LINE 321", "enter")
	if got := looks(t, v, 80, 10); !strings.Contains(got, "line 321") {
		t.Errorf("the search led to\n%s", got)
	}
	send(v, "q")
	if !v.Done() {
		t.Error("q does not close it")
	}
}

// An output is seen from its end, and followed until somebody looks further up.
func TestTailFollows(t *testing.T) {
	t.Parallel()
	lines := 100
	m := &Manager{Load: func() ([]Section, error) {
		return []Section{{Items: []Item{{ID: "job", Name: "job", Tail: true, Read: func() (Page, error) {
			var b strings.Builder
			for i := range lines {
				fmt.Fprintf(&b, "tick %d\n", i)
			}
			return Text(b.String()), nil
		}}}}}, nil
	}}
	shows := func(want string) {
		t.Helper()
		if got := looks(t, m, 80, 12); !strings.Contains(got, want+"\n") {
			t.Errorf("it does not show %q:\n%s", want, got)
		}
	}
	more := func() {
		lines += 10
		finish(m, m.Update(liveMsg{m}))
	}
	drive(m, "enter")
	shows(" tick 99")
	more()
	shows(" tick 109")
	send(m, "pgup")
	shows(" tick 100")
	more()
	shows(" tick 100")
	send(m, "end")
	shows(" tick 119")
	more()
	shows(" tick 129")
}

// A key in a list of thousands of rows is answered at once.
func BenchmarkSessionsKey(b *testing.B) {
	p := sampleSessions(5000)
	drive(p)
	c := canvas(140, 40)
	keys := []tea.Msg{press("4"), press("down"), press("backspace"), press("pgdown")}
	for i := 0; b.Loop(); i++ {
		p.Update(keys[i%len(keys)])
		p.View(c)
	}
}
