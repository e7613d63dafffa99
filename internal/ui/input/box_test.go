package input

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"gofer/internal/ui/keys"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

func canvas(width, height int) screen.Canvas {
	return screen.Canvas{Width: width, Height: height, Theme: theme.New("dark", colorprofile.NoTTY)}
}

// keyOf is the message for a key as the table writes it.
func keyOf(name string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	for {
		i := strings.IndexByte(name, '+')
		if i <= 0 || i == len(name)-1 {
			break
		}
		switch name[:i] {
		case "ctrl":
			k.Mod |= tea.ModCtrl
		case "alt":
			k.Mod |= tea.ModAlt
		case "shift":
			k.Mod |= tea.ModShift
		}
		name = name[i+1:]
	}
	switch name {
	case "enter":
		k.Code = tea.KeyEnter
	case "esc":
		k.Code = tea.KeyEscape
	case "tab":
		k.Code = tea.KeyTab
	case "bs":
		k.Code = tea.KeyBackspace
	case "del":
		k.Code = tea.KeyDelete
	case "left":
		k.Code = tea.KeyLeft
	case "right":
		k.Code = tea.KeyRight
	case "up":
		k.Code = tea.KeyUp
	case "down":
		k.Code = tea.KeyDown
	case "home":
		k.Code = tea.KeyHome
	case "end":
		k.Code = tea.KeyEnd
	case "space":
		k.Code, k.Text = tea.KeySpace, " "
	default:
		r, _ := utf8.DecodeRuneInString(name)
		k.Code = r
		if k.Mod == 0 {
			k.Text = name
		}
	}
	return k
}

// do runs a command and hands its messages back, until all is quiet, as the program around does.
func do(b *Box, cmd tea.Cmd, events *[]Event) {
	if cmd == nil {
		return
	}
	msg := cmd()
	if v := reflect.ValueOf(msg); v.IsValid() && v.Kind() == reflect.Slice { // a sequence or a batch of commands
		for i := range v.Len() {
			if c, ok := v.Index(i).Interface().(tea.Cmd); ok {
				do(b, c, events)
			}
		}
		return
	}
	if msg != nil {
		send(b, msg, events)
	}
}

func send(b *Box, msg tea.Msg, events *[]Event) {
	e, cmd := b.Update(msg)
	if e != (Event{}) && events != nil {
		*events = append(*events, e)
	}
	do(b, cmd, events)
}

// typeKeys plays keys: characters, and names in angle brackets.
func typeKeys(b *Box, script string) []Event {
	var events []Event
	for script != "" {
		if script[0] == '<' {
			if name, rest, ok := strings.Cut(script[1:], ">"); ok && name != "" {
				if text, ok := strings.CutPrefix(name, "paste:"); ok {
					send(b, tea.PasteMsg{Content: text}, &events)
				} else {
					send(b, keyOf(name), &events)
				}
				script = rest
				continue
			}
		}
		end := nextCluster(script, 0)
		k := tea.KeyPressMsg{Text: script[:end]}
		k.Code, _ = utf8.DecodeRuneInString(script)
		if end > utf8.RuneLen(k.Code) {
			k.Code = tea.KeyExtended
		}
		send(b, k, &events)
		script = script[end:]
	}
	return events
}

// withCursor is the text with a bar at the cursor.
func withCursor(b *Box) string {
	return b.mode.Prefix() + b.text[:b.cursor] + "|" + b.text[b.cursor:]
}

