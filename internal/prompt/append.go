package prompt

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gofer/internal/prompt/memory/page"
)

// AppendMemory adds what the user wrote behind a # to an instruction file, as an item of a list. The file is made if it is not
// there. Its line ends, its mode and a link in its place stay as they are, and two sessions at once lose nothing.
func AppendMemory(file, text string) error {
	lines := itemLines(text)
	if len(lines) == 0 {
		return errors.New("there is no text to add")
	}
	dir := filepath.Dir(realPath(file))
	if err := os.MkdirAll(dir, 0o700); err != nil { // the user's own folder: a project's is there already
		return err
	}
	return page.Update(file, page.LockFolder(dir), freshMode(dir), func(old []byte) ([]byte, error) {
		eol := "\n"
		if bytes.Contains(old, []byte("\r\n")) {
			eol = "\r\n"
		}
		var b bytes.Buffer
		b.Write(old)
		if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
			b.WriteString(eol)
		}
		for _, line := range lines {
			b.WriteString(line + eol)
		}
		return b.Bytes(), nil
	})
}

// itemLines makes an item of text. Further lines of it are indented, so that they stay in the item.
func itemLines(text string) []string {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd")), "#"))
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if i == 0 {
			lines[i] = "- " + strings.TrimPrefix(strings.TrimSpace(line), "- ")
		} else if line = strings.TrimRight(line, " \t"); line != "" {
			lines[i] = "  " + line
		}
	}
	return lines
}

// freshMode is the mode of a new file: what nobody else can read already stays so.
func freshMode(dir string) fs.FileMode {
	if info, err := os.Stat(dir); err == nil && info.Mode()&0o044 == 0 {
		return 0o600
	}
	return 0o644
}

// A MemoryTarget is a file that # may add to.
type MemoryTarget struct {
	Path   string
	Source Source
}

// MemoryTargets lists the files that a person can choose between: the project's, the user's for this project, the user's for all.
func (in *Instructions) MemoryTargets() []MemoryTarget {
	root := in.o.Cwd
	if r, ok := FindRepo(root); ok {
		root = r.Root
	}
	return []MemoryTarget{
		{ProjectFile(root), FromProject},
		{filepath.Join(root, "CLAUDE.local.md"), FromLocal},
		{filepath.Join(in.o.ConfigDir, "CLAUDE.md"), FromUser},
	}
}

// ProjectFile is the shared instruction file of a folder: the one that is there, or CLAUDE.md.
func ProjectFile(dir string) string {
	for _, name := range []string{"CLAUDE.md", "AGENTS.md", filepath.Join(".claude", "CLAUDE.md")} {
		if file := filepath.Join(dir, name); isFile(file) {
			return file
		}
	}
	return filepath.Join(dir, "CLAUDE.md")
}

func isFile(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}
