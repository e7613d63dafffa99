package search

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestGlobPatterns(t *testing.T) {
	t.Parallel()
	p := newProject(t, ".git/HEAD", "", ".gitignore", "dist/\n*.min.js\n", "main.go", "", "README.md", "", "src/a.ts", "", "src/b.tsx", "", "src/deep/er/c.ts", "", "dist/out.js", "", "x.min.js", "",
		".github/workflows/ci.yml", "", ".env", "", "src/[id].ts", "", "src/.cache/z.ts", "", "docs/a b.md", "")
	for pattern, want := range map[string]string{
		"*.go": "main.go", "*.ts": "src/[id].ts src/deep/er/c.ts src/a.ts", "**/*.ts": "src/[id].ts src/deep/er/c.ts src/a.ts", "src/*.ts": "src/[id].ts src/a.ts", "./src/*.ts": "src/[id].ts src/a.ts", "src/**": "src/[id].ts src/deep/er/c.ts src/b.tsx src/a.ts",
		"src/": "src/[id].ts src/deep/er/c.ts src/b.tsx src/a.ts", "src/**/*.{ts,tsx}": "src/[id].ts src/deep/er/c.ts src/b.tsx src/a.ts", "*/*.md": "docs/a b.md", "*/*/*/c.ts": "src/deep/er/c.ts", "s?c/?.ts": "src/a.ts", "src/[ab].ts*": "src/b.tsx src/a.ts",
		`src/\[id\].ts`: "src/[id].ts", "dist/*.js": "dist/out.js", "*.js": "", ".github/**": ".github/workflows/ci.yml", "**/.github/**/*.yml": ".github/workflows/ci.yml", ".env": ".env", ".*": ".env .gitignore", "*": "docs/a b.md src/[id].ts src/deep/er/c.ts src/b.tsx src/a.ts README.md main.go",
		"**/.cache/*.ts": "src/.cache/z.ts", "README.md": "README.md", "src/a.ts": "src/a.ts", "nothing/*.x": "", "{main,x}.go": "main.go", "docs/a b.md": "docs/a b.md", "docs/a*": "docs/a b.md", p.root + "/src/*.tsx": "src/b.tsx", "src/../*.go": "main.go", "**/deep/**": "src/deep/er/c.ts",
	} {
		got, _, _ := strings.Cut(p.glob(pattern, nil), "\n\n(")
		if strings.HasPrefix(got, "No files match") {
			got = ""
		}
		same(t, pattern, strings.ReplaceAll(got, "\n", " "), want)
	}
	same(t, "path", p.glob("*.ts", in{"path": "src/deep"}), "src/deep/er/c.ts")
	contains(t, "hidden", p.glob("*.yml", in{"hidden": true}), ".github/workflows/ci.yml")
	contains(t, "a folder", p.glob("src", nil), "No files match src.", "use src/**")
	outside := newProject(t, "o.go", "")
	same(t, "outside", p.glob("*.go", in{"path": outside.root}), outside.path("o.go"))
}

func TestGlobKeepsTheNewest(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	when := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i := range 950 {
		name := fmt.Sprintf("d%d/f%03d", i%9, i)
		p.write(name, "")
		at := when.Add(time.Duration(i*7919%950) * time.Second)
		if err := os.Chtimes(p.path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for k := 949; k >= 850; k-- {
		i := 0
		for i*7919%950 != k {
			i++
		}
		want = append(want, fmt.Sprintf("d%d/f%03d", i%9, i))
	}
	r, err := p.run(t.Context(), "Glob", in{"pattern": "f*"})
	if err != nil {
		t.Fatal(err)
	}
	got, note, _ := strings.Cut(r.Text(), "\n\n")
	same(t, "newest", got, strings.Join(want, "\n"))
	same(t, "note", note, "(These are the newest 100 of 950 files. Use a narrower pattern or path to see others.)")
	var data globData
	raw, _ := json.Marshal(r.Data)
	if err := json.Unmarshal(raw, &data); err != nil || data.NumFiles != 950 || !data.Truncated || len(data.Filenames) != 100 {
		t.Errorf("data: %s", raw)
	}
	contains(t, "fields", string(raw), `"filenames":`, `"numFiles":950`, `"durationMs":`, `"truncated":true`)
}

func TestFilesListsWhatASearchWouldSee(t *testing.T) {
	t.Parallel()
	p := newProject(t, ".git/HEAD", "", ".gitignore", "*.o\n", "b/x.go", "", "a.go", "", "a/y.go", "", "a/z.o", "", ".dot", "", "n.txt", "")
	for _, c := range []struct {
		o    ListOptions
		want string
	}{
		{ListOptions{}, "a/y.go a.go b/x.go n.txt"}, {ListOptions{Hidden: true}, ".dot .gitignore a/y.go a.go b/x.go n.txt"}, {ListOptions{NoIgnore: true}, "a/y.go a/z.o a.go b/x.go n.txt"},
		{ListOptions{Globs: []string{"*.go", "!a"}}, "a.go b/x.go"}, {ListOptions{Types: []string{"txt"}}, "n.txt"}, {ListOptions{Skip: func(abs string) bool { return strings.HasSuffix(abs, "/a") }}, "a.go b/x.go n.txt"},
	} {
		c.o.Getenv = p.env.Getenv
		got, err := Files(t.Context(), p.root, c.o)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("%+v", c.o), strings.Join(got, " "), c.want)
	}
}

func TestAFolderOfManyFilesIsShared(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for i := range 1000 {
		p.write(fmt.Sprintf("f%d", i), "needle\n")
	}
	for range 5 { // the same result whoever comes first
		got := p.grep("needle", in{"output_mode": "count"})
		contains(t, "count", got, "1000 matching lines in 1000 files")
	}
}
