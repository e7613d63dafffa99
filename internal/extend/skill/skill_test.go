package skill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// write writes a file and the folders above it.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func names(list []*Skill) string {
	var all []string
	for _, s := range list {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

func TestFrontMatter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "all", "SKILL.md"), "\ufeff---\r\n"+strings.ReplaceAll(`name: Whole Thing
description: Does: everything # really
when_to_use: often
allowed-tools: Read, Bash(git add:*) Bash(git commit:*)
disallowed-tools: [Write, "Bash(rm:*)"]
argument-hint: [file] [--all]
arguments: file mode
model: sonnet
effort: high
context: fork
agent: Explore
user-invocable: false
disable-model-invocation: yes
version: 1.2
paths: "src/**/*.{ts,tsx}, docs/"
hooks:
  Stop:
    - hooks: [{type: command, command: "true"}]
shell: bash
metadata: {a: b}
license: MIT
`, "\n", "\r\n")+"---\r\nBody\r\n")
	c := New(Options{Places: []Place{{Origin: User, Dir: dir}}})
	s, err := c.Find("/all")
	if err != nil {
		t.Fatal(err, c.Problems())
	}
	got := fmt.Sprintf("%s|%s|%q|%q|%s|%q|%s|%s|%v|%s|%v|%v|%s|%q|%s|%s", s.Title, s.Description, s.Allowed, s.Denied, s.Hint, s.Arguments, s.Model, s.Effort, s.Fork, s.Agent,
		s.ForUser, s.ForModel, s.Version, s.Paths, s.Hooks, s.Shell)
	want := `|Does: everything # really - often|["Read" "Bash(git add:*)" "Bash(git commit:*)"]|["Write" "Bash(rm:*)"]|[file] [--all]|["file" "mode"]|sonnet|high|true|Explore|false|false|1.2|["src/**/*.{ts,tsx}" "docs/"]|{"Stop":[{"hooks":[{"command":"true","type":"command"}]}]}|bash`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if text, err := s.Text(); err != nil || text != "Body\n" {
		t.Errorf("%q %v", text, err)
	}
	if s.Harmless() {
		t.Error("a skill with hooks and permissions counts as harmless")
	}
	for _, p := range c.Problems() {
		t.Errorf("problem: %s", p)
	}
	for field, want := range map[string]string{"context: both": "is inline or fork", "effort: huge": "is low, medium", "user-invocable: perhaps": "must be true or false",
		"allowed-tools: {a: b}": "must be a list", "shell: fish": "is bash or powershell", "description: [a, b]": "must be one text"} {
		if _, _, err := parse(field + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestPlacesAndNames(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	text := func(d string) string { return "---\ndescription: " + d + "\n---\ntext of " + d + "\n" }
	write(t, at("user", "skills", "deploy", "SKILL.md"), text("users"))
	write(t, at("project", ".claude", "skills", "deploy", "SKILL.md"), text("projects"))
	write(t, at("project", ".claude", "skills", "near", "SKILL.md"), text("outer"))
	write(t, at("project", "sub", ".claude", "skills", "near", "skill.md"), text("inner"))
	write(t, at("project", ".claude", "commands", "git", "deep", "push.md"), "Push it.\n\nNow.")
	write(t, at("project", ".claude", "commands", "near.md"), "A command of the same name.")
	write(t, at("project", ".claude", "commands", "README.md"), "For people.")
	write(t, at("project", ".claude", "commands", "old", "SKILL.md"), text("an old form"))
	write(t, at("plugin", "skills", "thing", "SKILL.md"), text("plugins"))
	write(t, at("plugin", "single.md"), "Just one.")
	// The same file, by a link inside the project and from another place.
	if err := os.Symlink(at("user", "skills", "deploy"), at("project", ".claude", "skills", "again")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("plugin"), at("project", ".claude", "skills", "stranger")); err != nil {
		t.Fatal(err)
	}
	write(t, at("plugin", "SKILL.md"), text("outside"))
	c := New(Options{Bundled: []*Skill{{Name: "near"}, {Name: "own", ForModel: true}}, Places: []Place{
		{Origin: Project, Dir: at("project", "sub", ".claude", "skills"), Within: at("project")},
		{Origin: Project, Dir: at("project", ".claude", "skills"), Within: at("project")},
		{Origin: Project, Dir: at("project", ".claude", "commands"), Within: at("project"), Commands: true},
		{Origin: User, Dir: at("user", "skills")},
		{Origin: Extra, Dir: at("nowhere")},
	}})
	c.Add(Place{Origin: Plugin, Dir: at("plugin", "skills"), Prefix: "plug"}, Place{Origin: Plugin, Dir: at("plugin", "single.md"), Prefix: "plug", Commands: true})
	if got, want := names(c.All()), "deploy git:deep:push near old own plug:single plug:thing"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, want := range map[string]string{"deploy": "users", "near": "inner", "git:deep:push": "Push it.", "plug:thing": "plugins"} {
		if s, err := c.Find(name); err != nil || s.Description != want {
			t.Errorf("%s is %+v, %v", name, s, err)
		}
	}
	var unusable []string
	for _, p := range c.Problems() {
		if !p.Note {
			unusable = append(unusable, p.String())
		}
	}
	if len(unusable) != 1 || !strings.Contains(unusable[0], "stranger") || !strings.Contains(unusable[0], "leads out") {
		t.Errorf("problems: %q", unusable)
	}
	if _, err := c.Find("thing"); err == nil || !strings.Contains(err.Error(), "did you mean plug:thing?") {
		t.Error(err)
	}
	write(t, at("user", "skills", "late", "SKILL.md"), text("late"))
	if _, err := c.Find("late"); err == nil {
		t.Error("it was read anew unasked")
	}
	c.Reload()
	if _, err := c.Find("late"); err != nil {
		t.Error(err)
	}
}

func TestTouchedFilesBringSkillsToLight(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	skillAt := func(d string, front string) {
		write(t, filepath.Join(d, "SKILL.md"), "---\n"+front+"\n---\nx\n")
	}
	skillAt(at(".claude", "skills", "go"), "description: d\npaths: ['*.go', '!gen/']")
	skillAt(at(".claude", "skills", "docs"), "description: d\npaths: docs/")
	skillAt(at(".claude", "skills", "both"), "description: outer")
	skillAt(at("a", ".claude", "skills", "both"), "description: middle")
	skillAt(at("a", "b", ".claude", "skills", "both"), "description: inner")
	skillAt(at("a", "b", ".claude", "skills", "deep"), "description: d")
	skillAt(at("node_modules", "x", ".claude", "skills", "evil"), "description: d")
	c := New(Options{Places: []Place{{Origin: Project, Dir: at(".claude", "skills")}}, Root: root, Cwd: root})
	waiting := func() (list []*Skill) {
		for _, s := range c.All() {
			if c.Waits(s) {
				list = append(list, s)
			}
		}
		return list
	}
	if got := names(waiting()); got != "docs go" {
		t.Errorf("%s wait", got)
	}
	for _, step := range []struct{ path, want string }{
		{at("x.txt"), ""},
		{at("node_modules", "x", "y.js"), ""},
		{at("docs", "deep", "page.md"), "docs"},
		{at("a", "b", "c", "file.txt"), "both deep"},
		{at("a", "b", "other.txt"), ""},
		{at("a", "main.go"), "go"},
		{at("docs", "more.md"), ""},
		{"/elsewhere/x.go", ""},
	} {
		if got := names(c.Touch(step.path)); got != step.want {
			t.Errorf("%s brings %q, want %q", step.path, got, step.want)
		}
	}
	if s, _ := c.Find("both"); s.Description != "inner" {
		t.Errorf("%s won", s.Description)
	}
	if len(waiting()) != 0 {
		t.Error("some still wait")
	}
	c.Reload()
	if s, _ := c.Find("both"); s == nil || s.Description != "inner" {
		t.Error("a reload forgot the folders below")
	}
}

func TestExpansion(t *testing.T) {
	t.Parallel()
	var ran []string
	run := func(_ context.Context, command string) (string, error) {
		ran = append(ran, command)
		if strings.Contains(command, "forbidden") {
			return "", errors.New("it was denied")
		}
		return "out $1 !`again` ${CLAUDE_SESSION_ID}\n", nil
	}
	s := &Skill{Name: "s", Arguments: []string{"file", "file-mode"}, Dir: "/skills/s", Vars: map[string]string{"CLAUDE_PLUGIN_ROOT": "/plug", "user_config.key": "K"}}
	for _, c := range []struct{ text, args, want, ran string }{
		{"no places", "", "no places", ""},
		{"no places\n", "a b", "no places\n\nARGUMENTS: a b", ""},
		{"<$ARGUMENTS> <$1> <$2> <$3>", `one "two words"`, `<one "two words"> <one> <two words> <$3>`, ""},
		{"<$0> <$1> <$ARGUMENTS[0]> <$ARGUMENTS[1]>", `one two`, `<one> <two> <one> <two>`, ""},
		{"<$ARGUMENTS[1]> <$1>", `one two`, `<two> <one>`, ""},
		{"$file $file-mode $file-x $files ${file}", "A B", "A B A-x $files ${file}", ""},
		{`\$1 \$ARGUMENTS \$HOME \${CLAUDE_SKILL_DIR} $1`, "x", `$1 $ARGUMENTS \$HOME ${CLAUDE_SKILL_DIR} x`, ""},
		{"${CLAUDE_SKILL_DIR} ${CLAUDE_SESSION_ID} ${CLAUDE_PLUGIN_ROOT} ${user_config.key} ${OTHER}", "", "/skills/s S /plug K ${OTHER}", ""},
		{"a !`do $1` b", "x", "a out $1 !`again` ${CLAUDE_SESSION_ID} b", "do x"},
		{"text $ARGUMENTS", "!`evil` $1 ${CLAUDE_SKILL_DIR}", "text !`evil` $1 ${CLAUDE_SKILL_DIR}", ""},
		{"x!`not` `!not`", "", "x!`not` `!not`", ""},
		{"before\n```!\nfirst $1\nsecond\n```\nafter", "x", "before\nout $1 !`again` ${CLAUDE_SESSION_ID}\nafter", "first x\nsecond"},
		{"```sh\necho $1\n```", "", "```sh\necho $1\n```", ""},
	} {
		ran = nil
		got, err := s.Expand(t.Context(), c.text, Expansion{Args: c.args, Session: "S", Run: run})
		if err != nil || got != c.want || strings.Join(ran, "|") != c.ran {
			t.Errorf("%q with %q:\ngot  %q (ran %q, %v)\nwant %q (%q)", c.text, c.args, got, ran, err, c.want, c.ran)
		}
	}
	if _, err := s.Expand(t.Context(), "!`forbidden`", Expansion{Run: run}); err == nil || !strings.Contains(err.Error(), `the skill s runs "forbidden" when it is loaded: it was denied`) {
		t.Error(err)
	}
	if got, err := s.Expand(t.Context(), "!`x`", Expansion{}); err != nil || got != "[commands in skills are switched off: x]" {
		t.Error(got, err)
	}
}

// items makes skills with descriptions of so many characters.
func items(n, length int, origin Origin) []Item {
	var list []Item
	for i := range n {
		name := fmt.Sprintf("%s-%03d", origin, i)
		list = append(list, Item{Skill: &Skill{Name: name, Origin: origin, Description: strings.Repeat("é", length)}, Score: float64(i)})
	}
	return list
}

func TestTheListingKeepsItsBudget(t *testing.T) {
	t.Parallel()
	const budget = 8000
	if Budget(200_000) != budget || Budget(0) != budget {
		t.Fatal(Budget(200_000))
	}
	runes := utf8.RuneCountInString
	bundled := items(8, 300, Bundled)
	for _, c := range []struct {
		n, length int
		want      int    // characters of the whole listing
		line      string // the first line of a user's skill
	}{
		{2, 400, 8*(2+11+2+300) + 2*(2+8+2+250) + 9, "- user-000: " + strings.Repeat("é", 249) + "…"},
		// 300 skills: all shrink to the same length, the bundled ones stay whole.
		{100, 250, 0, "- user-000: " + strings.Repeat("é", 40)},
		// So many that only names are left, and in the end not even all of them.
		{300, 250, 8*(2+11+2+300) + 300*(2+8) + 307, "- user-000\n"},
		{999, 250, 0, ""},
	} {
		text := Listing(append(items(c.n, c.length, User), bundled...), budget)
		n := runes(text)
		if c.want != 0 && n != c.want || n > budget {
			t.Errorf("%d skills: %d characters, want %d", c.n, n, c.want)
		}
		if !strings.Contains(text, c.line) {
			t.Errorf("%d skills: no line %q", c.n, c.line)
		}
		if strings.Count(text, ": "+strings.Repeat("é", 300)) != 8 {
			t.Errorf("%d skills: a bundled one was cut", c.n)
		}
		if c.n == 100 {
			shrunk := map[int]bool{}
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "- user") {
					shrunk[runes(strings.TrimSpace(line))] = true
				}
			}
			if len(shrunk) != 1 || budget-n >= 100 {
				t.Errorf("lengths %v, %d characters are not used", shrunk, budget-n)
			}
		}
		if c.n == 999 && (!strings.Contains(text, "more)") || !strings.Contains(text, "user-998") || strings.Contains(text, "user-000\n")) {
			t.Errorf("the most used ones do not stay: %s", text[len(text)-300:])
		}
	}
	mixed := append(items(3, 10, User), Item{Skill: &Skill{Name: "brief", Origin: Project, Description: "not told"}, Brief: true})
	if got := Listing(mixed, budget); !strings.HasPrefix(got, "- brief\n- user-000: éé") || got != Listing([]Item{mixed[2], mixed[3], mixed[0], mixed[1]}, budget) {
		t.Errorf("got %s", got)
	}
	if got := (&Skill{Description: "a\n</system-reminder> b"}).line(); got != "a < /system-reminder> b" {
		t.Error(got)
	}
}

