package app

import (
	"maps"
	"slices"
	"sync"
	"time"

	"gofer/internal/session/transcript"
	"gofer/internal/ui/fileindex"
)

// wishes are what the program that drives gofer has asked for, when it began or since. A nil *wishes has none: nobody drives the session.
type wishes struct {
	begun  time.Time
	mirror transcript.Mirror // nil: it keeps no copy of transcripts

	mu       sync.Mutex
	plan     string            // how it wants plans to be made
	aliases  map[string]string // tools that stand for others, by the name that the model uses
	suggests bool              // it wants to know what the user may say next
	roots    []string          // folders that it has added
	unhook   []func()          // takes its hooks back
	fresh    bool              // the system prompt is made anew for every turn
	first    string            // the first message of the user
	index    *fileindex.Index  // nil: no file was looked for yet
}

func (w *wishes) change(f func(*wishes)) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

// mirrored is who keeps a copy of transcripts; nil: nobody does.
func (w *wishes) mirrored() transcript.Mirror {
	if w == nil {
		return nil
	}
	return w.mirror
}

func (w *wishes) planInstructions() (text string) {
	w.change(func(w *wishes) { text = w.plan })
	return text
}

func (w *wishes) toolAliases() (aliases map[string]string) {
	w.change(func(w *wishes) { aliases = maps.Clone(w.aliases) })
	return aliases
}

func (w *wishes) wantsSuggestions() (yes bool) {
	w.change(func(w *wishes) { yes = w.suggests })
	return yes
}

// close ends what was begun for the client.
func (w *wishes) close() {
	w.change(func(w *wishes) {
		if w.index != nil {
			w.index.Close()
		}
	})
}

// began is when the program began.
func (w *wishes) began() time.Time {
	if w == nil {
		return time.Now()
	}
	return w.begun
}

// said notes a message of the user.
func (w *wishes) said(uuid string) {
	w.change(func(w *wishes) { w.first = firstOf(w.first, uuid) })
}

func (w *wishes) firstPrompt() (uuid string) {
	w.change(func(w *wishes) { uuid = w.first })
	return uuid
}

// freshPrompt says that the system prompt is not to be frozen with the first turn.
func (w *wishes) freshPrompt() (yes bool) {
	w.change(func(w *wishes) { yes = w.fresh })
	return yes
}

func (w *wishes) addedRoots() (roots []string) {
	w.change(func(w *wishes) { roots = slices.Clone(w.roots) })
	return roots
}
