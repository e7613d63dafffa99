package compact

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"gofer/internal/llm"
)

func isMedia(b llm.Block) bool {
	return (b.Kind == llm.Image || b.Kind == llm.Document) && b.Media != nil
}

// pixelsPerToken is what providers say that an image costs.
const pixelsPerToken = 750

// mediaTokens guesses what an image or a document costs. For an image its first bytes tell how large it is.
func mediaTokens(b llm.Block) int {
	guess := blockTokens(b)
	if b.Kind != llm.Image || b.Media.Type != "base64" {
		return guess
	}
	head := b.Media.Data[:min(len(b.Media.Data), 64<<10)]
	data, err := base64.StdEncoding.DecodeString(head[:len(head)/4*4])
	if err != nil {
		return guess
	}
	var c image.Config
	switch b.Media.MediaType {
	case "image/png":
		c, err = png.DecodeConfig(bytes.NewReader(data))
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(bytes.NewReader(data))
	case "image/gif":
		c, err = gif.DecodeConfig(bytes.NewReader(data))
	default:
		return guess
	}
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return guess
	}
	return min(c.Width*c.Height/pixelsPerToken, 10_000)
}
