// Package input is the prompt box of the terminal UI: a text of several lines with its cursor, history, completion, pastes and images.
//
// A Box is a plain struct: it changes by messages, is drawn by View, and does no input or output in either; what takes time runs
// in commands, whose messages come back to Update. What is promised: the cursor is always at a boundary of characters as people
// see them and inside of the text; the text is valid UTF-8 without control characters; every edit can be undone; a key costs the same in a text
// of a megabyte as in a line.
package input

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/llm"
	"gofer/internal/ui/keys"
)

// A Box is made by New; the exported fields are set before the first message.
type Box struct {
	Keys        *keys.Map
	History     *History      // nil: nothing is remembered
	Sources     Sources       // what can be completed
	Images      Images        // nil: images cannot be pasted
	Placeholder string        // shown while there is nothing
	Running     bool          // something works that can go to the background: its keys count
	Home        string        // for ~/ in paths
	Dir         func() string // the folder that relative paths begin at

	buffer
	mode     Mode
	attached []attachment
	lastID   int
	reader   keys.Reader
	recall   recall
	search   *searching
	popup    popup
	stash    *state
	vim      vim
	top      int // the first row that is shown
	width    int // of the last drawing
	busy     int // images that are being read
}

// Images reads pictures for the box. Both run outside of Update.
type Images interface {
	// Clipboard returns the picture of the clipboard.
	Clipboard(ctx context.Context) (llm.Block, error)
	// File returns the picture of a file.
	File(ctx context.Context, path string) (llm.Block, error)
}

// An Event is what the box wants of the program around it. All fields may be empty.
type Event struct {
	Sent   *Message    // the user sent this; the box is empty again
	Action keys.Action // a key was pressed that is not the box's own business
	Notice string      // something to tell the user for a moment
}

// New makes an empty box.
func New(m *keys.Map) *Box {
	b := &Box{Keys: m, width: 80}
	b.wanted = -1
	b.recall.next = -1
	return b
}

// Init reads the newest prompts of the history.
func (b *Box) Init() tea.Cmd { return b.readHistory() }

// messages that come back from commands.
type (
	noticeMsg string
	imageMsg  struct {
		image llm.Block
		err   error
		text  string // what to put in instead when there is no image
	}
)

// Update takes a message: a key, a paste, or one of the box's own, which it does not know from outside; so all messages that
// nobody else knows are handed to it.
func (b *Box) Update(msg tea.Msg) (Event, tea.Cmd) {
	defer b.rejoin()
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return b.press(msg)
	case tea.PasteMsg:
		return Event{}, b.pasted(msg.Content)
	case entriesMsg:
		if msg.err != nil {
			return Event{Notice: msg.err.Error()}, b.gotEntries(msg)
		}
		return Event{}, b.gotEntries(msg)
	case imageMsg:
		return b.gotImage(msg), nil
	case foundMsg:
		return Event{}, b.gotFound(msg)
	case pathsMsg:
		return Event{}, b.gotPaths(msg)
	case searchMsg:
		b.gotSearch(msg)
	case noticeMsg:
		return Event{Notice: string(msg)}, nil
	}
	return Event{}, nil
}

// Contexts are the contexts whose keys count now.
func (b *Box) Contexts() []keys.Context {
	var c []keys.Context
	switch {
	case b.search != nil:
		return []keys.Context{keys.HistorySearch, keys.Edit}
	case b.popup.open():
		c = append(c, keys.Autocomplete)
	}
	if b.Running {
		c = append(c, keys.Task)
	}
	return append(c, keys.Chat, keys.Edit)
}

func (b *Box) press(key tea.KeyPressMsg) (Event, tea.Cmd) {
	if b.vim.commands() && b.search == nil && b.reader.Pending() == "" && b.vimTakes(key) {
		return b.vimPress(key)
	}
	action, used := b.reader.Press(b.Keys, key, b.Contexts()...)
	if !used {
		if key.Text != "" && key.Mod&^(tea.ModShift|tea.ModCapsLock|tea.ModNumLock|tea.ModScrollLock) == 0 {
			return Event{}, b.typeText(key.Text)
		}
		return Event{}, nil
	}
	if action == "" {
		return Event{}, nil
	}
	return b.Act(action, key.Text)
}

