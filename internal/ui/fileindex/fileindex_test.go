package fileindex

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func tree(t testing.TB, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// settled asks until no listing runs any more.
func settled(t *testing.T, x *Index, query string) []string {
	t.Helper()
	for {
		found, ok := x.Find(t.Context(), query, 10)
		if ok {
			var names []string
			for _, m := range found {
				names = append(names, m.Path)
			}
			return names
		}
		x.Settle(t.Context())
	}
}

func open(t *testing.T, root string) *Index {
	x := New(root, nil)
	t.Cleanup(x.Close)
	return x
}

func TestBestStartWins(t *testing.T) {
	t.Parallel()
	x := open(t, tree(t, "internal/ui/input/box.go", "internal/inbox/old.go", "bin/out/xyz.txt", "docs/boxes.md", "box/readme.txt"))
	for query, want := range map[string]string{
		"box.go": "internal/ui/input/box.go",
		"iuib":   "internal/ui/input/box.go", // the beginnings of four parts
		"box":    "box/",
		"old":    "internal/inbox/old.go",
		"readme": "box/readme.txt",
		"DOCS":   "",
		"zzz":    "",
		"ui inp": "internal/ui/input/",
	} {
		got := settled(t, x, query)
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || got[0] != want) {
			t.Errorf("%q found %q, want %q first", query, got, want)
		}
	}
	found, _ := x.Find(t.Context(), "box.go", 1)
	if len(found) != 1 || fmt.Sprint(found[0].Matched) != "[18 19 20 21 22 23]" {
		t.Errorf("matched %v", found)
	}
	if got := settled(t, x, ""); strings.Join(got, " ") != "bin/ box/ docs/ internal/" {
		t.Errorf("nothing typed: %q", got)
	}
}

func TestFilesComeAndGo(t *testing.T) {
	t.Parallel()
	root := tree(t, ".git/HEAD", ".gitignore", "one.txt", "gone.txt", "build/made.txt")
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte("build/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x := open(t, root)
	if got := settled(t, x, "made"); len(got) > 0 {
		t.Errorf("an ignored file was found: %q", got)
	}
	if got := settled(t, x, "gone"); len(got) != 1 {
		t.Errorf("gone.txt: %q", got)
	}
	if err := os.Remove(filepath.Join(root, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	if got := settled(t, x, "gone"); len(got) > 0 {
		t.Errorf("a removed file was found: %q", got)
	}
	if err := os.WriteFile(filepath.Join(root, "brandnew.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		x.Changed()
		if got := settled(t, x, "brandnew"); len(got) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a new file is not found")
		}
	}
	if got := settled(t, x, "gitignore"); len(got) != 1 {
		t.Errorf("hidden files can be mentioned: %q", got)
	}
}

func TestOddNames(t *testing.T) {
	t.Parallel()
	names := []string{"a name with blanks.txt", "wide/你好.txt", "accent/Überblick.md", "РАБОТА.txt"}
	if os.PathSeparator == '/' {
		names = append(names, "line\nend.txt", "bad\xff\xfename.txt")
	}
	x := open(t, tree(t, names...))
	for query, want := range map[string]string{"nameblanks": names[0], "你好": names[1], "über": names[2], "работа": names[3], "lineend": "line\nend.txt", "badname": "bad\xff\xfename.txt"} {
		if os.PathSeparator != '/' && (strings.Contains(want, "\n") || !utf8.ValidString(want)) {
			continue
		}
		if got := settled(t, x, query); len(got) != 1 || got[0] != want {
			t.Errorf("%q found %q", query, got)
		}
	}
}

func TestFolderThatIsNotThere(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "none"))
	if got := settled(t, x, "a"); len(got) > 0 {
		t.Error(got)
	}
	x.Close()
	x.Find(t.Context(), "a", 5) // after the end nothing is started
}

// many makes names as a large repository has them.
func many(n int) []string {
	parts := []string{"internal", "pkg", "src", "lib", "service", "handler", "model", "view", "controller", "test", "util", "config", "api", "client", "server", "storage"}
	names := make([]string, n)
	for i := range names {
		a, b, c := parts[i%16], parts[i/16%16], parts[i/256%16]
		names[i] = fmt.Sprintf("%s/%s/%s%d/%s_%s_%d.go", a, b, c, i/4096, parts[i/7%16], parts[i/3%16], i)
	}
	return names
}

func TestNarrowingGivesTheSame(t *testing.T) {
	t.Parallel()
	table := newTable(many(12_000)) // more than are weighed one by one
	warm, cold := New("/", nil), New("/", nil)
	defer warm.Close()
	defer cold.Close()
	for _, query := range []string{"s", "se", "ser", "serv", "servh", "servh7", "servh77", "servh", "S", "x"} {
		cold.last = narrowed{}
		a := fmt.Sprint(warm.best(t.Context(), table, query, 10))
		if b := fmt.Sprint(cold.best(t.Context(), table, query, 10)); a != b {
			t.Errorf("%q: %s\nwithout the earlier answers: %s", query, a, b)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := warm.best(ctx, table, "servh", 10); got != nil {
		t.Errorf("an ended question was answered: %v", got)
	}
}

func BenchmarkFind(b *testing.B) {
	table := newTable(many(500_000))
	for _, query := range []string{"s", "se", "src", "service", "srvhnd", "handler_model_4711", "zq"} {
		b.Run(query, func(b *testing.B) {
			x := New("/", nil)
			defer x.Close()
			for b.Loop() {
				x.last = narrowed{}
				x.best(b.Context(), table, query, 15)
			}
		})
	}
	b.Run("typing", func(b *testing.B) {
		x := New("/", nil)
		defer x.Close()
		word := "servicehandler"
		for i := 0; b.Loop(); i++ {
			x.best(b.Context(), table, word[:1+i%len(word)], 15)
		}
	})
}
