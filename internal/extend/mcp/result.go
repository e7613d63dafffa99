package mcp

import (
	"encoding/json"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/llm"
	"gofer/internal/tool"
	"gofer/internal/tool/picture"
)

// result turns what a server answered into what the model reads.
func (h *Hub) result(c tool.Call, server string, r *sdk.CallToolResult) tool.Result {
	w := resultWriter{hub: h, call: c.ID}
	for _, content := range r.Content {
		w.content(content)
	}
	if r.StructuredContent != nil {
		text, err := json.Marshal(r.StructuredContent)
		if err == nil && !w.hasText() {
			w.text(string(text))
		}
	}
	if len(w.blocks) == 0 {
		w.text("The tool returned nothing.")
	}
	out := tool.Result{Content: w.blocks, IsError: r.IsError}
	if r.IsError {
		// A failed result may hold nothing but text.
		out.Content = []llm.Block{llm.TextBlock(firstText(out.Text(), "The tool failed without saying why."))}
	}
	out.Display.Summary = fmt.Sprintf("%s answered with %d characters", server, len(out.Text()))
	return out
}

func firstText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

type resultWriter struct {
	hub    *Hub
	call   string
	blocks []llm.Block
	files  int
}

func (w *resultWriter) hasText() bool {
	for _, b := range w.blocks {
		if b.Kind == llm.Text {
			return true
		}
	}
	return false
}

func (w *resultWriter) text(s string) {
	if s != "" {
		w.blocks = append(w.blocks, llm.TextBlock(s))
	}
}

func (w *resultWriter) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		w.text(c.Text)
	case *sdk.ImageContent:
		w.binary(c.Data, c.MIMEType, "image")
	case *sdk.AudioContent:
		w.binary(c.Data, c.MIMEType, "sound")
	case *sdk.ResourceLink:
		w.text(strings.TrimSpace(fmt.Sprintf("Resource %s (%s): %s", firstText(c.Title, c.Name), c.URI, c.Description)))
	case *sdk.EmbeddedResource:
		w.resource(c.Resource)
	}
}

func (w *resultWriter) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob != nil:
		w.binary(r.Blob, r.MIMEType, "resource "+r.URI)
	default:
		w.text("Resource " + r.URI + ":\n" + r.Text)
	}
}

// binary gives the model a picture, and the path of a file for anything else.
func (w *resultWriter) binary(data []byte, mediaType, what string) {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp":
		if len(data) <= picture.Largest {
			if p, err := picture.Prepare(data); err == nil {
				w.blocks = append(w.blocks, p.Block())
				return
			}
		}
	}
	w.files++
	path, err := w.hub.keepFile(fmt.Sprintf("%s-%d", plainName(w.call), w.files), mediaType, data)
	if err != nil {
		w.text(fmt.Sprintf("The %s (%s, %d bytes) could not be kept: %v", what, mediaType, len(data), err))
		return
	}
	w.text(fmt.Sprintf("The %s (%s, %d bytes) is in the file %s", what, mediaType, len(data), path))
}

// keepFile writes a binary result to a file whose name no server chooses.
func (h *Hub) keepFile(name, mediaType string, data []byte) (string, error) {
	if h.o.FileDir == "" {
		return "", fmt.Errorf("there is no folder for files")
	}
	if err := os.MkdirAll(h.o.FileDir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(h.o.FileDir, "mcp-"+name+extension(mediaType))
	return path, os.WriteFile(path, data, 0o600)
}

func extension(mediaType string) string {
	typ, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return ".bin"
	}
	known := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "application/pdf": ".pdf",
		"audio/wav": ".wav", "audio/mpeg": ".mp3", "application/zip": ".zip", "text/plain": ".txt", "application/json": ".json", "text/html": ".html"}
	if ext, ok := known[typ]; ok {
		return ext
	}
	return ".bin"
}
