package script

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"

	"golang.org/x/image/webp"
)

const (
	maxImageBytes = 5 << 20 // of the encoded image
	maxSide       = 8000    // pixels
	manyImages    = 20      // from more images than this on …
	maxSideOfMany = 2000    // … this is the limit
)

// media looks at an image or a document.
func (c *messageCheck) media(i, j int, b value) *failure {
	typ, source := b.get("type").text(), b.get("source")
	switch {
	case source.kind() != nodeObject:
		return invalid("messages.%d.content.%d.%s.source: Field required", i, j, typ)
	case !source.get("type").exists():
		return invalid("messages.%d.content.%d.%s.source.type: Field required", i, j, typ)
	}
	if !source.get("type").is("base64") {
		return nil
	}
	mediaType, data := source.get("media_type").text(), source.get("data")
	if data.kind() != nodeString || data.is("") {
		return invalid("messages.%d.content.%d.%s.source.base64.data: Field required", i, j, typ)
	}
	encoded := data.text()
	if typ == "image" && len(encoded) > maxImageBytes {
		return invalid("messages.%d.content.%d.image.source.base64: image exceeds 5 MB maximum: %d bytes > %d bytes", i, j, len(encoded), maxImageBytes)
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return invalid("messages.%d.content.%d.%s.source.base64.data: Invalid base64 data", i, j, typ)
	}
	if typ == "document" {
		return checkPDF(i, j, mediaType, decoded)
	}
	return c.image(i, j, mediaType, decoded)
}

func checkPDF(i, j int, mediaType string, data []byte) *failure {
	switch {
	case mediaType != "application/pdf":
		return invalid("messages.%d.content.%d.document.source.base64.media_type: Input should be 'application/pdf'", i, j)
	case !bytes.HasPrefix(data, []byte("%PDF-")):
		return invalid("messages.%d.content.%d.document.source.base64.data: The PDF specified was not valid.", i, j)
	}
	return nil
}

// image looks at the head of an image; the pixels cost too much and do not matter.
func (c *messageCheck) image(i, j int, mediaType string, data []byte) *failure {
	in := bytes.NewReader(data)
	var size image.Config
	var err error
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return invalid("messages.%d.content.%d.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", i, j)
	}
	found := http.DetectContentType(data)
	switch found {
	case "image/png":
		size, err = png.DecodeConfig(in)
	case "image/jpeg":
		size, err = jpeg.DecodeConfig(in)
	case "image/gif":
		size, err = gif.DecodeConfig(in)
	case "image/webp":
		size, err = webp.DecodeConfig(in)
	default:
		return invalid("messages.%d.content.%d.image.source.base64: Could not process image", i, j)
	}
	most := max(size.Width, size.Height)
	switch {
	case err != nil || most == 0:
		return invalid("messages.%d.content.%d.image.source.base64: Could not process image", i, j)
	case found != mediaType:
		return invalid("messages.%d.content.%d.image.source.base64: The image was specified using the %s media type, but the image appears to be a %s image", i, j, mediaType, found)
	case most > maxSide:
		return invalid("messages.%d.content.%d.image.source.base64.data: At least one of the image dimensions exceed max allowed size: %d pixels", i, j, maxSide)
	case most > maxSideOfMany && c.manyImages():
		return invalid("messages.%d.content.%d.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", i, j, maxSideOfMany)
	}
	return nil
}

// manyImages tells whether the request holds so many images that the smaller limit counts.
func (c *messageCheck) manyImages() bool {
	total := 0
	for _, m := range c.prompt.messages {
		for _, b := range m.blocks {
			if b.get("type").is("image") {
				total++
			}
			if b.get("type").is("tool_result") && b.get("content").kind() == nodeArray {
				for _, inner := range b.get("content").each {
					if inner.get("type").is("image") {
						total++
					}
				}
			}
		}
	}
	return total > manyImages
}
