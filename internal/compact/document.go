package compact

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gofer/internal/prompt"
	"gofer/internal/prompt/memory/page"
)

// sections are what notes consist of, in order.
var sections = [...]string{"Title", "Current state", "Task", "Files", "Workflow", "Errors and corrections", "System", "Learnings", "Results", "Worklog"}

// In tokens.
const (
	sectionMost  = 2_000
	documentMost = 12_000
)

// A document is notes in memory.
type document struct {
	parts  [len(sections)]string
	covers string // the id of the last reply that the notes know of
}

func (d document) empty() bool { return d.parts == [len(sections)]string{} }

// text renders the notes.
func (d document) text() string {
	var b strings.Builder
	for i, title := range sections {
		fmt.Fprintf(&b, "# %s\n", title)
		if d.parts[i] != "" {
			b.WriteString(d.parts[i] + "\n")
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// merge takes what the model returned. A section that it left out stays as it was; one that it returned empty becomes empty. It
// reports false if there is no section in it at all.
func (d document) merge(reply string) (document, bool) {
	found, last := false, -1
	var collected [len(sections)][]string
	var present [len(sections)]bool
	for line := range strings.Lines(reply) {
		line = strings.TrimRight(line, " \t\r\n")
		if i := sectionIndex(line); i >= 0 {
			found, last = true, i
			present[i] = true
			continue
		}
		if last >= 0 && !strings.HasPrefix(line, "```markdown") {
			collected[last] = append(collected[last], line)
		}
	}
	for i := range sections {
		if present[i] {
			d.parts[i] = strings.TrimSpace(strings.Join(collected[i], "\n"))
		}
	}
	return d.fit(documentMost), found
}

func sectionIndex(line string) int {
	title, ok := strings.CutPrefix(line, "# ")
	if !ok {
		return -1
	}
	for i, s := range sections {
		if strings.EqualFold(strings.TrimSpace(title), s) {
			return i
		}
	}
	return -1
}

// fit cuts each section to its limit, then the longest ones until all together have at most so many tokens.
func (d document) fit(most int) document {
	var sizes []int
	sum := 0
	for i := range d.parts {
		d.parts[i] = d.cut(i, sectionMost)
		sizes = append(sizes, len(d.parts[i])/4)
		sum += len(d.parts[i])/4 + 8
	}
	if sum > most {
		limit := levelling(sizes, sum-most)
		for i := range d.parts {
			d.parts[i] = d.cut(i, limit)
		}
	}
	return d
}

// cut shortens a section to so many tokens. Of the worklog the newest lines stay, of all others the first ones.
func (d document) cut(i, tokens int) string {
	s := d.parts[i]
	if len(s) <= tokens*4 {
		return s
	}
	if sections[i] == "Worklog" {
		s = suffix(s, tokens*4)
		if _, rest, ok := strings.Cut(s, "\n"); ok {
			s = rest
		}
		return s
	}
	if at := strings.LastIndexByte(prefix(s, tokens*4), '\n'); at > tokens {
		return s[:at]
	}
	return prefix(s, tokens*4)
}

// within renders the notes in at most so many tokens.
func (d document) within(tokens int) string { return d.fit(min(tokens, documentMost)).text() }

// coversMark is how the file says what the notes know of.
const coversMark = "<!-- covers "

func readDocument(file string) document {
	data, _, err := page.Read(file, 1<<20)
	if err != nil {
		return document{}
	}
	text, mark, _ := strings.Cut(string(data), coversMark)
	d, ok := document{}.merge(strings.ToValidUTF8(text, "\ufffd"))
	if !ok {
		return document{}
	}
	d.covers, _, _ = strings.Cut(mark, " ")
	return d
}

// write replaces the file in one step.
func (d document) write(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return page.Replace(file, 0o600, func([]byte) ([]byte, error) {
		return []byte(d.text() + "\n\n" + coversMark + d.covers + " -->\n"), nil
	})
}

func notesPrompt(l prompt.Language) string {
	var list strings.Builder
	for _, s := range sections {
		list.WriteString("# " + s + "\n")
	}
	text := strings.ReplaceAll(in(l, notesEng, notesChn), "{sections}", strings.TrimSpace(list.String()))
	return strings.TrimSpace(strings.ReplaceAll(text, "{each}", fmt.Sprint(sectionMost*3/5)))
}
