package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

// told is what a parser makes of input that comes in pieces.
func told(pieces ...string) []string {
	var p parser
	var d uv.EventDecoder
	var list []tea.Msg
	for _, piece := range pieces {
		list = append(list, p.take(&d, []byte(piece))...)
	}
	if !p.pasting {
		list = append(list, p.expire(&d)...)
	}
	var out []string
	for _, msg := range list {
		switch msg := msg.(type) {
		case tea.KeyPressMsg:
			// A cluster that comes in pieces is typed in pieces.
			if n := len(out); msg.Text != "" && n > 0 && strings.HasPrefix(out[n-1], "text ") {
				out[n-1] += msg.Text
			} else if msg.Text != "" {
				out = append(out, "text "+msg.Text)
			} else {
				out = append(out, "key "+msg.Keystroke())
			}
		case tea.PasteMsg:
			out = append(out, fmt.Sprintf("paste %q", msg.Content))
		default:
			out = append(out, fmt.Sprintf("%T", msg))
		}
	}
	return out
}

func TestInputInPieces(t *testing.T) {
	t.Parallel()
	const input = "hello 你好 👩‍👩‍👧\r\x1b[A\x1b[1;5C\x1b[Z\x1b[200~pasted\x1b[31m \x1b[20 text\n你好\x1b[201~\x7f\x03\x1bb\x1b[200~\x1b[201~x\x1b[3~\x1b]11;rgb:ffff/ffff/ffff\x07end\x1b"
	want := told(input)
	for _, must := range []string{"text hello 你好 👩‍👩‍👧", "key up", "key ctrl+right", "key shift+tab", `paste "pasted\x1b[31m \x1b[20 text\n你好"`, "key alt+b", `paste ""`, "tea.BackgroundColorMsg", "key esc"} {
		if !strings.Contains(strings.Join(want, "\n"), must) {
			t.Errorf("%q is missing in\n%s", must, strings.Join(want, "\n"))
		}
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		var pieces []string
		for rest := input; rest != ""; {
			n := min(1+r.IntN(9), len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if got := told(pieces...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("in the pieces %q it is\n%s\nwant\n%s", pieces, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A paste that never ends does not take the keyboard with it, and hostile input is bounded.
func TestPasteWithoutEnd(t *testing.T) {
	t.Parallel()
	var p parser
	var d uv.EventDecoder
	p.take(&d, []byte("\x1b[200~lost \x1b[20"))
	if got := p.expire(&d); len(got) != 1 || got[0].(tea.PasteMsg).Content != "lost \x1b[20" {
		t.Errorf("it became %v", got)
	}
	if got := p.take(&d, []byte("x")); len(got) != 1 {
		t.Errorf("the next key became %v", got)
	}
	for range 100 {
		p.take(&d, []byte("\x1b]"+strings.Repeat("x", 1000)))
		if len(p.buf) > 3*longestSequence {
			t.Fatalf("%d bytes are kept of a sequence that never ends", len(p.buf))
		}
	}
}
