// Package picture makes images fit for a model: decoded, so that a broken or hostile one is never sent, and small enough.
package picture

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
)

const (
	longestEdge = 1568     // pixels; more would be scaled down by the service, and costs tokens on the way
	budget      = 1 << 20  // bytes of an image that is sent
	mostPixels  = 64 << 20 // a small file can unpack to more than memory holds
)

// Largest is the largest image file, in bytes, that is worth opening.
const Largest = 64 << 20

// A Picture is an image ready for the model.
type Picture struct {
	MediaType     string
	Data          []byte
	Width, Height int // as sent
	FullWidth     int // as it was
	FullHeight    int
}

// Block is the picture as part of a message.
func (p Picture) Block() llm.Block {
	return llm.Block{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: p.MediaType, Data: base64.StdEncoding.EncodeToString(p.Data)}}
}

// Kind is the media type of an image we can show, or "".
// Kind tells the format of an image by how it begins; "" if it is none that is known.
func Kind(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) > 12 && bytes.HasPrefix(head, []byte("RIFF")) && string(head[8:12]) == "WEBP":
		return "image/webp"
	case len(head) > 26 && bytes.HasPrefix(head, []byte("BM")) && bytes.Count(head[6:10], []byte{0}) == 4:
		return "image/bmp"
	}
	return ""
}

// Prepare decodes an image, so that a broken one is never sent, and makes it small enough. One that is small already is sent as
// it is.
func Prepare(data []byte) (Picture, error) {
	mediaType := Kind(data)
	config, err := decodeConfig(mediaType, data)
	if err != nil {
		return Picture{}, fmt.Errorf("it is damaged (%w)", err)
	}
	p := Picture{MediaType: mediaType, Data: data, Width: config.Width, Height: config.Height, FullWidth: config.Width, FullHeight: config.Height}
	if config.Width <= 0 || config.Height <= 0 {
		return Picture{}, errors.New("it has no pixels")
	}
	if int64(config.Width)*int64(config.Height) > mostPixels {
		return Picture{}, fmt.Errorf("it has %d×%d pixels, which is too much. Make a smaller copy first", config.Width, config.Height)
	}
	img, err := decodeImage(mediaType, data)
	if err != nil && mediaType == "image/png" {
		data = withChecksums(data)
		p.Data = data
		img, err = decodeImage(mediaType, data)
	}
	if err != nil {
		return Picture{}, fmt.Errorf("it is damaged (%w)", err)
	}
	if max(p.Width, p.Height) <= longestEdge && len(data) <= budget && mediaType != "image/bmp" {
		return p, nil
	}
	return p.shrink(img)
}

// shrink scales and compresses until the image fits: first without loss, then as JPEG with less and less quality, then smaller.
func (p Picture) shrink(img image.Image) (Picture, error) {
	for edge := longestEdge; edge >= 64; edge = edge * 3 / 4 {
		img = scaleTo(img, edge)
		p.Width, p.Height = img.Bounds().Dx(), img.Bounds().Dy()
		if p.MediaType != "image/jpeg" {
			var out bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, img); err != nil {
				return Picture{}, err
			}
			if out.Len() <= budget {
				p.MediaType, p.Data = "image/png", out.Bytes()
				return p, nil
			}
		}
		flat := onWhite(img)
		for _, quality := range []int{85, 65, 45} {
			var out bytes.Buffer
			if err := jpeg.Encode(&out, flat, &jpeg.Options{Quality: quality}); err != nil {
				return Picture{}, err
			}
			if out.Len() <= budget {
				p.MediaType, p.Data = "image/jpeg", out.Bytes()
				return p, nil
			}
		}
	}
	return Picture{}, errors.New("it cannot be made small enough")
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
