package input

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// nextImageMark finds the next mark of an image.
func nextImageMark(text string) (mark string, id int, rest string, ok bool) {
	const open = "[Image #"
	for {
		at := strings.Index(text, open)
		if at < 0 {
			return "", 0, "", false
		}
		number, after, closed := strings.Cut(text[at+len(open):], "]")
		id, err := strconv.Atoi(number)
		if closed && err == nil {
			return open + number + "]", id, after, true
		}
		text = text[at+len(open):]
	}
}

func (b *Box) readClipboard() tea.Cmd {
	if b.Images == nil {
		return nil
	}
	b.busy++
	images := b.Images
	return func() tea.Msg {
		image, err := images.Clipboard(context.Background())
		return imageMsg{image: image, err: err}
	}
}

func (b *Box) readImage(path string) tea.Cmd {
	b.busy++
	images, full := b.Images, path
	if rest, ok := strings.CutPrefix(path, "~/"); ok && b.Home != "" {
		full = filepath.Join(b.Home, rest)
	}
	return func() tea.Msg {
		image, err := images.File(context.Background(), full)
		return imageMsg{image: image, err: err, text: path}
	}
}

func (b *Box) gotImage(msg imageMsg) Event {
	b.busy--
	switch {
	case msg.err == nil && msg.image.Media != nil:
		b.attachImage(msg.image)
	case msg.text != "": // not an image after all: the path is what was pasted
		b.paste(msg.text)
	default:
		return Event{Notice: screen.Clean(fmt.Sprint(msg.err))}
	}
	return Event{}
}
