package acp

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"

	protocol "github.com/coder/acp-go-sdk"

	"gofer/internal/llm"
)

// preview is what is known of a call's effect before it has run.
func (t *talk) preview(c *call) []protocol.ToolCallContent {
	in := readInput(c.input)
	switch {
	case c.name == "Edit" && in.Path != "":
		return []protocol.ToolCallContent{protocol.ToolDiffContent(t.abs(in.Path), in.New, in.Old)}
	case c.name == "Write" && in.Path != "":
		return []protocol.ToolCallContent{protocol.ToolDiffContent(t.abs(in.Path), in.Content)}
	case c.name == "ExitPlanMode" && in.Plan != "":
		return []protocol.ToolCallContent{protocol.ToolContent(protocol.TextBlock(in.Plan))}
	case c.name == "Bash" && in.Description != "":
		return []protocol.ToolCallContent{protocol.ToolContent(protocol.TextBlock(in.Description))}
	}
	return nil
}

// mostWhole is how large a file is at the most that a diff shows whole.
const mostWhole = 512 << 10

// effect is the diff that a call would make, of the whole file where that is not too large. It is exact only before the call runs.
func (d *Desk) effect(name, path string, in callInput, content func(string) (string, bool)) []protocol.ToolCallContent {
	old, known := content(path)
	switch {
	case name == "Write" && known:
		return []protocol.ToolCallContent{protocol.ToolDiffContent(path, in.Content, old)}
	case name == "Write":
		return []protocol.ToolCallContent{protocol.ToolDiffContent(path, in.Content)}
	case name == "Edit" && in.Old == "":
		return []protocol.ToolCallContent{protocol.ToolDiffContent(path, in.New)}
	case name == "Edit" && known && strings.Contains(old, in.Old):
		n := 1
		if in.All {
			n = -1
		}
		return []protocol.ToolCallContent{protocol.ToolDiffContent(path, strings.Replace(old, in.Old, in.New, n), old)}
	case name == "Edit":
		return []protocol.ToolCallContent{protocol.ToolDiffContent(path, in.New, in.Old)}
	case name == "NotebookEdit":
		return []protocol.ToolCallContent{fencedContent(in.Source)}
	}
	return nil
}

// smallText reads a file if it is text and not large.
func smallText(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostWhole {
		return "", false
	}
	b, err := os.ReadFile(path)
	return string(b), err == nil && utf8.Valid(b)
}

// changed is what the file tools tell programs of a change.
type changed struct {
	Path     string  `json:"filePath"`
	Type     string  `json:"type"`
	Content  *string `json:"content"`
	Original *string `json:"originalFile"`
	Patch    []struct {
		OldStart int      `json:"oldStart"`
		OldLines int      `json:"oldLines"`
		Lines    []string `json:"lines"`
	} `json:"structuredPatch"`
}

// resultContent is what a person sees of a result.
func (t *talk) resultContent(r *llm.Result, c *call, data any) []protocol.ToolCallContent {
	if c.edits && !r.IsError {
		if diffs := diffsOf(data); diffs != nil {
			return diffs
		}
	}
	if id := t.desk.terminalOf(r.CallID); id != "" {
		return nil // what it shows stays
	}
	var list []protocol.ToolCallContent
	for _, b := range r.Content {
		switch {
		case b.Kind == llm.Text && b.Text != "" && fences(c.name):
			list = append(list, fencedContent(b.Text))
		case b.Kind == llm.Text && b.Text != "":
			list = append(list, protocol.ToolContent(protocol.TextBlock(short(b.Text))))
		case b.Kind == llm.Image && b.Media != nil && b.Media.Type == "base64":
			list = append(list, protocol.ToolContent(protocol.ImageBlock(b.Media.Data, b.Media.MediaType)))
		}
	}
	return list
}

// fences says whether a tool's result is text that no Markdown is to be made of.
func fences(name string) bool {
	switch name {
	case "Read", "Bash", "Grep", "Glob", "TaskOutput", "Edit", "Write", "NotebookEdit", "Revert":
		return true
	}
	return false
}

func short(s string) string {
	if len(s) <= shownMost {
		return s
	}
	return cut(s, shownMost)
}

// fencedContent shows text as it is.
func fencedContent(text string) protocol.ToolCallContent {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return protocol.ToolContent(protocol.TextBlock(fence + "\n" + strings.TrimRight(short(text), "\n") + "\n" + fence))
}