func TestEditing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keys, want string }{
		{"hello", "hello|"},
		{"hello<left><left><bs>", "he|lo"},
		{"héllo<bs><bs><bs><bs>", "h|"},
		{"e\u0301x<left><bs>", "|x"},
		{"你好<left>x", "你x|好"},
		{"👨\u200d👩\u200d👧a<left><bs>", "|a"},
		{"a👨\u200d👩\u200d👧<bs>", "a|"},
		{"한국어<bs>", "한국|"},
		{"🇩🇪🇫🇷<bs>", "🇩🇪|"},
		{"👍🏽<left>", "|👍🏽"},
		{"\u0600a<left>x<right>", "x\u0600a|"},
		{"one two<ctrl+a>x", "x|one two"},
		{"one two<ctrl+a><ctrl+e>!", "one two!|"},
		{"one two three<alt+b><alt+b>", "one |two three"},
		{"one two<ctrl+a><alt+f><alt+f>", "one two|"},
		{"one two<ctrl+a><alt+d>", "| two"},
		{"one two  <ctrl+w>", "one |"},
		{"a/b c-d<ctrl+w>", "a/b |"},
		{"one two<alt+b><ctrl+k>", "one |"},
		{"one two<alt+b><ctrl+u>", "|two"},
		{"one two<ctrl+w><ctrl+w><ctrl+y>", "one two|"},
		{"one two<ctrl+a><alt+d><alt+d><ctrl+e>x<ctrl+y>", "xone two|"},
		{"ab<ctrl+j>cd<up>", "ab|\ncd"},
		{"ab<shift+enter>c<alt+enter>d", "ab\nc\nd|"},
		{"ab\\<enter>c", "ab\nc|"},
		{"abc<ctrl+j>d<up><down>", "abc\nd|"},
		{"abcdef<ctrl+j>x<ctrl+j>abcdef<up><up>", "abcdef|\nx\nabcdef"},
		{"ab<ctrl+j>cd<ctrl+a><ctrl+u>", "ab|cd"},
		{"ab<ctrl+j>cd<up><ctrl+k>", "ab|cd"},
		{"one two<ctrl+_>", "one |"},
		{"one two<ctrl+_><ctrl+_>", "one|"},
		{"one two<ctrl+_><ctrl+_><alt+_><alt+_>", "one two|"},
		{"one<ctrl+w><ctrl+_>", "one|"},
		{"abc<ctrl+d>", "abc|"},
		{"abc<ctrl+a><ctrl+d>", "|bc"},
		{"abc<ctrl+a><del><ctrl+f><ctrl+b>x", "x|bc"},
		{"!ls -l", "!ls -l|"},
		{"!ls<ctrl+a><bs>", "|ls"},
		{"!<bs>a", "a|"},
		{"#note", "#note|"},
		{"a!#", "a!#|"},
		{"a<tab>b", "ab|"},
		{"x?", "x?|"},
		{"a<paste:b\tc\r\nd>", "ab\tc\nd|"},
		{"<paste:\x1b[31mred\x1b[0m\x00\x07 \u202eabc\u200b>", "red abc|"},
		{"<paste:bad\xff\xfe>!", "bad\uFFFD\uFFFD!|"},
		{"one<ctrl+s>two", "two|"},
		{"one<ctrl+s><ctrl+s>", "one|"},
		{"!one<ctrl+s>two<ctrl+s><ctrl+s>", "two|"},
	} {
		b := New(keys.Default())
		typeKeys(b, c.keys)
		if got := withCursor(b); got != c.want {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestActionsOfOthers(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]keys.Action{
		"<esc>": keys.Cancel, "<shift+tab>": keys.CycleMode, "<ctrl+c>": keys.Interrupt, "<ctrl+d>": keys.Exit, "?": keys.ShowHelp,
		"abc<ctrl+o>": keys.ToggleTranscript, "<ctrl+x><ctrl+e>": keys.ExternalEditor, "<ctrl+g>": keys.ExternalEditor, "<ctrl+l>": keys.Redraw,
	} {
		events := typeKeys(New(keys.Default()), script)
		if len(events) != 1 || events[0].Action != want {
			t.Errorf("%q gives %+v, want %s", script, events, want)
		}
	}
	b := New(keys.Default())
	b.Running = true
	if events := typeKeys(b, "ab<ctrl+b>"); len(events) != 1 || events[0].Action != keys.Background {
		t.Errorf("Ctrl-B while something runs: %+v", events)
	}
}

func sent(t *testing.T, b *Box, script string) Message {
	t.Helper()
	for _, e := range typeKeys(b, script) {
		if e.Sent != nil {
			return *e.Sent
		}
	}
	t.Fatalf("%q sent nothing", script)
	return Message{}
}

func TestSending(t *testing.T) {
	t.Parallel()
	b := New(keys.Default())
	long := strings.Repeat("line\n", 5) + "end"
	m := sent(t, b, "look at <paste:"+long+"> and <paste:"+strings.Repeat("x", 900)+"> @main.go @\"a b.txt\"  <enter>")
	if m.Display != "look at [Pasted text #1 +5 lines] and [Pasted text #2] @main.go @\"a b.txt\"" {
		t.Errorf("display %q", m.Display)
	}
	if want := "look at " + long + " and " + strings.Repeat("x", 900) + " @main.go @\"a b.txt\""; m.Text != want {
		t.Errorf("text %q", m.Text)
	}
	if strings.Join(m.Mentions, "|") != "main.go|a b.txt" || len(m.Pastes) != 2 || m.Mode != Prompt {
		t.Errorf("%+v", m)
	}
	if !b.Empty() {
		t.Errorf("after sending the box holds %q", b.Text())
	}
	if m := sent(t, b, "!ls<enter>"); m.Mode != Shell || m.Text != "ls" || m.Display != "!ls" {
		t.Errorf("%+v", m)
	}
	if m := sent(t, b, "#be brief<enter>"); m.Mode != Memory || m.Text != "be brief" {
		t.Errorf("%+v", m)
	}
	if events := typeKeys(b, "  <ctrl+j> <enter>"); len(events) > 0 {
		t.Errorf("blanks were sent: %+v", events)
	}
}

func TestMarksAreOneCharacter(t *testing.T) {
	t.Parallel()
	b := New(keys.Default())
	paste := strings.Repeat("a\n", 10)
	typeKeys(b, "x<paste:"+paste+">y<left><left>z")
	if got := withCursor(b); got != "xz|[Pasted text #1 +10 lines]y" {
		t.Errorf("over the mark: %q", got)
	}
	typeKeys(b, "<right><bs>")
	if got := withCursor(b); got != "xz|y" {
		t.Errorf("backspace at the mark: %q", got)
	}
	typeKeys(b, "<ctrl+_>")
	if m := sent(t, b, "<enter>"); m.Text != "xz"+paste+"y" {
		t.Errorf("after undo the paste is %q", m.Text)
	}
	// A mark inside of a paste is a text.
	if m := sent(t, b, "<paste:[Pasted text #1 +4 lines]\n\n\n\n><enter>"); m.Text != "[Pasted text #1 +4 lines]\n\n\n\n" {
		t.Errorf("nested: %q", m.Text)
	}
	typeKeys(b, "a<paste:"+paste+">")
	if b.SetText(b.Whole() + " more"); b.Text() != "a[Pasted text #1 +10 lines] more" {
		t.Errorf("after the editor: %q", b.Text())
	}
}

func TestQueueMessagesCanBeChanged(t *testing.T) {
	t.Parallel()
	b := New(keys.Default())
	paste := strings.Repeat("a\n", 10)
	m := sent(t, b, "!x <paste:"+paste+"><enter>")
	b.SetMessage(m)
	if again := sent(t, b, "<enter>"); !reflect.DeepEqual(m, again) {
		t.Errorf("%+v became %+v", m, again)
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see @a/b.go, and @c.": "a/b.go|c", "mail me@example.org": "", "(@x/y)": "x/y", "@a#L10-20": "a#L10-20", `@"my file.txt"#L3`: "my file.txt#L3",
		"@": "", "@ x": "", `@"open`: "", "@docs:file:///x?": "docs:file:///x", "用@文件.txt": "", "看，@文件.txt。": "文件.txt", "@agent-reviewer please": "agent-reviewer",
	} {
		if got := strings.Join(Mentions(text), "|"); got != want {
			t.Errorf("%q mentions %q, want %q", text, got, want)
		}
	}
	for _, path := range []string{"a b.txt", "x(1).go", "end.", "plain.go", "dir/", `qu"ote`, "line\nend", "bad\xffname", `back\slash n`, "tab\there"} {
		quoted := QuoteMention(path)
		if got := Mentions("see " + quoted + " and"); len(got) != 1 || got[0] != path {
			t.Errorf("%q written as %s is read as %q", path, quoted, got)
		}
		if Clean(quoted) != quoted {
			t.Errorf("%s cannot stand in the box", quoted)
		}
	}
}
