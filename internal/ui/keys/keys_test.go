package keys

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestStroke(t *testing.T) {
	t.Parallel()
	for want, key := range map[string]tea.KeyPressMsg{
		"a":            {Code: 'a', Text: "a"},
		"shift+a":      {Code: 'a', ShiftedCode: 'A', Text: "A", Mod: tea.ModShift},
		"?":            {Code: '/', ShiftedCode: '?', Text: "?", Mod: tea.ModShift},
		"space":        {Code: tea.KeySpace, Text: " "},
		"ctrl+_":       {Code: '_', Mod: tea.ModCtrl},
		"ctrl+c":       {Code: 'с', BaseCode: 'c', Mod: tea.ModCtrl}, // a Cyrillic keyboard
		"ctrl+a":       {Code: 'a', BaseCode: 'q', Mod: tea.ModCtrl}, // a French one
		"alt+b":        {Code: 'b', Mod: tea.ModAlt},
		"alt+shift+b":  {Code: 'B', Mod: tea.ModAlt},
		"shift+enter":  {Code: tea.KeyEnter, Mod: tea.ModShift},
		"shift+tab":    {Code: tea.KeyTab, Mod: tea.ModShift | tea.ModNumLock},
		"ctrl+shift+-": {Code: '-', Mod: tea.ModCtrl | tea.ModShift},
		"f5":           {Code: tea.KeyF5},
		"enter":        {Code: tea.KeyKpEnter},
	} {
		if got := Stroke(key); got != want {
			t.Errorf("Stroke(%+v) = %q, want %q", key, got, want)
		}
	}
}

func press(s string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	for {
		switch {
		case strings.HasPrefix(s, "ctrl+"):
			k.Mod, s = k.Mod|tea.ModCtrl, s[5:]
			continue
		case strings.HasPrefix(s, "alt+"):
			k.Mod, s = k.Mod|tea.ModAlt, s[4:]
			continue
		}
		break
	}
	switch s {
	case "esc":
		k.Code = tea.KeyEscape
	default:
		k.Code = rune(s[0])
		if k.Mod == 0 {
			k.Text = s
		}
	}
	return k
}

func TestSequences(t *testing.T) {
	t.Parallel()
	m := Default()
	var r Reader
	step := func(key string, contexts []Context, want Action, wantUsed bool) {
		t.Helper()
		if a, used := r.Press(m, press(key), contexts...); a != want || used != wantUsed {
			t.Errorf("%s: got %q %v, want %q %v", key, a, used, want, wantUsed)
		}
	}
	chat := []Context{Chat, Edit}
	step("x", chat, "", false)
	step("ctrl+x", chat, "", true)
	if r.Pending() != "ctrl+x" {
		t.Errorf("pending %q", r.Pending())
	}
	step("ctrl+e", chat, ExternalEditor, true)
	step("ctrl+e", chat, LineEnd, true)
	step("ctrl+x", chat, "", true)
	step("q", chat, "", true) // means nothing and is not typed
	step("q", chat, "", false)
	step("ctrl+b", chat, CharLeft, true)
	step("ctrl+b", []Context{Task, Chat, Edit}, Background, true)
	step("ctrl+t", chat, ToggleTodos, true) // from Global
	step("esc", []Context{Autocomplete, Chat}, DismissSuggestions, true)
	step("y", []Context{Confirmation}, "confirm:yes", true)
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keybindings.json")
	file := `{"$schema": "x", "bindings": [
	  {"context": "Chat", "bindings": {"ctrl+e": "chat:externalEditor", "ctrl+u": null, "K": "command:compact", "ctrl+c": "chat:submit",
	     "hyper+x": "chat:submit", "ctrl+foo": "chat:submit", "ctrl+q": "chat:sumbit", "ctrl+o": 5, "f2": "confirm:yes",
	     "ctrl+x ctrl+k": null, "ctrl+x ctrl+e": null, "ctrl+x": "chat:newline"}},
	  {"context": "Task", "bindings": {"ctrl+x ctrl+b": null}},
	  {"context": "Chatt", "bindings": {}}]}`
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	m, problems := Load(path)
	var all []string
	for _, p := range problems {
		all = append(all, p.Error())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		path + ": bindings[0] (Chat): \"ctrl+c\": Ctrl+C cannot be bound",
		`"hyper+x": "hyper" is no modifier`, `"ctrl+foo": "foo" is no key`, `no action "chat:sumbit"; in Chat there are app:interrupt`,
		`"ctrl+o": the value must be`, `confirm:yes belongs to the context Confirmation`, `bindings[2]: there is no context "Chatt"; there are Global, Chat`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the problems lack %q:\n%s", want, text)
		}
	}
	if len(problems) != 7 {
		t.Errorf("%d problems:\n%s", len(problems), text)
	}
	var r Reader
	for key, want := range map[string]Action{"ctrl+e": ExternalEditor, "ctrl+u": "", "ctrl+x": NewLine, "ctrl+o": ToggleTranscript, "ctrl+a": LineStart} {
		if a, _ := r.Press(m, press(key), Chat, Edit); a != want {
			t.Errorf("%s is %q, want %q", key, a, want)
		}
	}
	if a, _ := r.Press(m, tea.KeyPressMsg{Code: 'k', Text: "K", Mod: tea.ModShift}, Chat, Edit); a != "command:compact" {
		t.Errorf("K is %q", a)
	}
	for _, b := range m.List() {
		if b.Context == Chat && b.Action == ExternalEditor && (!b.Changed || strings.Join(b.Keys, " ") != "ctrl+g ctrl+e") {
			t.Errorf("listed as %+v", b)
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"{\n\"bindings\": [\n}":    "f:3: ",
		`{"bindings": {}}`:         "it should look like",
		"":                         "",
		"\ufeff{\"bindings\": []}": "",
	} {
		m, problems := Default().With("f", []byte(data))
		if m == nil || (want == "") != (len(problems) == 0) || want != "" && !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%q: %v", data, problems)
		}
	}
	if m, problems := Load(filepath.Join(t.TempDir(), "none.json")); m == nil || len(problems) > 0 {
		t.Errorf("no file: %v", problems)
	}
	if _, problems := Load(t.TempDir()); len(problems) == 0 {
		t.Error("a folder was read without a problem")
	}
}

