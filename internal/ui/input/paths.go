package input

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// pathsMsg brings the entries of a folder that fit a word.
type pathsMsg struct {
	asked    int
	from, to int
	word     string
	names    []string // as they are to be put in
}

const mostPaths = 200

// completePath completes the path before the cursor, as shells do. In a prompt only a word that looks like a path is one.
func (b *Box) completePath() tea.Cmd {
	from := b.cursor
	for from > 0 && strings.IndexByte(" \t\n\"'", b.text[from-1]) < 0 {
		from--
	}
	word := b.text[from:b.cursor]
	looks := strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~/") || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
	if !looks && (b.mode != Shell || word == "") {
		return nil
	}
	b.popup.asked++
	asked, to, home := b.popup.asked, b.cursor, b.Home
	dir := ""
	if b.Dir != nil {
		dir = b.Dir()
	}
	return func() tea.Msg { return pathsMsg{asked, from, to, word, pathsFor(word, dir, home)} }
}

// pathsFor lists what a word can become.
func pathsFor(word, dir, home string) []string {
	parent, prefix := "", word
	if slash := strings.LastIndexByte(word, '/'); slash >= 0 {
		parent, prefix = word[:slash+1], word[slash+1:]
	}
	real := parent
	switch rest, ok := strings.CutPrefix(parent, "~/"); {
	case ok:
		real = filepath.Join(home, rest)
	case !filepath.IsAbs(parent):
		real = filepath.Join(dir, parent)
	}
	f, err := os.Open(real)
	if err != nil {
		return nil
	}
	defer f.Close()
	var names []string
	for {
		entries, err := f.ReadDir(512)
		for _, e := range entries {
			name := e.Name()
			if !strings.HasPrefix(name, prefix) || prefix == "" && strings.HasPrefix(name, ".") || Clean(name) != name {
				continue
			}
			folder := e.IsDir()
			if e.Type()&os.ModeSymlink != 0 {
				if info, err := os.Stat(filepath.Join(real, name)); err == nil {
					folder = info.IsDir()
				}
			}
			if folder {
				name += "/"
			}
			names = append(names, parent+name)
		}
		if err != nil || len(names) > mostPaths {
			break
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
	})
	return names
}

func (b *Box) gotPaths(msg pathsMsg) tea.Cmd {
	if msg.asked != b.popup.asked || msg.to != b.cursor || msg.to > len(b.text) || b.text[msg.from:msg.to] != msg.word || len(msg.names) == 0 {
		return nil
	}
	common := msg.names[0]
	for _, n := range msg.names[1:] {
		for !strings.HasPrefix(n, common) {
			common = common[:previousCluster(common, len(common))]
		}
	}
	if len(common) > len(msg.word) {
		b.begin()
		b.replace(msg.from, msg.to, common)
		b.begin()
	}
	if len(msg.names) == 1 {
		if !strings.HasSuffix(common, "/") {
			b.replace(b.cursor, b.cursor, " ")
		}
		b.closePopup()
		return nil
	}
	p := popup{kind: ofPaths, from: msg.from, to: b.cursor, asked: b.popup.asked}
	for _, n := range msg.names {
		p.items = append(p.items, suggestion{label: n, insert: n, folder: strings.HasSuffix(n, "/")})
	}
	b.popup = p
	return nil
}
