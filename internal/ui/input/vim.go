package input

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/keys"
)

// A vimMode is a mode of the editor for people who know vi.
type vimMode int

const (
	vimInsert vimMode = iota
	vimNormal
	vimVisual
	vimLines // visual, by whole lines
)

func (m vimMode) String() string {
	switch m {
	case vimNormal:
		return "NORMAL"
	case vimVisual:
		return "VISUAL"
	case vimLines:
		return "VISUAL LINE"
	}
	return "INSERT"
}

// vim is the state of the mode for people who know vi.
type vim struct {
	on     bool
	mode   vimMode
	typed  []string // keys of a command that is not whole yet
	anchor int      // where the selection begins
	find   vimCommand
	last   vimCommand // that changed something, for the dot
	insert string     // what was typed by the last command, for the dot
	from   int        // where the insertion began
	again  bool       // the dot runs
}

// SetVim switches the mode for people who know vi.
func (b *Box) SetVim(on bool) { b.vim = vim{on: on} }

// Vim reports whether that mode is on, and its name to be shown.
func (b *Box) Vim() (mode string, on bool) { return b.vim.mode.String(), b.vim.on }

func (v *vim) commands() bool { return v.on && v.mode != vimInsert }

func (v *vim) visual() bool { return v.on && (v.mode == vimVisual || v.mode == vimLines) }

func (v *vim) to(m vimMode) { v.mode, v.typed = m, nil }

func (v *vim) pendingText() string {
	if len(v.typed) == 0 {
		return ""
	}
	return " " + strings.Join(v.typed, "")
}

// vimTakes reports whether a key is a command in the modes that have commands. All others go the ordinary way.
func (b *Box) vimTakes(key tea.KeyPressMsg) bool {
	switch stroke := keys.Stroke(key); {
	case stroke == "esc":
		return b.vim.visual() || len(b.vim.typed) > 0
	case stroke == "ctrl+r", stroke == "backspace":
		return true
	case key.Text == "":
		b.vim.typed = nil
		return false
	}
	return true
}

func (b *Box) vimPress(key tea.KeyPressMsg) (Event, tea.Cmd) {
	v := &b.vim
	name := key.Text
	switch stroke := keys.Stroke(key); stroke {
	case "esc":
		v.to(vimNormal)
		b.clamp()
		return Event{}, nil
	case "ctrl+r":
		v.typed = nil
		b.redo()
		b.clamp()
		return Event{}, nil
	case "backspace":
		name = "h"
	}
	if len(v.typed) == 0 && !v.visual() {
		switch name {
		case "/":
			return Event{}, b.startSearch()
		case "?":
			return Event{Action: keys.ShowHelp}, nil
		}
	}
	v.typed = append(v.typed, name)
	command, whole := parseVim(v.typed, v.visual())
	if !whole {
		return Event{}, nil
	}
	v.typed = nil
	b.killing, b.typing = false, false
	cmd := b.run(command)
	if b.vim.mode != vimInsert {
		b.clamp()
	}
	return Event{}, cmd
}

// clamp keeps the cursor on a character: behind the last one of a line it is only while inserting.
func (b *Box) clamp() {
	if b.vim.mode == vimNormal && b.cursor > lineStart(b.text, b.cursor) && b.cursor == lineEnd(b.text, b.cursor) {
		b.cursor = b.previous(b.cursor)
	}
}

func (b *Box) leaveInsert() {
	v := &b.vim
	if !v.again {
		v.insert = ""
		if v.from <= b.cursor && b.cursor <= len(b.text) {
			v.insert = strings.Clone(b.text[b.align(v.from):b.cursor])
		}
	}
	b.closePopup()
	v.to(vimNormal)
	b.begin()
	if b.cursor > lineStart(b.text, b.cursor) {
		b.cursor = b.previous(b.cursor)
	}
}

func (b *Box) enterInsert(at int) {
	b.cursor = at
	b.vim.to(vimInsert)
	b.vim.from = at
}

// A vimCommand is a command as it was typed: 2d3w, fx, diw.
type vimCommand struct {
	count    int // 0: none was given
	operator string
	key      string // the motion, the command, or the operator again
	argument string
}

func (c vimCommand) times() int { return max(1, min(c.count, 10_000)) }

// parseVim reads a command. whole is false while more must be typed; what means nothing is whole and has no key.
func parseVim(typed []string, visual bool) (c vimCommand, whole bool) {
	rest := typed
	c.count, rest = vimCount(rest)
	if len(rest) == 0 {
		return c, false
	}
	if k := rest[0]; !visual && (k == "d" || k == "c" || k == "y") {
		c.operator = k
		var more int
		more, rest = vimCount(rest[1:])
		if more > 0 {
			c.count = max(1, c.count) * more
		}
		if len(rest) == 0 {
			return c, false
		}
	}
	c.key, rest = rest[0], rest[1:]
	needs := strings.Contains("fFtTrg", c.key) || (c.operator != "" || visual) && (c.key == "i" || c.key == "a")
	if !needs {
		return c, true
	}
	if len(rest) == 0 {
		return c, false
	}
	c.argument = rest[0]
	return c, true
}

func vimCount(typed []string) (n int, rest []string) {
	for i, k := range typed {
		if len(k) != 1 || k[0] < '0' || k[0] > '9' || k == "0" && i == 0 {
			return n, typed[i:]
		}
		n = min(n*10+int(k[0]-'0'), 1_000_000)
	}
	return n, nil
}

// run does a command.
func (b *Box) run(c vimCommand) tea.Cmd {
	v := &b.vim
	switch {
	case v.visual():
		b.runVisual(c)
	case c.operator != "":
		b.operate(c)
	case c.key == "k" || c.key == "j":
		return b.upOrDown(c)
	case c.key == ".":
		b.repeat(c)
		return nil
	default:
		if to, _, ok := b.motion(c); ok {
			b.cursor, b.wanted = to, -1
			return nil
		}
		b.command(c)
	}
	return nil
}

// upOrDown moves by rows; beyond the first and the last one is the history.
func (b *Box) upOrDown(c vimCommand) tea.Cmd {
	var cmd tea.Cmd
	for range min(c.times(), 1000) {
		switch {
		case c.key == "k" && !b.vertical(-1):
			return b.back()
		case c.key == "j" && !b.vertical(1):
			b.forth()
			return nil
		}
	}
	return cmd
}

// changed notes a command for the dot.
func (b *Box) changed(c vimCommand) {
	if !b.vim.again {
		b.vim.last, b.vim.insert = c, ""
	}
}

// repeat does the last change again, with what was typed in it.
func (b *Box) repeat(c vimCommand) {
	v := &b.vim
	if v.last.key == "" {
		return
	}
	again := v.last
	if c.count > 0 {
		again.count = c.count
	}
	v.again = true
	b.run(again)
	if v.mode == vimInsert {
		if v.insert != "" {
			b.replace(b.cursor, b.cursor, v.insert)
		}
		b.leaveInsert()
	}
	v.again = false
	b.clamp()
}