// Act does an action. text is what the key would have typed; an action that has nothing to do types it.
func (b *Box) Act(action keys.Action, text string) (Event, tea.Cmd) {
	if b.search != nil {
		return b.actInSearch(action)
	}
	switch action {
	case keys.Submit:
		return b.submit()
	case keys.NewLine:
		b.typed("\n")
	case keys.HistoryPrevious:
		b.typing, b.killing = false, false
		if !b.vertical(-1) {
			return Event{}, b.back()
		}
		return Event{}, nil
	case keys.HistoryNext:
		b.typing, b.killing = false, false
		if !b.vertical(1) {
			b.forth()
		}
		return Event{}, nil
	case keys.HistoryFind:
		return Event{}, b.startSearch()
	case keys.Stash:
		b.stashOrRestore()
	case keys.ClearInput:
		b.Clear()
	case keys.ImagePaste:
		return Event{}, b.readClipboard()
	case keys.CompletePath:
		return Event{}, b.completePath()
	case keys.AcceptSuggestion:
		return Event{}, b.accept()
	case keys.DismissSuggestions:
		b.popup.dismiss(b)
		return Event{}, nil
	case keys.PreviousSuggestion:
		b.popup.move(-1)
		return Event{}, nil
	case keys.NextSuggestion:
		b.popup.move(1)
		return Event{}, nil
	case keys.ShowHelp:
		if b.text != "" || b.mode != Prompt {
			return Event{}, b.typeText(text)
		}
		return Event{Action: action}, nil
	case keys.Cancel:
		if b.vim.on && b.vim.mode == vimInsert {
			b.leaveInsert()
			return Event{}, nil
		}
		return Event{Action: action}, nil
	case keys.Exit:
		if b.text == "" {
			return Event{Action: action}, nil
		}
		b.edit(keys.DeleteRight)
	default:
		if !b.edit(action) {
			return Event{Action: action}, nil
		}
	}
	return Event{}, b.suggest()
}

// typeText takes what was typed on the keyboard, or came from an input method.
func (b *Box) typeText(s string) tea.Cmd {
	if s = Clean(s); s == "" {
		return nil
	}
	if b.search != nil {
		return b.searchFor(b.search.query + s)
	}
	if b.mode == Prompt && b.cursor == 0 {
		switch s {
		case "!":
			b.mode = Shell
			return b.suggest()
		case "#":
			if b.text == "" {
				b.mode = Memory
				return b.suggest()
			}
		}
	}
	b.killing = false
	b.typed(s)
	return b.suggest()
}

// pasted takes a paste: of images by their paths, or of text.
func (b *Box) pasted(text string) tea.Cmd {
	if b.search != nil {
		return b.typeText(strings.Join(strings.Fields(Clean(text)), " "))
	}
	if b.vim.on && b.vim.mode != vimInsert {
		b.vim.to(vimInsert)
	}
	if files := pastedFiles(text); files != nil && b.Images != nil {
		var cmds []tea.Cmd
		for _, f := range files {
			cmds = append(cmds, b.readImage(f))
		}
		return tea.Sequence(cmds...)
	}
	b.killing = false
	b.paste(text)
	return b.suggest()
}

// submit sends what there is. A backslash before the cursor makes a new line instead.
func (b *Box) submit() (Event, tea.Cmd) {
	if b.popup.open() {
		if done, cmd := b.acceptByEnter(); done {
			return Event{}, cmd
		}
	}
	if b.cursor > 0 && b.text[b.cursor-1] == '\\' && b.markBefore(b.cursor) == nil {
		b.begin()
		b.replace(b.cursor-1, b.cursor, "\n")
		return Event{}, b.suggest()
	}
	if b.busy > 0 {
		return Event{Notice: "An image is still being read"}, nil
	}
	m, ok := b.message()
	if !ok {
		return Event{}, nil
	}
	b.empty()
	return Event{Sent: &m}, b.remember(m)
}

