//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestHostileFilesAreOnlyProblems(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*world) string{
		"a pipe":      func(w *world) string { syscall.Mkfifo(w.file(Project), 0o600); return "it is not a file" },
		"a device":    func(w *world) string { os.Symlink("/dev/zero", w.file(Project)); return "it is not a file" },
		"a folder":    func(w *world) string { os.Mkdir(w.file(Project), 0o700); return "it is not a file" },
		"a long file": func(w *world) string { w.write(Project, ""); os.Truncate(w.file(Project), 1<<30); return "1024 MB" },
		"a deep file": func(w *world) string { w.write(Project, strings.Repeat("[", 1<<20)); return "nested more than" },
		"a loop of links": func(w *world) string {
			os.Symlink(w.file(Project), w.file(Project))
			return "cannot be read"
		},
		"bytes":  func(w *world) string { w.write(Project, "\x00\xff\xfe{}"); return ":1:1" },
		"UTF-16": func(w *world) string { w.write(Project, "\xff\xfe{\x00}\x00"); return ":1:1" },
		".claude file": func(w *world) string {
			os.Remove(filepath.Dir(w.file(Project)))
			w.writeFile(filepath.Dir(w.file(Project)), "x")
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			want := make(w)
			w.write(User, `{"model":"x"}`)
			s := w.load()
			if s.Settings.Model != "x" || !strings.Contains(problems(s), want) || want == "" && len(s.Problems) > 0 {
				t.Errorf("model %q\n%s", s.Settings.Model, problems(s))
			}
		})
	}
}