// diffsOf makes diffs of what a file tool did: of the whole file if that is known, else of each place.
func diffsOf(data any) []protocol.ToolCallContent {
	b, err := llm.Marshal(data)
	if err != nil {
		return nil
	}
	var c changed
	if json.Unmarshal(b, &c) != nil || c.Path == "" {
		return nil
	}
	switch {
	case c.Type == "create" && c.Content != nil:
		return []protocol.ToolCallContent{protocol.ToolDiffContent(c.Path, *c.Content)}
	case c.Content != nil && c.Original != nil:
		return []protocol.ToolCallContent{protocol.ToolDiffContent(c.Path, *c.Content, *c.Original)}
	case c.Original != nil:
		return []protocol.ToolCallContent{protocol.ToolDiffContent(c.Path, c.patched(), *c.Original)}
	}
	var list []protocol.ToolCallContent
	for _, h := range c.Patch {
		before, after := sides(h.Lines)
		list = append(list, protocol.ToolDiffContent(c.Path, strings.Join(after, ""), strings.Join(before, "")))
	}
	return list
}

// patched is the original with the patch made.
func (c changed) patched() string {
	lines := strings.SplitAfter(*c.Original, "\n")
	var out strings.Builder
	at := 0
	for _, h := range c.Patch {
		start := max(h.OldStart-1, 0)
		if h.OldLines == 0 {
			start = h.OldStart // a hunk without old lines stands behind the line it names
		}
		start = min(max(start, at), len(lines))
		out.WriteString(strings.Join(lines[at:start], ""))
		_, after := sides(h.Lines)
		out.WriteString(strings.Join(after, ""))
		at = min(start+h.OldLines, len(lines))
	}
	out.WriteString(strings.Join(lines[at:], ""))
	return out.String()
}

// sides splits the lines of a hunk into what was and what is, with line ends. A line that says that there is none takes the last one's away.
func sides(lines []string) (before, after []string) {
	for i, l := range lines {
		if l == "" || l[0] == '\\' {
			continue
		}
		text := l[1:] + "\n"
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\\") {
			text = l[1:]
		}
		if l[0] != '+' {
			before = append(before, text)
		}
		if l[0] != '-' {
			after = append(after, text)
		}
	}
	return before, after
}

// blocksOf turns a prompt of the client into what the model reads.
func blocksOf(prompt []protocol.ContentBlock) ([]llm.Block, error) {
	var blocks []llm.Block
	for _, c := range prompt {
		switch {
		case c.Text != nil:
			blocks = append(blocks, llm.TextBlock(c.Text.Text))
		case c.Image != nil:
			if _, err := base64.StdEncoding.DecodeString(c.Image.Data); err != nil {
				return nil, protocol.NewInvalidParams("an image must be base64: " + err.Error())
			}
			blocks = append(blocks, llm.Block{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: c.Image.MimeType, Data: c.Image.Data}})
		case c.ResourceLink != nil:
			blocks = append(blocks, llm.TextBlock(linkText(c.ResourceLink)))
		case c.Resource != nil:
			blocks = append(blocks, embedded(c.Resource.Resource)...)
		case c.Audio != nil:
			return nil, protocol.NewInvalidParams("audio is not supported")
		}
	}
	if len(blocks) == 0 {
		return nil, protocol.NewInvalidParams("the prompt is empty")
	}
	return blocks, nil
}

// linkText names something that the model may look at by itself.
func linkText(l *protocol.ContentBlockResourceLink) string {
	if path := filePath(l.Uri); path != "" {
		return "@" + path
	}
	return "[" + l.Name + "](" + l.Uri + ")"
}

func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return u.Path
}

// embedded is something that the client sends along.
func embedded(r protocol.EmbeddedResourceResource) []llm.Block {
	switch {
	case r.TextResourceContents != nil:
		name := r.TextResourceContents.Uri
		if path := filePath(name); path != "" {
			name = path
		}
		return []llm.Block{llm.TextBlock("The user sends along " + name + ":\n<attached>\n" + r.TextResourceContents.Text + "\n</attached>")}
	case r.BlobResourceContents != nil:
		b := r.BlobResourceContents
		kind := ""
		if b.MimeType != nil {
			kind = *b.MimeType
		}
		media := &llm.Media{Type: "base64", MediaType: kind, Data: b.Blob}
		switch {
		case strings.HasPrefix(kind, "image/"):
			return []llm.Block{{Kind: llm.Image, Media: media}}
		case kind == "application/pdf":
			return []llm.Block{{Kind: llm.Document, Media: media}}
		}
		return []llm.Block{llm.TextBlock("The user refers to " + b.Uri + " (" + kind + "), which cannot be shown here.")}
	}
	return nil
}
