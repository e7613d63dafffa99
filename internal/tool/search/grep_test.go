package search

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf16"
)

func TestGrepListsFilesNewestFirst(t *testing.T) {
	t.Parallel()
	p := newProject(t, "old.go", "needle\n", "sub/mid.go", "a needle here\n", "other.go", "hay\n", "new.go", "needle needle\n")
	same(t, "files", p.grep("needle", nil), "Found 3 files\nnew.go\nsub/mid.go\nold.go")
	same(t, "none", p.grep("nothing like it", nil), "No files contain a match.")
	r, err := p.run(t.Context(), "Grep", in{"pattern": "needle", "head_limit": 1, "offset": 1})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "page", r.Text(), "Found 3 files\nsub/mid.go\n\n(Only 1 of 3 shown. For more use offset 2, or narrow the search by path, glob or type.)")
	data, _ := json.Marshal(r.Data)
	same(t, "data", string(data), `{"mode":"files_with_matches","numFiles":3,"filenames":["sub/mid.go"],"appliedLimit":1,"appliedOffset":1}`)
}

func TestGrepShowsLinesInTheOrderOfPaths(t *testing.T) {
	t.Parallel()
	p := newProject(t, "b.txt", "x1\nno\nx2\n", "a/z.txt", "x3\r\n", "a.txt", "x4", "a/b/c.txt", "x5\n")
	same(t, "content", p.grep("x", in{"output_mode": "content"}), "a/b/c.txt:1:x5\na/z.txt:1:x3\na.txt:1:x4\nb.txt:1:x1\nb.txt:3:x2")
	same(t, "no numbers", p.grep("x", in{"output_mode": "content", "-n": false, "path": "a"}), "a/b/c.txt:x5\na/z.txt:x3")
	same(t, "one file", p.grep("x", in{"output_mode": "content", "path": "b.txt"}), "1:x1\n3:x2")
	same(t, "absolute path", p.grep("x", in{"output_mode": "content", "path": p.path("a/b")}), "a/b/c.txt:1:x5")
	same(t, "count", p.grep("x", in{"output_mode": "count"}), "a/b/c.txt:1\na/z.txt:1\na.txt:1\nb.txt:2\n\n5 matching lines in 4 files")
	r, err := p.run(t.Context(), "Grep", in{"pattern": "x", "output_mode": "content", "head_limit": 2})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(r.Data)
	same(t, "data", string(data), `{"mode":"content","numFiles":4,"filenames":["a/b/c.txt","a/z.txt"],"content":"a/b/c.txt:1:x5\na/z.txt:1:x3","numLines":2,"numMatches":5,"appliedLimit":2}`)
	contains(t, "note", r.Text(), "Only 2 of 5 matching lines in 4 files shown", "offset 2")
}

func TestGrepShowsContext(t *testing.T) {
	t.Parallel()
	p := newProject(t, "f", "1\n2\nhit a\n4\n5\n6\n7\nhit b\nhit c\n10\n11\n", "g", "hit d\n")
	same(t, "-C 1", p.grep("hit", in{"output_mode": "content", "-C": 1}),
		"f-2-2\nf:3:hit a\nf-4-4\n--\nf-7-7\nf:8:hit b\nf:9:hit c\nf-10-10\n--\ng:1:hit d")
	same(t, "-B 9", p.grep("hit b", in{"output_mode": "content", "-B": 9, "path": "f"}), "1-1\n2-2\n3-hit a\n4-4\n5-5\n6-6\n7-7\n8:hit b")
	same(t, "-A 2", p.grep("hit [ac]", in{"output_mode": "content", "-A": 2, "path": "f"}), "3:hit a\n4-4\n5-5\n--\n9:hit c\n10-10\n11-11")
	same(t, "touching", p.grep("hit", in{"output_mode": "content", "context": 2, "path": "f"}), "1-1\n2-2\n3:hit a\n4-4\n5-5\n6-6\n7-7\n8:hit b\n9:hit c\n10-10\n11-11")
	same(t, "-o", p.grep("h|[a-c]", in{"output_mode": "content", "-o": true, "path": "f"}), "3:h\n3:a\n8:h\n8:b\n9:h\n9:c")
}

