package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gofer/internal/prompt/memory/page"
	"gofer/internal/tool"
)

const (
	indexLines = 200
	indexBytes = 25 * 1024
)

// Section is what a session is told about memory at its start: how to use it, and the index. The folder is made, so that the
// model finds it.
func (s *Store) Section() string {
	_ = os.MkdirAll(s.o.Dir, 0o700) // if that fails, so will the model's writing, and says why
	guide := s.text("guide.md")
	if s.o.Daily {
		guide = s.text("daily.md")
	}
	index, warning := s.Index()
	if index == "" {
		index = s.in("(empty so far)", "（目前为空）")
	}
	if warning != "" {
		index += "\n\n" + warning
	}
	return guide + "\n\n## " + indexName + "\n" + index
}

// Index returns the index as the model sees it: 200 lines or 25 KB of it, and a warning if there is more.
func (s *Store) Index() (text, warning string) {
	data, whole, err := page.Read(filepath.Join(s.o.Dir, indexName), indexBytes)
	if err != nil {
		return "", ""
	}
	text, ok := page.Plain(data)
	if !ok {
		return "", s.in("[MEMORY.md is not a text file and is not shown.]", "[MEMORY.md 不是文本文件，未显示。]")
	}
	if !whole {
		text = tool.Prefix(text, len(text)-1)
	}
	text = strings.TrimSpace(text)
	lines := strings.Split(text, "\n")
	switch {
	case len(lines) > indexLines:
		text = strings.Join(lines[:indexLines], "\n")
		warning = fmt.Sprintf(s.in("[Only the first %d lines of MEMORY.md are shown. Shorten it: one line for each memory, and join those that belong together.]",
			"[仅显示 MEMORY.md 的前 %d 行。请缩短：每条记忆一行，并合并相关的记忆。]"), indexLines)
	case !whole:
		warning = fmt.Sprintf(s.in("[Only the first %d KB of MEMORY.md are shown. Shorten its lines: details belong into the memories.]",
			"[仅显示 MEMORY.md 的前 %d KB。请缩短各行：细节应写在记忆文件里。]"), indexBytes/1024)
	}
	return text, warning
}

// setIndexLine puts the line of a memory into the index, in the place of its older one. An empty line takes it out.
func setIndexLine(index, file, line string) string {
	mark := "](" + file + ")"
	var kept []string
	placed := line == ""
	for old := range strings.Lines(index) {
		old = strings.TrimRight(old, "\r\n")
		if strings.Contains(old, mark) {
			if placed {
				continue
			}
			old, placed = line, true
		}
		kept = append(kept, old)
	}
	for len(kept) > 0 && strings.TrimSpace(kept[len(kept)-1]) == "" {
		kept = kept[:len(kept)-1]
	}
	if !placed {
		kept = append(kept, line)
	}
	if len(kept) == 0 {
		return ""
	}
	return strings.Join(kept, "\n") + "\n"
}

func indexLine(m Memory) string {
	title := strings.NewReplacer("[", "(", "]", ")").Replace(m.Name)
	return fmt.Sprintf("- [%s](%s) — %s", title, m.File, line(m.Description, 150))
}
