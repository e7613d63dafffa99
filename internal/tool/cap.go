package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gofer/internal/llm"
)

// A Spill keeps a text that is too long for the model and says where.
type Spill func(callID, text string) (path string, err error)

// previewLen is how many bytes of a spilled text the model still sees.
const previewLen = 2000

// Cap shortens the text of r to what the call's tool declares. The whole text goes to spill, and the model gets a preview
// and the path.
func (c Call) Cap(r Result, spill Spill) Result {
	limit := c.Tool.ResultCap
	if limit == 0 {
		limit = DefaultResultCap
	}
	text := r.Text()
	if limit < 0 || len(text) <= limit {
		return r
	}
	var note string
	if path, err := spill(c.ID, text); err != nil {
		note = fmt.Sprintf("The result has %d characters, too many to show, and could not be kept on disk (%v). Its first part:", len(text), err)
	} else {
		note = fmt.Sprintf("The result has %d characters, too many to show. The whole of it is in %s: read the parts you need, or search in it. Its first part:", len(text), path)
	}
	short := llm.TextBlock("<persisted-output>\n" + note + "\n\n" + Prefix(text, previewLen) + "\n…\n</persisted-output>")
	content := []llm.Block{short}
	for _, b := range r.Content {
		if b.Kind != llm.Text {
			content = append(content, b)
		}
	}
	r.Content = content
	return r
}

// Prefix returns at most n bytes of s, cut at a line end if one is near and never inside a character.
func Prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, '\n'); i > n/2 {
		s = s[:i]
	}
	return s
}
