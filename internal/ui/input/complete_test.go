package input

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/ui/fileindex"
	"gofer/internal/ui/keys"
)

func withSources(t *testing.T, files ...string) *Box {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index := fileindex.New(root, nil)
	t.Cleanup(index.Close)
	b := New(keys.Default())
	b.Dir, b.Home = func() string { return root }, root
	b.Sources = Sources{
		Files: index,
		Commands: func() []Command {
			return []Command{{Name: "clear", Aliases: []string{"new"}, Help: "Begin a new conversation"}, {Name: "compact", Hint: "[what to keep]", Help: "Make the conversation shorter"},
				{Name: "cost", Help: "What the session cost"}, {Name: "mcp:srv:ask", Help: "A prompt of a server"}}
		},
		Others: func() []Other { return []Other{{"agent-reviewer", "reads changes"}, {"docs:file:///guide", "a guide"}} },
	}
	return b
}

func labels(b *Box) string {
	var all []string
	for _, s := range b.popup.items {
		all = append(all, s.label)
	}
	return strings.Join(all, " ")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	files := []string{"main.go", "internal/box.go", "internal/boxes.go", "my docs/read me.txt"}
	for _, c := range []struct{ keys, popup, text string }{
		{"/", "/clear /compact /cost /mcp:srv:ask", "/|"},
		{"/co", "/cost /compact", "/co|"},
		{"/cpt", "/compact", "/cpt|"},
		{"/ne", "/clear (new)", "/ne|"},
		{"/co<tab>", "", "/cost |"},
		{"/co<down><tab>", "", "/compact |"},
		{"/co<up><tab>x", "", "/compact x|"},
		{"/co<esc>", "", "/co|"},
		{"/co<esc>m", "", "/com|"},
		{"/co<esc><ctrl+u>/c", "/cost /clear /compact /mcp:srv:ask", "/c|"},
		{"/compa<enter>", "", "/compact |"},
		{"x /co", "", "x /co|"},
		{"/etc/pas", "", "/etc/pas|"},
		{"@", "internal/ main.go my docs/ agent-reviewer docs:file:///guide", "@|"},
		{"see @box", "internal/box.go internal/boxes.go", "see @box|"},
		{"see @box<tab>now", "", "see @internal/box.go now|"},
		{"see @box<enter>now", "", "see @internal/box.go now|"},
		{"@read<tab>", "", "@\"my docs/read me.txt\" |"},
		{"@my<tab>", "my docs/ my docs/read me.txt", "@\"my docs/|"},
		{"@my<tab>read<tab>", "", "@\"my docs/read me.txt\" |"},
		{"@intern<tab>boxes<tab>", "", "@internal/boxes.go |"},
		{"@rev<tab>", "", "@agent-reviewer |"},
		{"@guide<tab>", "", "@docs:file:///guide |"},
		{"me@box", "", "me@box|"},
		{"@box <left><left>", "internal/box.go internal/boxes.go", "@bo|x "},
		{"@nothinglikeit", "", "@nothinglikeit|"},
		{"a @main<tab><ctrl+_>", "main.go", "a @main|"},
	} {
		b := withSources(t, files...)
		for { // until the files are listed
			typeKeys(b, "@main")
			if b.popup.open() {
				break
			}
			b.empty()
		}
		b.empty()
		typeKeys(b, c.keys)
		if got := labels(b); got != c.popup {
			t.Errorf("%q suggests %q, want %q", c.keys, got, c.popup)
		}
		if got := withCursor(b); got != c.text {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.text)
		}
	}
	b := withSources(t)
	if m := sent(t, b, "/cos<enter>"); m.Text != "/cost" { // a command without arguments runs at once
		t.Errorf("sent %q", m.Text)
	}
	typeKeys(b, "/compact ")
	if text := strings.Join(b.View(canvas(60, 24)).Lines, "\n"); !strings.Contains(text, "/compact [what to keep]") {
		t.Errorf("the hint is missing:\n%s", text)
	}
}