func TestGrepOverLines(t *testing.T) {
	t.Parallel()
	p := newProject(t, "f.go", "type A struct {\n\tX int\n}\n\ntype B struct {\n\tY int\n}\n")
	same(t, "multiline", p.grep(`struct \{.*?Y`, in{"output_mode": "content", "multiline": true}), "f.go:1:type A struct {\nf.go:2:\tX int\nf.go:3:}\nf.go:4:\nf.go:5:type B struct {\nf.go:6:\tY int")
	same(t, "-o", p.grep(`\{\s+\w`, in{"output_mode": "content", "multiline": true, "-o": true}), "f.go:1:{\nf.go:1:\tX\nf.go:5:{\nf.go:5:\tY")
	same(t, "count", p.grep(`\{\s+\w`, in{"output_mode": "count", "multiline": true}), "f.go:2\n\n2 matches in 1 file")
	contains(t, "a line break in the pattern", p.grep(`struct \{\n\tY`, in{"output_mode": "content"}), "f.go:5:type B struct {\nf.go:6:\tY int", "went over lines")
	same(t, "not without it", p.grep(`struct \{\s+Y`, nil), "No files contain a match.")
}

func TestGrepFilters(t *testing.T) {
	t.Parallel()
	p := newProject(t, "a.ts", "x", "b.tsx", "x", "c.go", "x", "src/d.ts", "x", "src/e_test.go", "x", "src/vendor/f.go", "x", "g.md", "x", "with space.txt", "x", ".github/w.yml", "x")
	for _, c := range []struct {
		input in
		want  string
	}{
		{in{"glob": "*.ts"}, "src/d.ts a.ts"}, {in{"glob": "*.{ts,tsx}"}, "src/d.ts b.tsx a.ts"}, {in{"glob": "*.ts, *.md"}, "g.md src/d.ts a.ts"}, {in{"glob": "*.ts *.tsx"}, "src/d.ts b.tsx a.ts"},
		{in{"glob": "!*.go"}, "with space.txt g.md src/d.ts b.tsx a.ts"}, {in{"glob": "*.go !*_test.go"}, "src/vendor/f.go c.go"}, {in{"glob": "*.go,!vendor"}, "src/e_test.go c.go"},
		{in{"glob": "src/*.go"}, "src/e_test.go"}, {in{"glob": "src/**/*.go"}, "src/vendor/f.go src/e_test.go"}, {in{"glob": "*.go", "path": "src"}, "src/vendor/f.go src/e_test.go"},
		{in{"glob": "vendor/*.go", "path": "src"}, "src/vendor/f.go"}, {in{"glob": "src/vendor/*.go", "path": "src"}, "src/vendor/f.go"}, {in{"glob": "src/"}, "src/vendor/f.go src/e_test.go src/d.ts"},
		{in{"type": "go"}, "src/vendor/f.go src/e_test.go c.go"}, {in{"type": "ts"}, "src/d.ts b.tsx a.ts"}, {in{"type": "md,typescript"}, "g.md src/d.ts b.tsx a.ts"},
		{in{"glob": `with\ space.txt`}, "with space.txt"}, {in{"glob": "**/.github/*.yml"}, ".github/w.yml"}, {in{"type": "yaml"}, ""}, {in{"type": "yaml", "hidden": true}, ".github/w.yml"}, {in{"path": ".github"}, ".github/w.yml"},
	} {
		got := p.grep("x", c.input)
		_, files, _ := strings.Cut(got, "\n")
		if strings.HasPrefix(got, "No files") {
			files = ""
		}
		same(t, fmt.Sprint(c.input), strings.ReplaceAll(files, "\n", " "), c.want)
	}
	p.fails("Grep", in{"pattern": "x", "type": "pyton"}, `no file type "pyton"`, "python", "*.pyton")
	p.fails("Grep", in{"pattern": "x", "glob": strings.Repeat("{a,b}", 12)}, "simpler")
}

func TestGrepLeavesOutWhatIsIgnored(t *testing.T) {
	t.Parallel()
	p := newProject(t, ".git/HEAD", "x", ".gitignore", "*.log\nbuild/\n", "a.go", "x", "b.log", "x", "build/c.go", "x", ".hidden", "x", ".env", "x")
	same(t, "files", p.grep("x", nil), "Found 1 file\na.go")
	contains(t, "named folder", p.grep("x", in{"path": "build"}), "build/c.go")
	contains(t, "named file", p.grep("x", in{"path": "b.log"}), "b.log")
	got := p.grep("x", in{"hidden": true})
	contains(t, "hidden", got, ".hidden", ".env", "a.go")
	lacks(t, "hidden", got, ".git/", "b.log")
	contains(t, "note", p.grep("x", in{"glob": "*.log"}), "No files contain a match.", "ignored by .gitignore", "name one in path")
}

