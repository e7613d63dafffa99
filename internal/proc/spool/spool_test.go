package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAShortOutputNeedsNoFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "never")
	s := New(dir)
	fmt.Fprint(s, "hello\n")
	if all, ok := s.All(100); !ok || string(all) != "hello\n" {
		t.Errorf("got %q, %v", all, ok)
	}
	if path, err := s.Path(); path != "" || err != nil {
		t.Errorf("got %q, %v", path, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
}

// numbered writes lines that are told apart, in pieces of odd sizes.
func numbered(s *Spool, lines int) []byte {
	var all bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	for rest, n := all.Bytes(), 1; len(rest) > 0; n = n*7%70001 + 1 {
		k := min(n, len(rest))
		s.Write(rest[:k])
		rest = rest[k:]
	}
	return all.Bytes()
}

func TestALongOutputIsWholeOnDisk(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	want := numbered(s, 80_000)
	path, err := s.Path()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes on disk, want %d", len(got), len(want))
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if all, ok := s.All(10 << 20); !ok || !bytes.Equal(all, want) {
		t.Error("All differs")
	}
}

func TestTheFileKeepsHeadAndTailAndItsLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	s := NewLimit(t.TempDir(), limit)
	var want []byte
	for i := 0; i < 12; i++ {
		chunk := numbered(s, 20_000+i)
		want = append(want, chunk...)
		path, _ := s.Path()
		if info, err := os.Stat(path); err == nil && info.Size() > limit {
			t.Fatalf("the file has %d bytes", info.Size())
		}
	}
	path, err := s.Path()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	head, rest, found := bytes.Cut(got, []byte("\n[… "))
	_, tail, _ := bytes.Cut(rest, []byte("]"))
	tail = bytes.TrimLeft(tail, " ")[1:]
	if !found || len(head) != limit/4 || !bytes.HasPrefix(want, head) || len(tail) < limit/4-10 || !bytes.HasSuffix(want, tail) {
		t.Fatalf("found %v, head %d, tail %d", found, len(head), len(tail))
	}
	var left int
	fmt.Sscanf(string(rest), "%d bytes", &left)
	if left != len(want)-len(head)-len(tail) {
		t.Errorf("the note says %d, but %d are left out", left, len(want)-len(head)-len(tail))
	}
	if kept := cap(s.head) + cap(s.tail); kept > 4*memory {
		t.Errorf("%d bytes in memory", kept)
	}
	// Reading by position gives the same bytes, as far as they are there.
	if p := s.Since(int64(len(want)-300_000), 300_000); !bytes.HasSuffix(want, p.Head) || p.Left+int64(len(p.Head)) != 300_000 {
		t.Errorf("got %d bytes, %d left", len(p.Head), p.Left)
	}
}

func TestSinceGivesWhatIsNew(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	var all []byte
	var pos int64
	for i := range 30 {
		chunk := []byte(strings.Repeat(fmt.Sprintf("%d ", i), 20_000))
		s.Write(chunk)
		all = append(all, chunk...)
		if i%3 == 0 {
			p := s.Since(pos, 1<<20)
			if !bytes.Equal(p.Head, all[pos:]) || p.End != int64(len(all)) || p.Left != 0 {
				t.Fatalf("%d: %d bytes from %d, %d left", i, len(p.Head), pos, p.Left)
			}
			pos = p.End
		}
	}
	s.Close()
	if p := s.Since(300_000, 1<<30); !bytes.Equal(p.Head, all[300_000:]) {
		t.Error("a closed spool reads otherwise")
	}
	if p := s.Since(0, 1000); !bytes.Equal(p.Head, all[:500]) || !bytes.Equal(p.Tail, all[len(all)-500:]) || p.Left != int64(len(all)-1000) {
		t.Errorf("got %q … %q, %d", p.Head, p.Tail, p.Left)
	}
}

func TestPersistMovesToTheName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, size := range []int{10, 600_000} {
		s := New(dir)
		s.Write(bytes.Repeat([]byte("a"), size))
		want := filepath.Join(dir, "tasks", fmt.Sprint(size))
		path, err := s.Persist(want)
		s.Write([]byte("b"))
		got, _ := os.ReadFile(path)
		if path != want || err != nil || len(got) != size+1 {
			t.Errorf("%d: %q, %v, %d bytes", size, path, err, len(got))
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(files) != 2 {
		t.Errorf("%d files", len(files))
	}
}

func TestAFolderThatCannotBeMadeLosesOnlyTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	s := New(filepath.Join(file, "sub"))
	want := numbered(s, 80_000)
	if _, err := s.Path(); err == nil {
		t.Error("no error")
	}
	p := s.Since(0, 2000)
	if !bytes.HasPrefix(want, p.Head) || !bytes.HasSuffix(want, p.Tail) || len(p.Tail) != 1000 {
		t.Errorf("got %d and %d bytes", len(p.Head), len(p.Tail))
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"plain\ttext\n":                            "plain\ttext\n",
		"\x1b[1;31mred\x1b[0m":                     "red",
		"\x1b]0;title\x07after":                    "after",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b(B\x1b=x\x1b7":                        "x",
		"10%\r50%\r100%\n":                         "100%\n",
		"dos\r\nlines\r\n":                         "dos\nlines\n",
		"bo\bold":                                  "bold",
		"a\x00\x01\x02\xff\xfeb":                   "a\uFFFDb",
		"ding\x07":                                 "ding",
		"größe 日本":                                 "größe 日本",
		"\u009b31m":                                "\uFFFD31m",
		"end\x1b[":                                 "end",
		"never \x1b]ends\nnext":                    "never ends\nnext",
		"kept\r":                                   "kept",
		"":                                         "",
	} {
		if got := Clean([]byte(raw)); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}

func TestTextIsShortenedInTheMiddle(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir())
	numbered(s, 100_000)
	got := s.Since(0, 100_000).Text(1000, "all of it is in x")
	if n := utf8.RuneCountInString(got); n > 1100 {
		t.Errorf("%d characters", n)
	}
	if !strings.HasPrefix(got, "line 0\n") || !strings.HasSuffix(got, "line 99999\n") || !strings.Contains(got, "left out; all of it is in x …]\nline 9") {
		t.Errorf("got %q", got)
	}
	var bytesLeft, lines int
	fmt.Sscanf(got[strings.Index(got, "[… "):], "[… %d bytes in %d lines", &bytesLeft, &lines)
	if shown := strings.Count(got, "line "); shown+lines != 100_000 {
		t.Errorf("%d shown and %d left out", shown, lines)
	}
	// One long line of wide characters is cut between characters.
	s = New(t.TempDir())
	s.Write([]byte(strings.Repeat("日", 300_000)))
	got = s.Since(0, 100_001).Text(1000, "")
	if !utf8.ValidString(got) || strings.Count(got, "日") != 1000 || strings.Contains(got, unprintable) {
		t.Errorf("got %d characters", strings.Count(got, "日"))
	}
}

func FuzzCleanIsPlainText(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b[0m\r\n\xff\b"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Clean(raw)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x00\b") || len(got) > 3*len(raw) {
			t.Errorf("%q became %q", raw, got)
		}
	})
}
