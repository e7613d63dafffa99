package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"gofer/internal/prompt/memory/page"
	"gofer/internal/tool"
)

// ErrFull means that there are as many memories as there may be: some have to go before one can come.
var ErrFull = fmt.Errorf("there are %d memories already", mostFiles)

// Save keeps a memory and its line in the index. One whose File exists is replaced; else it gets a file of its own, and the name
// of it is returned.
func (s *Store) Save(ctx context.Context, m Memory) (file string, err error) {
	unlock, err := s.take(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	return s.save(m)
}

// Remove forgets a memory. One that is not there is forgotten already.
func (s *Store) Remove(ctx context.Context, file string) error {
	unlock, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.remove(file)
}

// take takes the lock. Its holders need milliseconds, so that nobody waits long for one that was stopped.
func (s *Store) take(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s.lock().Take(ctx)
}

// save is Save under the lock.
func (s *Store) save(m Memory) (string, error) {
	m.Name, m.Description = line(s.o.Mask(m.Name), 80), line(s.o.Mask(m.Description), 200)
	m.Body = strings.TrimSpace(tool.Prefix(strings.ToValidUTF8(s.o.Mask(m.Body), "\ufffd"), mostBody))
	switch {
	case m.Name == "" || m.Body == "":
		return "", errors.New("a memory needs a name and a text")
	case !slices.Contains([]string{User, Feedback, Project, Reference}, m.Type):
		return "", fmt.Errorf("a memory is of type user, feedback, project or reference, not %q", m.Type)
	}
	if !s.exists(m.File) {
		if s.count() >= mostFiles {
			return "", ErrFull
		}
		m.File = s.freshName(m)
	}
	// The file comes first: a kill between the two leaves a memory that is found all the same.
	err := page.Replace(filepath.Join(s.o.Dir, m.File), 0o600, func([]byte) ([]byte, error) { return []byte(m.format()), nil })
	if err != nil {
		return "", err
	}
	s.note(m.File)
	return m.File, s.reindex(m.File, indexLine(m))
}

// note remembers that this store has written a file.
func (s *Store) note(file string) {
	if info, err := os.Stat(filepath.Join(s.o.Dir, file)); err == nil {
		s.mu.Lock()
		s.own[file] = info.ModTime()
		s.mu.Unlock()
	}
}

func (s *Store) remove(file string) error {
	if !isMemory(file) || file != filepath.Base(file) {
		return fmt.Errorf("%q is not the name of a memory", file)
	}
	if err := os.Remove(filepath.Join(s.o.Dir, file)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return s.reindex(file, "")
}

func (s *Store) reindex(file, line string) error {
	defer s.note(indexName)
	return page.Replace(filepath.Join(s.o.Dir, indexName), 0o600, func(old []byte) ([]byte, error) {
		text, ok := page.Plain(old)
		if !ok {
			return nil, fmt.Errorf("%s is not a text file", indexName)
		}
		if changed := setIndexLine(text, file, line); changed != text {
			return []byte(changed), nil
		}
		return nil, nil
	})
}

// exists tells whether file is a memory of this folder. The name may come from a model: it must not lead out.
func (s *Store) exists(file string) bool {
	if file == "" || file != filepath.Base(file) || !isMemory(file) {
		return false
	}
	info, err := os.Lstat(filepath.Join(s.o.Dir, file))
	return err == nil && info.Mode().IsRegular()
}

func (s *Store) count() int {
	entries, _ := os.ReadDir(s.o.Dir)
	n := 0
	for _, e := range entries {
		if isMemory(e.Name()) {
			n++
		}
	}
	return n
}

// freshName makes a file name of the memory's own name: its type, and letters and digits of any script.
func (s *Store) freshName(m Memory) string {
	words := strings.FieldsFunc(strings.ToLower(m.Name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slug := strings.Join(words, "-")
	if runes := []rune(slug); len(runes) > 48 {
		slug = strings.Trim(string(runes[:48]), "-")
	}
	base := strings.Trim(m.Type+"-"+slug, "-")
	for i := 1; ; i++ {
		name := base + ".md"
		if i > 1 {
			name = fmt.Sprintf("%s-%d.md", base, i)
		}
		if _, err := os.Lstat(filepath.Join(s.o.Dir, name)); err != nil {
			return name
		}
	}
}

func (m Memory) format() string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\ntype: %s\n---\n\n%s\n", quote(m.Name), quote(m.Description), m.Type, m.Body)
}

// quote writes a value so that readers which take YAML by its word can read it, too.
func quote(v string) string {
	if v == "" || strings.ContainsAny(v, ":#\"'\\[]{}&*!|>%@`,") || strings.HasPrefix(v, "-") || strings.HasPrefix(v, "?") {
		return `"` + strings.NewReplacer(`"`, "'", `\`, "/").Replace(v) + `"`
	}
	return v
}
