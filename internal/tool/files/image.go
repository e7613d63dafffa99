package files

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/bmp"
	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"gofer/internal/llm"
	"gofer/internal/tool"
)

const (
	longestEdge    = 1568     // pixels; more would be scaled down by the service, and costs tokens on the way
	imageBudget    = 1 << 20  // bytes of an image that is sent
	largestImage   = 64 << 20 // bytes of an image file that is opened
	largestPicture = 64 << 20 // pixels; a small file can unpack to more than memory holds
)

// A picture is an image ready for the model.
type picture struct {
	mediaType     string
	data          []byte
	width, height int // as sent
	fullWidth     int // as in the file
	fullHeight    int
}

func (p picture) block() llm.Block {
	return llm.Block{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: p.mediaType, Data: base64.StdEncoding.EncodeToString(p.data)}}
}

func (k *kit) readImage(b *body, in readIn) (tool.Result, error) {
	if b.size > largestImage {
		return tool.Result{}, fmt.Errorf("%s is an image of %s, which is too large to be read. Make a smaller copy first", b.path, sizeText(b.size))
	}
	data, err := b.slice(0, b.size)
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", b.path, err)
	}
	p, err := preparePicture(data)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s looks like an image but cannot be shown: %w", b.path, err)
	}
	size := fmt.Sprintf("%d×%d", p.fullWidth, p.fullHeight)
	text := fmt.Sprintf("%s (%s pixels, %s)", b.path, size, sizeText(b.size))
	if p.width != p.fullWidth || p.height != p.fullHeight {
		text += fmt.Sprintf("; shown at %d×%d", p.width, p.height)
	}
	block := p.block()
	return tool.Result{
		Content: []llm.Block{llm.TextBlock(text), block},
		Data: map[string]any{"type": "image", "file": map[string]any{
			"filePath": k.abs(in.Path), "base64": block.Media.Data, "type": p.mediaType, "originalSize": b.size,
			"dimensions": map[string]int{"originalWidth": p.fullWidth, "originalHeight": p.fullHeight, "displayWidth": p.width, "displayHeight": p.height},
		}},
		Display: tool.Display{Summary: fmt.Sprintf("Read an image (%s, %s)", size, sizeText(b.size))},
	}, nil
}

// preparePicture decodes an image, so that a broken one is never sent, and makes it small enough. One that is small already is sent as
// it is.
func preparePicture(data []byte) (picture, error) {
	mediaType := imageKind(data)
	config, err := decodeConfig(mediaType, data)
	if err != nil {
		return picture{}, fmt.Errorf("it is damaged (%w)", err)
	}
	p := picture{mediaType: mediaType, data: data, width: config.Width, height: config.Height, fullWidth: config.Width, fullHeight: config.Height}
	if config.Width <= 0 || config.Height <= 0 {
		return picture{}, errors.New("it has no pixels")
	}
	if int64(config.Width)*int64(config.Height) > largestPicture {
		return picture{}, fmt.Errorf("it has %d×%d pixels, which is too much. Make a smaller copy first", config.Width, config.Height)
	}
	img, err := decodeImage(mediaType, data)
	if err != nil {
		return picture{}, fmt.Errorf("it is damaged (%w)", err)
	}
	if max(p.width, p.height) <= longestEdge && len(data) <= imageBudget && mediaType != "image/bmp" {
		return p, nil
	}
	return p.shrink(img)
}

// shrink scales and compresses until the image fits: first without loss, then as JPEG with less and less quality, then smaller.
func (p picture) shrink(img image.Image) (picture, error) {
	for edge := longestEdge; edge >= 64; edge = edge * 3 / 4 {
		img = scaleTo(img, edge)
		p.width, p.height = img.Bounds().Dx(), img.Bounds().Dy()
		if p.mediaType != "image/jpeg" {
			var out bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, img); err != nil {
				return picture{}, err
			}
			if out.Len() <= imageBudget {
				p.mediaType, p.data = "image/png", out.Bytes()
				return p, nil
			}
		}
		flat := onWhite(img)
		for _, quality := range []int{85, 65, 45} {
			var out bytes.Buffer
			if err := jpeg.Encode(&out, flat, &jpeg.Options{Quality: quality}); err != nil {
				return picture{}, err
			}
			if out.Len() <= imageBudget {
				p.mediaType, p.data = "image/jpeg", out.Bytes()
				return p, nil
			}
		}
	}
	return picture{}, errors.New("it cannot be made small enough")
}

func scaleTo(img image.Image, edge int) image.Image {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	if max(w, h) <= edge {
		return img
	}
	if w > h {
		w, h = edge, max(1, h*edge/w)
	} else {
		w, h = max(1, w*edge/h), edge
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	xdraw.ApproxBiLinear.Scale(out, out.Bounds(), img, img.Bounds(), draw.Src, nil)
	return out
}

// onWhite lays an image on white: JPEG has no transparency, and would make it black.
func onWhite(img image.Image) image.Image {
	if opaque, ok := img.(interface{ Opaque() bool }); ok && opaque.Opaque() {
		return img
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Over)
	return out
}

func decodeConfig(mediaType string, data []byte) (image.Config, error) {
	r := bytes.NewReader(data)
	switch mediaType {
	case "image/png":
		return png.DecodeConfig(r)
	case "image/jpeg":
		return jpeg.DecodeConfig(r)
	case "image/gif":
		return gif.DecodeConfig(r)
	case "image/webp":
		return webp.DecodeConfig(r)
	case "image/bmp":
		return bmp.DecodeConfig(r)
	}
	return image.Config{}, errors.New("the format is not known")
}

func decodeImage(mediaType string, data []byte) (img image.Image, err error) {
	defer func() { // decoders are not all proof against hostile files
		if r := recover(); r != nil {
			err = fmt.Errorf("decoding: %v", r)
		}
	}()
	r := bytes.NewReader(data)
	switch mediaType {
	case "image/png":
		return png.Decode(r)
	case "image/jpeg":
		return jpeg.Decode(r)
	case "image/gif":
		return gif.Decode(r)
	case "image/webp":
		return webp.Decode(r)
	}
	return bmp.Decode(r)
}
