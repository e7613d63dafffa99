package files

import (
	"fmt"

	"gofer/internal/llm"
	"gofer/internal/tool"
	"gofer/internal/tool/picture"
)

func (k *kit) readImage(b *body, in readIn) (tool.Result, error) {
	if b.size > picture.Largest {
		return tool.Result{}, fmt.Errorf("%s is an image of %s, which is too large to be read. Make a smaller copy first", b.path, sizeText(b.size))
	}
	data, err := b.slice(0, b.size)
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", b.path, err)
	}
	p, err := picture.Prepare(data)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s looks like an image but cannot be shown: %w", b.path, err)
	}
	size := fmt.Sprintf("%d×%d", p.FullWidth, p.FullHeight)
	text := fmt.Sprintf("%s (%s pixels, %s)", b.path, size, sizeText(b.size))
	if p.Width != p.FullWidth || p.Height != p.FullHeight {
		text += fmt.Sprintf("; shown at %d×%d", p.Width, p.Height)
	}
	block := p.Block()
	return tool.Result{
		Content: []llm.Block{llm.TextBlock(text), block},
		Data: map[string]any{"type": "image", "file": map[string]any{
			"filePath": k.abs(in.Path), "base64": block.Media.Data, "type": p.MediaType, "originalSize": b.size,
			"dimensions": map[string]int{"originalWidth": p.FullWidth, "originalHeight": p.FullHeight, "displayWidth": p.Width, "displayHeight": p.Height},
		}},
		Display: tool.Display{Summary: fmt.Sprintf("Read an image (%s, %s)", size, sizeText(b.size))},
	}, nil
}
