package tui

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

// A keyboard turns what comes from the terminal into messages, in order.
//
// Bubble Tea's own reader decodes a paste like keys, and gives up on a sequence that is not complete after a moment: a paste whose end
// mark comes in two pieces, as over a slow line, would never end, and every key after it would be lost. Here a paste is bytes up to
// its end mark, however they are cut into pieces.
type keyboard struct {
	send    func(tea.Msg)
	decoder uv.EventDecoder

	mu   sync.Mutex
	in   io.ReadCloser
	stop func() bool // ends the reading
	done chan struct{}
}

const (
	// escWait is how long an Esc may be the beginning of something longer.
	escWait = 50 * time.Millisecond
	// pasteWait is how long the rest of a paste may take. A terminal that lost the end mark must not take the keyboard with it.
	pasteWait  = 3 * time.Second
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// longestSequence bounds what is waited for: no key is longer.
	longestSequence = 4096
)

// start begins to read.
func (k *keyboard) start(in *os.File) error {
	r, err := uv.NewCancelReader(in)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	done := make(chan struct{})
	k.in, k.stop, k.done = r, r.Cancel, done
	go k.run(r, done)
	return nil
}

// end stops reading, so that somebody else can.
func (k *keyboard) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.in == nil {
		return
	}
	if k.stop() {
		select {
		case <-k.done:
		case <-time.After(500 * time.Millisecond): // it hangs in the kernel, and gives up with the next key
		}
	}
	k.in.Close()
	k.in = nil
}

// run reads until it is stopped.
func (k *keyboard) run(in io.Reader, done chan struct{}) {
	defer close(done)
	chunks := make(chan []byte)
	go func() {
		defer close(chunks)
		for {
			buf := make([]byte, 4096)
			n, err := in.Read(buf)
			if n > 0 {
				chunks <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	var p parser
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for {
		select {
		case chunk, ok := <-chunks:
			if !ok {
				return
			}
			k.tell(p.take(&k.decoder, chunk))
		case <-timer.C:
			k.tell(p.expire(&k.decoder))
		}
		if wait := p.wait(); wait > 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
	}
}

func (k *keyboard) tell(list []tea.Msg) {
	for _, msg := range list {
		k.send(msg)
	}
}

// A parser is the state between two pieces of input.
type parser struct {
	buf     []byte // not decoded yet
	pasting bool
	paste   []byte
}

// wait is how long the rest of something unfinished is waited for; 0: nothing is.
func (p *parser) wait() time.Duration {
	switch {
	case p.pasting:
		return pasteWait
	case len(p.buf) > 0:
		return escWait
	}
	return 0
}

// take decodes a piece of input, as far as it is complete.
func (p *parser) take(d *uv.EventDecoder, chunk []byte) []tea.Msg {
	p.buf = append(p.buf, chunk...)
	return p.decode(d, false)
}

// expire decodes what will not become longer.
func (p *parser) expire(d *uv.EventDecoder) []tea.Msg {
	if p.pasting {
		p.paste, p.buf, p.pasting = append(p.paste, p.buf...), nil, false
		return p.pasted(nil)
	}
	return p.decode(d, true)
}

func (p *parser) pasted(list []tea.Msg) []tea.Msg {
	list = append(list, tea.PasteMsg{Content: string(bytes.ToValidUTF8(p.paste, nil))})
	p.paste, p.pasting = nil, false
	return list
}

func (p *parser) decode(d *uv.EventDecoder, expired bool) []tea.Msg {
	var list []tea.Msg
	for len(p.buf) > 0 {
		if p.pasting {
			at := bytes.Index(p.buf, []byte(pasteEnd))
			if at < 0 {
				// All but what may be the beginning of the end mark belongs to the paste.
				keep := min(len(p.buf), len(pasteEnd)-1)
				p.paste = append(p.paste, p.buf[:len(p.buf)-keep]...)
				p.buf = append([]byte(nil), p.buf[len(p.buf)-keep:]...)
				return list
			}
			p.paste = append(p.paste, p.buf[:at]...)
			p.buf = p.buf[at+len(pasteEnd):]
			list = p.pasted(list)
			continue
		}
		if bytes.HasPrefix(p.buf, []byte(pasteStart)) {
			p.pasting, p.buf = true, p.buf[len(pasteStart):]
			continue
		}
		n, e := d.Decode(p.buf)
		if n <= 0 {
			n = 1
		}
		if !expired && p.unfinished(n, e) {
			return list
		}
		p.buf = p.buf[n:]
		list = appendEvent(list, e)
	}
	p.buf = nil
	return list
}

// unfinished reports whether what was decoded may be the beginning of something longer: nothing stands behind it, and it is an Esc, the
// beginning of a sequence, or a part of a character.
func (p *parser) unfinished(n int, e uv.Event) bool {
	if len(p.buf) > longestSequence {
		return false
	}
	if !utf8.FullRune(p.buf) {
		return true
	}
	if _, unknown := e.(uv.UnknownEvent); unknown {
		return n >= len(p.buf)
	}
	return n >= len(p.buf) && p.buf[0] == 0x1b && n <= 2
}

// appendEvent adds an event in the words of Bubble Tea.
func appendEvent(list []tea.Msg, e uv.Event) []tea.Msg {
	switch e := e.(type) {
	case uv.MultiEvent:
		for _, one := range e {
			list = appendEvent(list, one)
		}
		return list
	case uv.KeyPressEvent:
		return append(list, tea.KeyPressMsg(e))
	case uv.BackgroundColorEvent:
		return append(list, tea.BackgroundColorMsg(e))
	case uv.WindowSizeEvent:
		return append(list, tea.WindowSizeMsg(e))
	case uv.ClipboardEvent:
		return append(list, tea.ClipboardMsg(e))
	}
	return list // everything else is nothing that was asked for
}
