package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"gofer/internal/llm"
)

// Formats that Export writes.
const (
	Markdown = "md"
	JSON     = "json"
	Text     = "text"
)

// Export writes the whole conversation of a session, also what the model no longer sees, for people or for programs.
func Export(out io.Writer, path, format string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines, x, err := history(f, path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	p := printer{out: w, format: format}
	p.begin(x.state(path))
	var buf []byte
	for _, l := range lines {
		if buf, err = readLine(f, l, buf); err != nil {
			return err
		}
		p.entry(decode(buf, l))
	}
	p.end()
	return w.Flush()
}

// history returns the records of the whole conversation in order, across boundaries.
func history(f *os.File, path string) ([]line, *index, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	x := newIndex(f, info.Size(), isAgentFile(path))
	for {
		if err := x.more(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
	}
	var parts [][]line
	seen := map[string]bool{}
	for leaf := x.leaf; leaf != "" && !seen[leaf]; {
		seen[leaf] = true
		chain, err := x.chain(leaf)
		if err != nil || len(chain) == 0 {
			break
		}
		root := chain[0]
		if root.boundary != nil && x.copies(root) < root.boundary.records {
			leaf = root.boundary.logical
			continue
		}
		parts = append(parts, x.withSiblings(chain, nil))
		if leaf = ""; root.boundary != nil {
			leaf = root.boundary.logical
		}
	}
	slices.Reverse(parts)
	return slices.Concat(parts...), x, nil
}

// A printer writes records in one of the formats.
type printer struct {
	out    *bufio.Writer
	format string
	n      int
	last   string // who spoke last
}

func (p *printer) begin(s *State) {
	switch p.format {
	case JSON:
		fmt.Fprintf(p.out, "{\"sessionId\":%s,\"title\":%s,\"cwd\":%s,\"messages\":[", quoted(s.ID), quoted(s.Title()), quoted(s.Cwd))
	case Markdown:
		fmt.Fprintf(p.out, "# %s\n\nSession `%s` in `%s`\n", strings.ReplaceAll(s.Title(), "\n", " "), s.ID, s.Cwd)
	default:
		fmt.Fprintf(p.out, "%s\nsession %s in %s\n", s.Title(), s.ID, s.Cwd)
	}
}

func quoted(s string) []byte { return llm.AppendString(nil, s) }

func (p *printer) end() {
	if p.format == JSON {
		p.out.WriteString("\n]}\n")
	}
}

func (p *printer) entry(e entry) {
	switch {
	case e.isBroken:
		return
	case e.boundary != nil:
		p.boundary(e)
		return
	case e.copied && !e.summary, len(e.message.Blocks) == 0:
		return
	case p.format == JSON:
		p.json(e)
		return
	case e.isMeta, e.note:
		return // gofer's own words to the model
	}
	for _, b := range e.message.Blocks {
		if !isReminder(b) {
			p.block(e, b)
		}
	}
}

func (p *printer) boundary(e entry) {
	switch p.last = ""; p.format {
	case JSON:
		p.item(fmt.Sprintf(`{"uuid":%s,"timestamp":%s,"boundary":true}`, quoted(e.uuid), quoted(e.time.Format(time.RFC3339Nano))))
	case Markdown:
		p.out.WriteString("\n---\n\n*The conversation was compacted here.*\n")
	default:
		p.out.WriteString("\n──── the conversation was compacted here ────\n")
	}
}

func (p *printer) item(json string) {
	if p.n > 0 {
		p.out.WriteByte(',')
	}
	p.n++
	p.out.WriteString("\n" + json)
}

func (p *printer) json(e entry) {
	message, err := llm.Marshal(e.message)
	if err != nil {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"uuid":%s,"timestamp":%s,"meta":%t,"message":%s}`, quoted(e.uuid), quoted(e.time.Format(time.RFC3339Nano)), e.isMeta, message)
	p.item(b.String())
}

// speaker writes who says what follows, once.
func (p *printer) speaker(name string, at time.Time) {
	if p.last == name {
		p.out.WriteByte('\n')
		return
	}
	p.last = name
	stamp := at.Local().Format("2006-01-02 15:04")
	if p.format == Markdown {
		fmt.Fprintf(p.out, "\n## %s · %s\n\n", name, stamp)
		return
	}
	fmt.Fprintf(p.out, "\n%s  %s\n", strings.ToUpper(name), stamp)
}

func (p *printer) block(e entry, b llm.Block) {
	md := p.format == Markdown
	switch b.Kind {
	case llm.Text:
		name := "User"
		if e.message.Role == llm.Assistant {
			name = "Assistant"
		}
		if e.failed {
			name = "Error"
		}
		if e.summary {
			name = "Summary"
		}
		p.speaker(name, e.time)
		fmt.Fprintln(p.out, b.Text)
	case llm.ToolUse:
		p.speaker("Assistant", e.time)
		if md {
			fmt.Fprintf(p.out, "**%s**\n\n%s\n", b.Call.Name, fenced("json", string(b.Call.Input)))
		} else {
			fmt.Fprintf(p.out, "→ %s %s\n", b.Call.Name, b.Call.Input)
		}
	case llm.ToolResult:
		if b.Result == nil {
			return
		}
		body := b.Result.Text()
		if md {
			fmt.Fprintf(p.out, "\n%s\n", fenced("", body))
		} else {
			fmt.Fprintf(p.out, "\n%s\n", indent(body))
		}
	case llm.Image, llm.Document:
		fmt.Fprintf(p.out, "\n[%s]\n", b.Kind)
	}
}

// fenced puts text into a Markdown fence that no line of it can close.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
