package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"gofer/internal/prompt/memory/page"
	"gofer/internal/tool"
)

// A loader reads files into a list.
type loader struct {
	in  *Instructions
	why LoadReason
	out []Instruction
	report
}

func (in *Instructions) loader(why LoadReason) *loader { return &loader{in: in, why: why} }

func (l *loader) warn(format string, args ...any) {
	// Files are read anew after every compaction; a person is told once.
	if text := fmt.Sprintf(format, args...); !l.in.warned[text] {
		l.in.warned[text] = true
		l.warnings = append(l.warnings, text)
	}
}

// load reads one file and what it imports. by is the file that imports it, "" if none does.
func (l *loader) load(f found, by string, deep int) {
	if _, err := os.Lstat(f.path); err != nil {
		return // nearly all places are empty, and following the path there costs a call for each folder
	}
	real, err := filepath.EvalSymlinks(f.path)
	if err != nil || l.in.seen[real] || l.excluded(f.path, real) {
		return
	}
	if f.above && l.foreign(real) {
		l.in.seen[real] = true
		l.warn("%s belongs to another user and is not read.", f.path)
		return
	}
	if !l.in.place.mayLeadTo(f, real) && !l.approved(f, by, real) {
		return
	}
	text, ok := l.read(f.path, real)
	if !ok {
		return
	}
	l.in.seen[real] = true
	if f.rule {
		front, body := page.Split(text)
		if globs := front["paths"]; len(globs) > 0 && !f.met {
			l.in.seen[real] = false // it has not been told yet
			l.in.rules = append(l.in.rules, newRule(f, globs, l.warn))
			return
		}
		text = body
	}
	text, imports := markdown(text)
	why := l.why
	if by != "" && why != OnCompact {
		why = OnImport
	}
	l.add(Instruction{Path: f.path, Source: f.source, Reason: why, Text: strings.TrimSpace(text), By: by, from: f})
	if deep >= importDeep {
		return
	}
	for _, name := range imports {
		if path := l.resolve(filepath.Dir(f.path), name); path != "" {
			l.load(found{path: path, source: f.source, base: f.base, above: f.above}, f.path, deep+1)
		}
	}
}

// add takes an instruction in, if its text is new and there is room.
func (l *loader) add(i Instruction) {
	key := digest(i.Text)
	if i.Text == "" || l.in.texts[key] {
		return
	}
	if n := utf8.RuneCountInString(i.Text); n > warnBeyond {
		l.warn("%s has %d characters. Every request carries them: more than %d cost more than they help.", i.Path, n, warnBeyond)
	}
	if l.in.total+len(i.Text) > totalMost {
		l.warn("%s is left out: the instruction files together have more than %d bytes.", i.Path, totalMost)
		return
	}
	l.in.texts[key] = true
	l.in.total += len(i.Text)
	l.out = append(l.out, i)
	l.loaded = append(l.loaded, i)
}

// read reads the text of a file, cut if it is too long.
func (l *loader) read(path, real string) (string, bool) {
	data, whole, err := page.Read(real, fileMost)
	switch {
	case errors.Is(err, page.ErrNotRegular) || errors.Is(err, fs.ErrNotExist):
		return "", false
	case err != nil:
		l.warn("An instruction file cannot be read: %v", err)
		return "", false
	}
	if !whole {
		data = []byte(tool.Prefix(string(data), len(data)-1))
	}
	text, ok := page.Plain(data)
	if !ok {
		l.warn("%s is not a text file and is left out.", path)
		return "", false
	}
	if !whole {
		l.warn("%s has more than %d bytes: the rest is left out.", path, fileMost)
		text += l.in.o.Language.in("\n[cut: the file goes on; read it if you need the rest]", "\n[已截断：文件还有后文；如有需要请读取]")
	}
	return text, true
}

// approved asks whether text from outside of the project may be taken in. The answer is asked for once.
func (l *loader) approved(f found, by, real string) bool {
	asker := by
	if asker == "" {
		asker = f.path
	}
	yes, asked := l.in.answers[real]
	if !asked {
		yes = l.in.o.Approve != nil && l.in.o.Approve(asker, real)
		l.in.answers[real] = yes
	}
	if yes {
		return true
	}
	l.in.seen[real] = true
	l.warn("%s wants to include %s, which lies outside of the project. It is not read without your approval.", asker, real)
	return false
}

// excluded tells whether the settings exclude the file by its path or by what it leads to.
func (l *loader) excluded(paths ...string) bool {
	for _, glob := range l.in.o.Excludes {
		glob = expandTilde(glob, l.in.o.Home)
		for _, p := range paths {
			if ok, err := doublestar.Match(filepath.ToSlash(glob), filepath.ToSlash(p)); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// foreign tells whether a file above the project belongs to somebody who has no say here: not to the user, the system, or the
// owner of the project. In a folder such as /tmp anybody can put one.
func (l *loader) foreign(real string) bool {
	info, err := os.Stat(real)
	return err == nil && !trustedOwner(info, l.in.place.rootInfo)
}

// resolve finds the file that an import means; "" if there is none, as for a word that only looks like an import.
func (l *loader) resolve(dir, name string) string {
	for _, name := range []string{name, strings.TrimRight(name, ".,;:!?)]}'\"*")} {
		path := expandTilde(name, l.in.o.Home)
		if path == "" || strings.HasPrefix(path, "@") {
			continue
		}
		path = absolute(dir, path)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