func TestGrepReadsEncodings(t *testing.T) {
	t.Parallel()
	encode := func(order binary.AppendByteOrder, s string) string {
		out := order.AppendUint16(nil, 0xFEFF)
		for _, u := range utf16.Encode([]rune(s)) {
			out = order.AppendUint16(out, u)
		}
		return string(out)
	}
	le, be := binary.LittleEndian, binary.BigEndian
	long := strings.Repeat("filler 🙂 filler\r\n", 40_000) // beyond one window
	p := newProject(t,
		"le.txt", encode(le, "grüße 🙂\nzwei\n"), "be.txt", encode(be, "grüße 🙂\n"), "bom.txt", "\xef\xbb\xbfgrüße\n", "latin1.txt", "gr\xfc\xdfe caf\xe9 x\n",
		"long.txt", encode(le, long+"grüße 🙂\n"), "odd.txt", encode(le, "grüße 🙂")+"x", "bin.dat", "grüße\x00\n", "lone.txt", "\xff\xfe\x00\xd8g\x00\n\x00")
	got := p.grep("^gr..e", in{"output_mode": "content", "glob": "*.txt"})
	contains(t, "encodings", got, "le.txt:1:grüße 🙂", "be.txt:1:grüße 🙂", "bom.txt:1:grüße", "latin1.txt:1:gr\uFFFDe caf\uFFFD x", "long.txt:40001:grüße 🙂", "odd.txt:1:grüße 🙂")
	contains(t, "a stray byte is a character", p.grep("caf. x", nil), "latin1.txt")
	contains(t, "lone surrogate", p.grep("g$", nil), "lone.txt")
	lacks(t, "binary", p.grep("grüße", nil), "bin.dat")
	contains(t, "a named binary", p.grep("grüße", in{"path": "bin.dat", "output_mode": "content"}), "binary file bin.dat has 1 match")
	contains(t, "a named binary", p.grep("grüße", in{"path": "bin.dat"}), "Found 1 file\nbin.dat")
}

