package files

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"gofer/internal/llm"
	"gofer/internal/tool"
	"gofer/internal/tool/picture"
)

const (
	largestNotebook = 256 << 20
	shownOfOutput   = 10_000 // bytes of one output of a cell
	mostPictures    = 10     // pictures of one result
)

// terminalCodes matches the colours that tracebacks come with.
var terminalCodes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`) })

func (k *kit) readNotebook(b *body, in readIn) (tool.Result, error) {
	n, err := loadNotebook(b)
	if err != nil {
		return tool.Result{}, err
	}
	from := in.offset() - 1
	if len(n.cells) == 0 {
		return tool.Text(fmt.Sprintf("%s is a notebook without cells.", b.path)), nil
	}
	if from >= len(n.cells) {
		return tool.Result{}, fmt.Errorf("offset %d is behind the end: %s has %d cells", from+1, b.path, len(n.cells))
	}
	to := len(n.cells)
	if limit := in.limit(to); limit < to-from {
		to = from + limit
	}
	view := notebookView{language: n.language}
	shown := from
	for ; shown < to; shown++ {
		if !view.add(n.cells[shown], shown+1, len(n.cells)) && shown > from {
			break
		}
	}
	if shown < len(n.cells) {
		view.text.WriteString(fmt.Sprintf("[Cells %d to %d of %d. To read on: offset=%d.]", from+1, shown, len(n.cells), shown+1))
	}
	return tool.Result{
		Content: view.finish(),
		Data:    map[string]any{"type": "notebook", "file": map[string]any{"filePath": k.abs(in.Path), "cells": cellData(n, from, shown)}},
		Display: tool.Display{Summary: fmt.Sprintf("Read %d cells", shown-from)},
	}, nil
}

func loadNotebook(b *body) (*notebook, error) {
	if b.size > largestNotebook {
		return nil, fmt.Errorf("%s is a notebook of %s, which is too large. Look into it with Bash (jq)", b.path, sizeText(b.size))
	}
	raw, err := b.slice(0, b.size)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", b.path, err)
	}
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("%s cannot be read as a notebook: it is not UTF-8", b.path)
	}
	n, err := parseNotebook(raw)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a notebook: %w. Look into it with Bash", b.path, err)
	}
	return n, nil
}

// cellData is what programs get of the cells: without outputs, which may be large.
func cellData(n *notebook, from, to int) []map[string]any {
	var list []map[string]any
	for _, c := range n.cells[from:to] {
		list = append(list, map[string]any{"cellType": c.Type, "source": clip(string(c.Source), 20_000), "cell_id": c.ID, "language": n.language})
	}
	return list
}

// A notebookView collects what the model sees of a notebook.
type notebookView struct {
	language string
	blocks   []llm.Block
	text     strings.Builder
	size     int
	pictures int
}

// add shows a cell. It returns false, and shows nothing, if there is no room for it.
func (v *notebookView) add(c cell, number, total int) bool {
	var one notebookView
	kind := c.Type
	if kind == "code" && v.language != "" {
		kind += " (" + v.language + ")"
	}
	fmt.Fprintf(&one.text, "=== cell %d of %d · id: %s · %s ===\n%s\n", number, total, c.ID, kind, cutText(string(c.Source), resultBudget/2))
	one.pictures = v.pictures
	for _, o := range c.Outputs {
		one.output(o)
	}
	one.text.WriteByte('\n')
	if v.size+one.length() > resultBudget && v.size > 0 {
		return false
	}
	v.size += one.length()
	v.pictures = one.pictures
	for _, b := range one.blocks {
		if b.Kind == llm.Text {
			v.text.WriteString(b.Text)
			continue
		}
		v.flush()
		v.blocks = append(v.blocks, b)
	}
	v.text.WriteString(one.text.String())
	return true
}

func (v *notebookView) length() int {
	n := v.text.Len()
	for _, b := range v.blocks {
		n += len(b.Text)
	}
	return n
}

func (v *notebookView) output(o cellOutput) {
	switch o.Type {
	case "stream":
		v.outputText("output", string(o.Text))
	case "error":
		v.outputText("error", o.Name+": "+o.Value+"\n"+strings.Join(o.Traceback, "\n"))
	default:
		for _, kind := range []string{"image/png", "image/jpeg"} {
			if data, ok := o.Data[kind]; ok {
				v.picture(data)
				return
			}
		}
		for _, kind := range []string{"text/plain", "text/markdown", "application/json", "text/html"} {
			data, ok := o.Data[kind]
			if !ok {
				continue
			}
			var text multiline
			if json.Unmarshal(data, &text) != nil {
				text = multiline(data)
			}
			v.outputText("output", string(text))
			return
		}
	}
}

func (v *notebookView) outputText(label, text string) {
	text = terminalCodes().ReplaceAllString(text, "")
	fmt.Fprintf(&v.text, "--- %s ---\n%s\n", label, cutText(strings.TrimRight(text, "\n"), shownOfOutput))
}

func (v *notebookView) picture(data json.RawMessage) {
	v.text.WriteString("--- output (picture) ---\n")
	if v.pictures >= mostPictures {
		v.text.WriteString("(not shown: there are too many; read fewer cells to see it)\n")
		return
	}
	var encoded multiline
	json.Unmarshal(data, &encoded)
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(encoded)), ""))
	if err == nil {
		var p picture.Picture
		if p, err = picture.Prepare(raw); err == nil {
			v.pictures++
			v.flush()
			v.blocks = append(v.blocks, p.Block())
			return
		}
	}
	fmt.Fprintf(&v.text, "(cannot be shown: %v)\n", err)
}

func (v *notebookView) flush() {
	if v.text.Len() > 0 {
		v.blocks = append(v.blocks, llm.TextBlock(v.text.String()))
		v.text.Reset()
	}
}

func (v *notebookView) finish() []llm.Block {
	v.flush()
	if last := len(v.blocks) - 1; last >= 0 && v.blocks[last].Kind == llm.Text {
		v.blocks[last].Text = strings.TrimRight(v.blocks[last].Text, "\n")
	}
	return v.blocks
}

// cutText leaves out the middle of a long text.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := text[:most*2/3], text[len(text)-most/3:]
	return fmt.Sprintf("%s\n… [%d bytes left out] …\n%s", strings.ToValidUTF8(head, ""), len(text)-len(head)-len(tail), strings.ToValidUTF8(tail, ""))
}