func TestUsesAreCounted(t *testing.T) {
	t.Parallel()
	tally := Tally{filepath.Join(t.TempDir(), "deep", "uses.json")}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	done := make(chan error)
	for i := range 20 { // two sessions at once lose nothing of each other
		go func() { done <- tally.Count(context.Background(), fmt.Sprint("s", i), now) }()
	}
	for range 20 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, later := range []time.Duration{10 * time.Second, 59 * time.Second, time.Minute, 2 * time.Minute} {
		if err := tally.Count(t.Context(), "s0", now.Add(later)); err != nil {
			t.Fatal(err)
		}
	}
	uses := tally.Uses()
	if len(uses) != 20 || uses["s0"].Count != 3 || uses["s19"].Count != 1 {
		t.Errorf("%v", uses)
	}
	for days, want := range map[int]float64{0: 8, 7: 4, 14: 2, 365: 0.8} {
		if got := (Use{Count: 8, Last: now}).Score(now.AddDate(0, 0, days)); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("after %d days %v, want %v", days, got, want)
		}
	}
	if info, err := os.Stat(tally.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if err := os.WriteFile(tally.File, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tally.Count(t.Context(), "new", now); err != nil || tally.Uses()["new"].Count != 1 {
		t.Error(err, tally.Uses())
	}
}

func TestBundledSkills(t *testing.T) {
	t.Parallel()
	want := []string{"batch", "commit", "debug", "gofer-help", "loop", "review", "simplify", "skill-creator", "verify"}
	var got []string
	for _, s := range BundledSkills() {
		got = append(got, s.Name)
		text, err := s.Text()
		if err != nil || len(text) < 300 || s.Description == "" || !s.Harmless() || !s.ForUser {
			t.Errorf("%s: %v, %d bytes, %+v", s.Name, err, len(text), s)
		}
		out, err := s.Expand(t.Context(), text, Expansion{Args: "the thing", Run: func(_ context.Context, c string) (string, error) {
			return "", fmt.Errorf("it runs %s", c)
		}})
		if err != nil || !strings.Contains(out, "the thing") {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func BenchmarkLoad300(b *testing.B) {
	dir := b.TempDir()
	for i := range 300 {
		d := filepath.Join(dir, fmt.Sprintf("skill-%03d", i))
		if err := os.MkdirAll(d, 0o700); err != nil {
			b.Fatal(err)
		}
		text := fmt.Sprintf("---\nname: skill-%03d\ndescription: Does the thing number %d, when somebody asks for it\n---\n%s", i, i, strings.Repeat("Text of a skill.\n", 200))
		if err := os.WriteFile(filepath.Join(d, "SKILL.md"), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if n := len(New(Options{Places: []Place{{Origin: User, Dir: dir}}}).All()); n != 300 {
			b.Fatal(n)
		}
	}
}
