package input

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/fileindex"
)

// Sources are what can be completed. Any of them may be nil.
type Sources struct {
	Commands func() []Command // for a word that begins with a slash
	Files    Files            // for @
	Others   func() []Other   // agents and resources, for @
}

// A Command is a slash command.
type Command struct {
	Name    string // without the slash
	Aliases []string
	Hint    string // its arguments, as "[file]"
	Help    string
}

// An Other is something that can be mentioned and is no file: "agent-reviewer", "server:uri".
type Other struct {
	Name string
	Help string
}

// Files finds files by some letters.
type Files interface {
	// Find returns the best matches; settled is false when it may know better after Settle.
	Find(ctx context.Context, query string, limit int) (found []fileindex.Match, settled bool)
	Settle(ctx context.Context)
}

// A suggestion is a line of the popup.
type suggestion struct {
	label   string
	matched []int // characters of label
	insert  string
	hint    string
	help    string
	folder  bool // what follows can be completed too
}

type popupKind int

const (
	noPopup popupKind = iota
	ofCommands
	ofMentions
	ofPaths
)

// popup is the list below the box.
type popup struct {
	kind      popupKind
	items     []suggestion
	selected  int
	from, to  int    // the part of the text that a suggestion replaces
	query     string // what is between
	dismissed int    // the beginning of a word for which the user closed it, plus one
	asked     int
	waiting   bool // nothing is known yet
	end       context.CancelFunc
}

const mostSuggestions = 50

func (p *popup) open() bool { return p.kind != noPopup && len(p.items) > 0 }

func (p *popup) move(by int) {
	if n := len(p.items); n > 0 {
		p.selected = (p.selected + by + n) % n
	}
}

// dismiss closes the popup until another word is begun.
func (p *popup) dismiss(b *Box) {
	from := p.from
	b.closePopup()
	b.popup.dismissed = from + 1
}

func (b *Box) closePopup() {
	if b.popup.end != nil {
		b.popup.end()
	}
	b.popup = popup{asked: b.popup.asked + 1}
}

// suggest looks at the word before the cursor and opens, changes or closes the popup.
func (b *Box) suggest() tea.Cmd {
	kind, from, query := b.token()
	if kind == noPopup || b.popup.dismissed == from+1 {
		dismissed := b.popup.dismissed
		if b.popup.kind != noPopup {
			b.closePopup()
		}
		if kind != noPopup {
			b.popup.dismissed = dismissed
		} else {
			b.popup.dismissed = 0
		}
		return nil
	}
	if b.popup.kind == ofPaths {
		b.closePopup()
	}
	b.popup.kind, b.popup.from, b.popup.to = kind, from, b.cursor
	if kind == ofCommands {
		b.popup.query = query
		b.popup.items, b.popup.selected = commands(b.Sources.Commands(), query), 0
		return nil
	}
	return b.findMentions(query)
}

// token is the word at the cursor that can be completed.
func (b *Box) token() (kind popupKind, from int, query string) {
	before := b.text[:b.cursor]
	if b.mode == Prompt && strings.HasPrefix(before, "/") && b.Sources.Commands != nil && !strings.ContainsAny(before[1:], " \t\n/") {
		return ofCommands, 0, before[1:]
	}
	if b.mode == Memory || b.Sources.Files == nil && b.Sources.Others == nil {
		return noPopup, 0, ""
	}
	line := lineStart(b.text, b.cursor)
	at := strings.LastIndexByte(before, '@')
	for ; at >= line && !opensMention(b.text, at); at = strings.LastIndexByte(before[:at], '@') {
	}
	if at < line {
		return noPopup, 0, ""
	}
	query = before[at+1:]
	if quoted, ok := strings.CutPrefix(query, `"`); ok {
		if strings.Contains(quoted, `"`) {
			return noPopup, 0, ""
		}
		return ofMentions, at, quoted
	}
	if strings.ContainsAny(query, " \t") || b.markBefore(b.cursor) != nil {
		return noPopup, 0, ""
	}
	return ofMentions, at, query
}

// commands are the commands that fit, best first: those that begin with what was typed, then those that contain its letters.
func commands(all []Command, query string) []suggestion {
	type scored struct {
		suggestion
		score int
	}
	var found []scored
	for _, c := range all {
		best, matched, ok := fileindex.Score(c.Name, strings.ToLower(query))
		if strings.HasPrefix(c.Name, query) {
			best += 1000
		}
		label := "/" + c.Name
		for _, alias := range c.Aliases {
			if score, _, fits := fileindex.Score(alias, strings.ToLower(query)); fits && query != "" {
				if strings.HasPrefix(alias, query) {
					score += 900
				}
				if !ok || score > best {
					best, matched, ok, label = score, nil, true, "/"+c.Name+" ("+alias+")"
				}
			}
		}
		if !ok {
			continue
		}
		for i := range matched {
			matched[i]++ // the slash
		}
		s := suggestion{label: label, matched: matched, insert: "/" + c.Name, hint: c.Hint, help: c.Help}
		found = append(found, scored{s, best})
	}
	if query != "" {
		slices.SortStableFunc(found, func(a, b scored) int {
			return cmp.Or(b.score-a.score, len(a.label)-len(b.label))
		})
	}
	items := make([]suggestion, 0, min(len(found), mostSuggestions))
	for _, f := range found[:min(len(found), mostSuggestions)] {
		items = append(items, f.suggestion)
	}
	return items
}

