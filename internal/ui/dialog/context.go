package dialog

import (
	"fmt"
	"strings"

	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// A Share is a part of the model's window.
type Share struct {
	Name   string
	Tokens int
	Kind   ShareKind
	Parts  []Share // what it is made of, largest first
}

// A ShareKind tells shares of different kinds apart.
type ShareKind int

// The kinds of shares.
const (
	Used ShareKind = iota
	Free
	Reserved // kept free for compaction
	Outside  // not in the window, but at hand
)

// WindowUse is what fills the model's window.
type WindowUse struct {
	Model  string
	Window int
	Shares []Share
}

const gridWidth, gridHeight = 20, 10

// Page draws the window as a grid of 200 equal parts beside its shares, and below what those are made of.
func (w WindowUse) Page() Page {
	return func(c screen.Canvas) []string {
		grid := w.grid(c)
		legend := w.legend(c)
		var out []string
		if c.Width >= 72 {
			for i := range max(len(grid), len(legend)) {
				left, right := "", ""
				if i < len(grid) {
					left = grid[i]
				}
				if i < len(legend) {
					right = legend[i]
				}
				out = append(out, strings.TrimRight(screen.Pad(left, gridWidth*2+2)+right, " "))
			}
		} else {
			out = append(append(grid, ""), legend...)
		}
		return append(out, w.parts(c)...)
	}
}

func (w WindowUse) color(c screen.Canvas, i int) theme.Style {
	switch w.Shares[i].Kind {
	case Free:
		return c.Theme.Faint
	case Reserved:
		return c.Theme.Border
	}
	inks := []theme.Style{c.Theme.Accent, c.Theme.Info, c.Theme.Good, c.Theme.PlanMode, c.Theme.EditMode, c.Theme.Warn, c.Theme.Bad, c.Theme.Keyword, c.Theme.Type}
	return inks[i%len(inks)]
}

// grid gives every share as many squares as it takes of the window. A share that is there has one at least.
func (w WindowUse) grid(c screen.Canvas) []string {
	total := gridWidth * gridHeight
	var cells []string
	for i, s := range w.Shares {
		if s.Tokens <= 0 || s.Kind == Free || s.Kind == Outside {
			continue
		}
		sign := "■"
		if s.Kind == Reserved {
			sign = "▨"
		}
		n := max((s.Tokens*total+w.Window/2)/max(w.Window, 1), 1)
		for range min(n, total-len(cells)) {
			cells = append(cells, w.color(c, i).Paint(sign))
		}
	}
	// What is kept free for compaction stands at the end.
	used := len(cells)
	for len(cells) < total {
		cells = append(cells, c.Theme.Faint.Paint("·"))
	}
	for i, s := range w.Shares {
		if s.Kind == Reserved && s.Tokens > 0 {
			n := min(max((s.Tokens*total+w.Window/2)/max(w.Window, 1), 1), used)
			cells = append(cells[:used-n:used-n], cells[used:]...)
			for range n {
				cells = append(cells, w.color(c, i).Paint("▨"))
			}
		}
	}
	var out []string
	for row := range gridHeight {
		out = append(out, strings.Join(cells[row*gridWidth:(row+1)*gridWidth], " "))
	}
	return out
}

func (w WindowUse) legend(c screen.Canvas) []string {
	used := 0
	for _, s := range w.Shares {
		if s.Kind == Used {
			used += s.Tokens
		}
	}
	out := []string{
		c.Theme.Strong.Paint(oneLine(w.Model)),
		c.F("%s of %s tokens used (%d%%)", Tokens(used), Tokens(w.Window), used*100/max(w.Window, 1)), "",
	}
	for i, s := range w.Shares {
		if s.Tokens == 0 && s.Kind != Free {
			continue
		}
		sign := "■"
		switch s.Kind {
		case Free:
			sign = "·"
		case Reserved:
			sign = "▨"
		case Outside:
			sign = "○"
		}
		share := fmt.Sprintf("%.1f%%", float64(s.Tokens)*100/float64(max(w.Window, 1)))
		if s.Kind == Outside {
			share = c.T("not loaded")
		}
		out = append(out, w.color(c, i).Paint(sign)+" "+screen.Pad(c.T(s.Name), 20)+fmt.Sprintf("%8s  ", Tokens(s.Tokens))+c.Theme.Faint.Paint(share))
	}
	return out
}

func (w WindowUse) parts(c screen.Canvas) []string {
	var out []string
	for _, s := range w.Shares {
		if len(s.Parts) == 0 {
			continue
		}
		out = append(out, "", c.Theme.Strong.Paint(c.T(s.Name)))
		for _, p := range s.Parts {
			name := screen.Cut(oneLine(p.Name), max(c.Width-14, 8), "…")
			out = append(out, fmt.Sprintf("  %8s  %s", Tokens(p.Tokens), name))
		}
	}
	return out
}

// Tokens is a number of tokens in words.
func Tokens(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