func TestGrepCutsLongLinesAroundTheMatch(t *testing.T) {
	t.Parallel()
	p := newProject(t, "f", strings.Repeat("ä", 2000)+"NEEDLE"+strings.Repeat("ö", 2000)+"\nshort\n")
	got := p.grep("NEEDLE", in{"output_mode": "content", "-A": 1})
	contains(t, "cut", got, "ääNEEDLEöö", "[part of a line of 8006 bytes]", "f-2-short", "…")
	if len(got) > 700 || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestGrepTakesALineOf50MB(t *testing.T) {
	t.Parallel()
	p := newProject(t, "f", strings.Repeat("0123456789", 5<<20)+"NEEDLE tail\nnext NEEDLE x\n")
	got := p.grep("NEEDLE (tail|x)?", in{"output_mode": "content"})
	contains(t, "long line", got, "f:1:…", "NEEDLE tail", "f:2:next NEEDLE")
}

func TestGrepForgivesAndExplainsPatterns(t *testing.T) {
	t.Parallel()
	p := newProject(t, "f.go", "func (s *T) ServeHTTP(w W)\nvar x interface{}\na[0]\nm := map[string]bool{}\n*ptr\nfoo bar\nfoo|bar\ntab\there\n")
	for pattern, want := range map[string]string{
		`interface{}`: "2:var x", `ServeHTTP(`: "1:func", `a[`: "3:a[0]", `*ptr`: "5:*ptr", `(?<verb>foo) bar`: "6:foo bar", `tab\hhere`: "8:tab", `b\u006fol\{`: "4:m", `foo\|bar`: "7:foo|bar", `map[string]bool{`: "4:", `x)`: "",
	} {
		got := p.grep(pattern, in{"output_mode": "content", "path": "f.go"})
		if pattern == `map[string]bool{` { // [string] is a class: this is what was written
			continue
		}
		contains(t, pattern, got, want)
	}
	contains(t, "note", p.grep(`ServeHTTP(`, nil), `( in the pattern was taken literally, as in ServeHTTP\(`)
	contains(t, "bar", p.grep(`nothing\|else`, nil), `\| is a literal bar`)
	p.fails("Grep", in{"pattern": `foo(?=bar)`}, "Look-around is not supported")
	p.fails("Grep", in{"pattern": `(?<!x)foo`}, "Look-around is not supported")
	p.fails("Grep", in{"pattern": `(a)\1`}, "Back-references are not supported")
	p.fails("Grep", in{"pattern": `a{2000}`}, "up to 1000")
	p.fails("Grep", in{"pattern": `\y`}, "escape does not exist")
	p.fails("Grep", in{"pattern": `a++`}, "not supported")
	p.fails("Grep", in{"pattern": ""}, "pattern")
}

func TestGrepSaysWhatIsNear(t *testing.T) {
	t.Parallel()
	p := newProject(t, "src/server/handler.go", "x", "docs/readme.md", "x")
	p.fails("Grep", in{"pattern": "x", "path": "src/servr"}, "no file or folder src/servr", "src/server", p.root)
	p.fails("Grep", in{"pattern": "x", "path": "/elsewhere/src/server/handler.go"}, "src/server/handler.go")
	p.fails("Grep", in{"pattern": "x", "path": "dcos/readme.md"}, "docs")
	p.fails("Glob", in{"pattern": "*", "path": "scr"}, "src")
	p.fails("Glob", in{"pattern": "*", "path": "docs/readme.md"}, "is a file")
}

func TestHiddenPathsAreNeverSeen(t *testing.T) {
	t.Parallel()
	p := newProject(t, "a.go", "x", "secret/key.go", "x", "secret.txt", "x", "sub/secret.txt", "x")
	p.env.Hidden = func(abs string) bool {
		return strings.HasSuffix(abs, "/secret") || strings.HasSuffix(abs, "/secret.txt")
	}
	for _, got := range []string{p.grep("x", nil), p.grep("x", in{"output_mode": "content"}), p.glob("*", nil), p.glob("**/*.txt", nil), p.glob("sub/secret.txt", nil), p.glob("secret/*", nil)} {
		got = strings.ReplaceAll(got, "No files match sub/secret.txt.", "")
		lacks(t, "hidden", got, "secret.txt", "key.go")
	}
	p.fails("Grep", in{"pattern": "x", "path": "secret.txt"}, "hides it")
	p.fails("Grep", in{"pattern": "x", "path": "secret"}, "hides it")
	_, err := p.run(t.Context(), "Grep", in{"pattern": "x", "path": "secre"})
	lacks(t, "suggestion", fmt.Sprint(err), "secret")
}

func TestGrepStopsWithItsContext(t *testing.T) {
	t.Parallel()
	var files []string
	for i := range 1500 {
		files = append(files, fmt.Sprintf("d%03d/f%d", i/10, i), "text\n")
	}
	p := newProject(t, files...)
	cause := errors.New("the user said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var calls, after atomic.Int64
	p.env.Hidden = func(string) bool {
		if calls.Add(1) == 200 {
			cancel(cause)
		}
		if ctx.Err() != nil {
			after.Add(1)
		}
		return false
	}
	_, err := p.run(ctx, "Grep", in{"pattern": "text"})
	if !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if n := after.Load(); n > 300 {
		t.Errorf("%d entries were looked at after the end", n)
	}
}

func TestPagesAreThePartsOfTheWhole(t *testing.T) {
	t.Parallel()
	var files []string
	for i := range 40 {
		files = append(files, fmt.Sprintf("d%d/f%d", i%7, i), strings.Repeat("hit\nmiss\nhit\n", i%5+1))
	}
	p := newProject(t, files...)
	all := p.grep("hit", in{"output_mode": "content", "head_limit": 0})
	var paged []string
	for offset := 0; ; offset += 17 {
		got, note, more := strings.Cut(p.grep("hit", in{"output_mode": "content", "head_limit": 17, "offset": offset}), "\n\n(")
		paged = append(paged, strings.Split(got, "\n")...)
		if !more {
			break
		}
		contains(t, "note", note, fmt.Sprintf("use offset %d", offset+17))
	}
	same(t, "pages", strings.Join(paged, "\n"), all)
	if n := strings.Count(all, "\n") + 1; n != 240 {
		t.Errorf("%d lines in all", n)
	}
	same(t, "beyond the end", p.grep("hit", in{"output_mode": "content", "offset": 1000}), "No more lines.")
}

func TestALargeResultIsCutWithANote(t *testing.T) {
	t.Parallel()
	p := newProject(t, "f", strings.Repeat(strings.Repeat("x", 400)+"\n", 300))
	got := p.grep("x", in{"output_mode": "content"})
	contains(t, "cut", got, "of 300 matching lines in 1 file shown", "use offset")
	if len(got) > 41_000 {
		t.Errorf("%d characters", len(got))
	}
}

func TestUnreadableFoldersAreCounted(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	p := newProject(t, "a", "x", "locked/b", "x", "c", "x")
	os.Chmod(p.path("locked"), 0)
	os.Chmod(p.path("c"), 0)
	t.Cleanup(func() { os.Chmod(p.path("locked"), 0o700) })
	contains(t, "note", p.grep("x", nil), "Found 1 file\na", "2 files or folders could not be read")
}