// foundMsg brings what can be mentioned.
type foundMsg struct {
	asked   int
	items   []suggestion
	settled bool
}

// findMentions asks for what fits. An older question is ended.
func (b *Box) findMentions(query string) tea.Cmd {
	p := &b.popup
	if p.end != nil {
		p.end()
	}
	p.asked++
	p.query = query
	p.waiting = len(p.items) == 0
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	return b.askMentions(ctx, p.asked, query, false)
}

func (b *Box) askMentions(ctx context.Context, asked int, query string, settle bool) tea.Cmd {
	sources := b.Sources
	return func() tea.Msg {
		if settle {
			sources.Files.Settle(ctx)
		}
		items, settled := mentions(ctx, sources, query)
		if ctx.Err() != nil {
			return nil
		}
		return foundMsg{asked, items, settled}
	}
}

// mentions are files, folders, agents and resources that fit.
func mentions(ctx context.Context, sources Sources, query string) (items []suggestion, settled bool) {
	settled = true
	if sources.Others != nil {
		for _, o := range sources.Others() {
			if score, matched, ok := fileindex.Score(o.Name, query); ok && (query == "" || score > 0) {
				items = append(items, suggestion{label: o.Name, matched: matched, insert: QuoteMention(o.Name), help: o.Help})
			}
		}
		if query == "" && len(items) > 5 {
			items = items[:5] // files are what is mentioned most
		}
	}
	if sources.Files == nil {
		return items, true
	}
	var found []fileindex.Match
	found, settled = sources.Files.Find(ctx, query, 15)
	files := make([]suggestion, 0, len(found)+len(items))
	for _, m := range found {
		files = append(files, suggestion{label: m.Path, matched: m.Matched, insert: QuoteMention(m.Path), folder: m.Folder()})
	}
	if exact := slices.IndexFunc(items, func(s suggestion) bool { return query != "" && strings.HasPrefix(s.label, query) }); exact >= 0 {
		return append(items, files...), settled
	}
	return append(files, items...), settled
}

func (b *Box) gotFound(msg foundMsg) tea.Cmd {
	p := &b.popup
	if msg.asked != p.asked || p.kind != ofMentions {
		return nil
	}
	p.items, p.selected = msg.items, 0
	p.waiting = !msg.settled && len(msg.items) == 0
	if msg.settled {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	if p.end != nil {
		p.end()
	}
	p.end = cancel
	return b.askMentions(ctx, p.asked, p.query, true)
}

// accept puts the chosen suggestion in.
func (b *Box) accept() tea.Cmd {
	p := b.popup
	if !p.open() {
		return nil
	}
	s := p.items[p.selected]
	insert := s.insert
	open := s.folder && p.kind != ofCommands
	switch {
	case open && strings.HasSuffix(insert, `"`):
		insert = strings.TrimSuffix(insert, `"`) // what is in the folder follows
	case !open:
		insert += " "
	}
	to := p.to
	if strings.HasSuffix(insert, " ") && to < len(b.text) && b.text[to] == ' ' {
		to++
	}
	b.begin()
	b.replace(p.from, max(to, b.cursor), insert)
	b.begin()
	b.closePopup()
	if p.kind == ofPaths {
		return nil
	}
	return b.suggest()
}

// acceptByEnter decides what Enter means while the popup is open. done is false when the text is to be sent.
func (b *Box) acceptByEnter() (done bool, cmd tea.Cmd) {
	p := &b.popup
	s := p.items[p.selected]
	switch {
	case p.kind == ofCommands && b.text == s.insert:
		b.closePopup()
		return false, nil
	case p.kind == ofCommands && b.cursor == len(b.text):
		cmd = b.accept()
		return s.hint != "", cmd // a command without arguments runs at once
	case p.kind == ofMentions && b.text[p.from:b.cursor] == s.insert:
		b.closePopup()
		return false, nil
	}
	return true, b.accept()
}

// argumentHint is what a command that was typed still wants, shown behind it.
func (b *Box) argumentHint() string {
	if b.mode != Prompt || b.Sources.Commands == nil || !strings.HasPrefix(b.text, "/") || b.cursor != len(b.text) {
		return ""
	}
	name, ok := strings.CutSuffix(b.text[1:], " ")
	if !ok || strings.ContainsAny(name, " \n") || path.Base(name) != name {
		return ""
	}
	for _, c := range b.Sources.Commands() {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c.Hint
		}
	}
	return ""
}