// A part that knows only the default keys does what the user's keys say.
func TestTranslate(t *testing.T) {
	t.Parallel()
	m, problems := Default().With("f", []byte(`{"bindings":[{"context":"Select","bindings":{"ctrl+j":"select:next","ctrl+x j":"select:last","down":null}},
	  {"context":"Transcript","bindings":{"f3":"transcript:previousMatch"}},{"context":"Footer","bindings":{"x":"footer:next"}},{"context":"Chat","bindings":{"space":"voice:pushToTalk"}}]}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var r Reader
	for _, c := range []struct {
		key    string
		want   string
		action Action
	}{
		{"ctrl+j", "down", "select:next"}, {"up", "up", "select:previous"}, {"down", "", ""}, {"x", "x", ""}, {"ctrl+x", "", ""}, {"j", "end", "select:last"}, {"j", "j", ""},
		{"ctrl+z", "ctrl+z", Suspend}, {"enter", "enter", "select:accept"},
	} {
		action, out, given := r.Translate(m, pressed(c.key), Select)
		if got := Stroke(out); given != (c.want != "") || given && got != c.want || action != c.action {
			t.Errorf("%s becomes %s %v, %q; want %q %q", c.key, got, given, action, c.want, c.action)
		}
	}
	if _, out, given := r.Translate(m, pressed("f3"), Transcript, Scroll); !given || out.Text != "N" || Stroke(out) != "shift+n" {
		t.Errorf("f3 becomes %+v %v", out, given)
	}
	if _, out, given := r.Translate(Default(), pressed("down"), Select); !given || Stroke(out) != "down" {
		t.Errorf("without a file: %+v %v", out, given)
	}
}

// The template is the table itself: reading it changes nothing and is without problems.
func TestTemplate(t *testing.T) {
	t.Parallel()
	m, problems := Default().With("template", Template())
	if len(problems) > 0 {
		t.Error(problems)
	}
	for i, b := range Default().List() {
		if got := m.List()[i]; strings.Join(got.Keys, ",") != strings.Join(b.Keys, ",") {
			t.Errorf("%s: %v became %v", b.Action, b.Keys, got.Keys)
		}
	}
	for _, e := range table() {
		if e.help == "" {
			t.Errorf("%s has no help", e.action)
		}
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"ctrl+x ctrl+e": "Ctrl+X Ctrl+E", "shift+tab": "Shift+Tab", "esc": "Esc", "?": "?", "up": "↑", "y": "y", "ctrl++": "Ctrl++"} {
		if got := Show(in); got != want {
			t.Errorf("Show(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Default().Key(ToggleTranscript); got != "Ctrl+O" {
		t.Errorf("Key: %q", got)
	}
}