// message is what would be sent.
func (b *Box) message() (Message, bool) {
	m := Message{Mode: b.mode}
	text := strings.TrimRight(b.text, " \t\n")
	if strings.TrimSpace(text) == "" {
		return m, false
	}
	m.Display = b.mode.Prefix() + text
	whole, used := b.expand(text)
	m.Text = whole
	for _, a := range used {
		if a.isImage() {
			m.Images = append(m.Images, a.image)
		} else {
			m.Pastes = append(m.Pastes, Paste{ID: a.id, Text: a.text})
		}
	}
	if m.Mode == Prompt {
		m.Mentions = Mentions(text)
	}
	return m, true
}

// empty makes the box as new; what was in it can no longer be undone.
func (b *Box) empty() {
	kill := b.kill
	b.buffer = buffer{wanted: -1, kill: kill}
	b.mode, b.attached, b.lastID, b.top = Prompt, nil, 0, 0
	b.popup = popup{}
	if b.vim.on {
		b.vim.to(vimInsert)
	}
}

// Clear empties the box; undo brings it back.
func (b *Box) Clear() {
	b.mode = Prompt
	b.reset("")
	b.popup = popup{}
	b.search = nil
	b.recall.at = 0
}

// Empty reports whether there is nothing to send.
func (b *Box) Empty() bool { return b.text == "" && b.mode == Prompt }

// Text is what is in the box, with the prefix of its mode and pastes folded.
func (b *Box) Text() string { return b.mode.Prefix() + b.text }

// Whole is the text with pastes put in, for the editor.
func (b *Box) Whole() string {
	whole, _ := b.expand(b.text)
	return b.mode.Prefix() + whole
}

// Mode is what would become of the text.
func (b *Box) Mode() Mode { return b.mode }

// SetText puts a text into the box, with the cursor at its end; undo brings the old one back. Pastes that the box holds and the text
// contains whole are folded again.
func (b *Box) SetText(text string) {
	text = b.fold(Clean(text))
	b.mode = Prompt
	switch {
	case strings.HasPrefix(text, "!"):
		b.mode, text = Shell, text[1:]
	case strings.HasPrefix(text, "#") && !strings.Contains(text, "\n"):
		b.mode, text = Memory, text[1:]
	}
	b.reset(text)
	b.popup = popup{}
	b.search = nil
}

// SetMessage puts a message back into the box as it was before it was sent: one of the queue that the user wants to change.
func (b *Box) SetMessage(m Message) {
	b.attached = nil
	images := m.Images
	for _, p := range m.Pastes {
		b.attached = append(b.attached, attachment{id: p.ID, mark: pasteMark(p.ID, p.Text), text: p.Text})
		b.lastID = max(b.lastID, p.ID)
	}
	for rest := m.Display; len(images) > 0; {
		mark, id, after, ok := nextImageMark(rest)
		if !ok {
			break
		}
		rest = after
		if !slices.ContainsFunc(b.attached, func(a attachment) bool { return a.mark == mark }) {
			b.attached = append(b.attached, attachment{id: id, mark: mark, image: images[0]})
			images = images[1:]
			b.lastID = max(b.lastID, id)
		}
	}
	b.mode = m.Mode
	b.reset(strings.TrimPrefix(m.Display, m.Mode.Prefix()))
}

// Insert puts a text at the cursor, as if it had been pasted.
func (b *Box) Insert(text string) { b.paste(text) }

// stashOrRestore puts the draft aside, or gets it back when the box is empty.
func (b *Box) stashOrRestore() {
	switch {
	case b.Empty() && b.stash != nil:
		b.restore(*b.stash)
		b.stash = nil
	case !b.Empty():
		s := b.state()
		b.stash = &s
		b.Clear()
	}
}

// Stashed reports whether a draft is put aside.
func (b *Box) Stashed() bool { return b.stash != nil }