func TestPathCompletion(t *testing.T) {
	t.Parallel()
	b := withSources(t, "alpha/one.txt", "alpha/only.txt", "beta.txt", "你好.txt", "你们.txt")
	root := b.Home
	for _, c := range []struct{ keys, popup, text string }{
		{"see ./al<tab>", "", "see ./alpha/|"},
		{"see ~/be<tab>", "", "see ~/beta.txt |"},
		{"./alpha/o<tab>", "./alpha/one.txt ./alpha/only.txt", "./alpha/on|"},
		{"./alpha/o<tab><down><tab>", "", "./alpha/only.txt |"},
		{root + "/b<tab>", "", root + "/beta.txt |"},
		{"./你<tab>", "./你们.txt ./你好.txt", "./你|"},
		{"beta<tab>", "", "beta|"},
		{"!cat be<tab>", "", "!cat beta.txt |"},
		{"./none<tab>", "", "./none|"},
	} {
		b.empty()
		typeKeys(b, c.keys)
		if got := labels(b); got != c.popup {
			t.Errorf("%q suggests %q, want %q", c.keys, got, c.popup)
		}
		if got := withCursor(b); got != c.text {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.text)
		}
	}
}

// pictures reads images from files, and the clipboard from one of them.
type pictures struct{ clipboard string }

func (p pictures) Clipboard(ctx context.Context) (llm.Block, error) { return p.File(ctx, p.clipboard) }

func (p pictures) File(_ context.Context, path string) (llm.Block, error) {
	data, err := os.ReadFile(path)
	return llm.Block{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: "image/png", Data: string(data)}}, err
}

func TestImages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.png", "b c.jpg"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := New(keys.Default())
	b.Images, b.Home = pictures{filepath.Join(dir, "a.png")}, dir
	m := sent(t, b, "see <ctrl+v> and <paste:"+dir+"/a.png '"+dir+"/b c.jpg'> or <paste:~/b\\ c.jpg><enter>")
	if m.Display != "see [Image #1] and [Image #2][Image #3] or [Image #4]" || len(m.Images) != 4 || m.Images[2].Media.Data != "b c.jpg" {
		t.Errorf("%+v", m)
	}
	b.SetMessage(m)
	if again := sent(t, b, "<enter>"); len(again.Images) != 4 || again.Display != m.Display {
		t.Errorf("put back and sent again: %+v", again)
	}
	if m := sent(t, b, "<ctrl+v><bs>x<enter>"); len(m.Images) != 0 || m.Text != "x" {
		t.Errorf("a deleted image was sent: %+v", m)
	}
	if m := sent(t, b, "<paste:/no/such.png><enter>"); m.Text != "/no/such.png" || len(m.Images) > 0 {
		t.Errorf("a path to nothing stays a text: %+v", m)
	}
	b.Images = pictures{filepath.Join(dir, "none")}
	if events := typeKeys(b, "<ctrl+v>"); len(events) != 1 || !strings.Contains(events[0].Notice, "none") {
		t.Errorf("an empty clipboard: %+v", events)
	}
}

func TestExternalEditor(t *testing.T) {
	t.Parallel()
	env := map[string]string{"EDITOR": "vim -f", "VISUAL": ""}
	e, err := Edit("one\n你好", func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	path := e.Argv[len(e.Argv)-1]
	if got := strings.Join(e.Argv[:2], " "); got != "vim -f" {
		t.Errorf("argv %q", e.Argv)
	}
	info, err := os.Stat(path)
	if data, _ := os.ReadFile(path); err != nil || string(data) != "one\n你好" || os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("%q %v %v", data, info, err)
	}
	if err := os.WriteFile(path, []byte("two\r\n\x1b[31mred\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := e.Finish()
	if err != nil || text != "two\nred" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is still there")
	}
	if _, err := e.Finish(); err == nil {
		t.Error("a file that is gone gave no error")
	}
	env["VISUAL"] = "/usr/bin/code"
	if got := strings.Join(editorCommand(func(k string) string { return env[k] }), " "); got != "/usr/bin/code --wait" {
		t.Errorf("argv %q", got)
	}
}
