package compact

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"gofer/internal/llm"
	"gofer/internal/prompt"
)

// NotesOptions say how a session's notes are kept.
type NotesOptions struct {
	File string // where they are kept
	// Ask makes one call to a small model.
	Ask      func(ctx context.Context, system, text string) (string, error)
	Warn     func(error) // told once in a row of failures; may be nil
	Language prompt.Language
	Tokens   int           // of new conversation between two updates; 0 is 8,000
	Calls    int           // of tools between two updates, at least; 0 is 3
	Wait     time.Duration // how long a compaction waits for an update that runs; 0 is 20 s
	Piece    int           // bytes of conversation in one call; 0 is 240,000
}

// Notes are what is worth knowing about a session, in sections that a small model keeps up to date in the background. When the
// conversation has to become shorter they stand in for what is left out, and nobody has to wait for a summary. They are a file of
// Markdown, replaced in one step, so that a kill leaves the old ones or the new ones.
type Notes struct {
	o      NotesOptions
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	loaded  bool
	doc     document
	running chan struct{} // closed when the update that runs has ended; nil: none runs
	failed  bool
	pause   int // conversations of this raw size have failed: the next attempt waits until it has grown
}

// NewNotes makes notes. Nothing is read or started before it is needed. Close ends what runs.
func NewNotes(o NotesOptions) *Notes {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Tokens, 8_000)
	def(&o.Calls, 3)
	def(&o.Piece, 240_000)
	if o.Wait == 0 {
		o.Wait = 20 * time.Second
	}
	n := &Notes{o: o}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Close stops an update that runs, and waits for its end.
func (n *Notes) Close() {
	n.cancel()
	n.mu.Lock()
	running := n.running
	n.mu.Unlock()
	if running != nil {
		<-running
	}
}

// Text returns the notes as they are.
func (n *Notes) Text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.load()
	return n.doc.text()
}

// load reads the notes of a session that was resumed. Notes that cannot be read are made anew.
func (n *Notes) load() {
	if !n.loaded {
		n.loaded = true
		n.doc = readDocument(n.o.File)
	}
}

// consider starts an update if enough has happened since the last one. It does not wait for it.
func (n *Notes) consider(view []llm.Message, s size) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running != nil || n.ctx.Err() != nil {
		return
	}
	n.load()
	start := covered(view, n.doc.covers)
	news := view[start:]
	calls := 0
	for _, m := range news {
		calls += len(m.Calls())
	}
	tokens := estimate(news)
	if calls < n.o.Calls || tokens < min(n.o.Tokens, s.room()/3) || tokens < n.pause {
		return
	}
	upTo := lastReply(news)
	if upTo == "" {
		return
	}
	done := make(chan struct{})
	n.running = done
	doc := n.doc
	go func() {
		defer close(done)
		n.update(doc, news, upTo, tokens)
	}()
}

// update asks for new notes and keeps them.
func (n *Notes) update(doc document, news []llm.Message, upTo string, tokens int) {
	doc, err := n.revise(doc, news)
	if err == nil {
		doc.covers = upTo
		err = doc.write(n.o.File)
	}
	n.mu.Lock()
	n.running = nil
	first := err != nil && !n.failed
	n.failed = err != nil
	if err != nil {
		n.pause = tokens * 3 / 2 // not again with every request
	} else {
		n.doc, n.pause = doc, 0
	}
	n.mu.Unlock()
	if first && n.ctx.Err() == nil && n.o.Warn != nil {
		n.o.Warn(fmt.Errorf("keeping the session's notes: %w", err))
	}
}

// revise brings the notes up to date, in pieces if much has happened.
func (n *Notes) revise(doc document, news []llm.Message) (document, error) {
	l := n.o.Language
	for _, piece := range pack(l, render(l, news), n.o.Piece) {
		text := in(l, "The notes as they are:", "现有的笔记：") + "\n\n<notes>\n" + doc.text() + "\n</notes>\n\n" +
			in(l, "What has happened since:", "此后发生的事：") + "\n\n<conversation>\n" + strings.TrimSpace(piece) + "\n</conversation>"
		reply, err := n.o.Ask(n.ctx, notesPrompt(l), text)
		if err != nil {
			return doc, err
		}
		next, ok := doc.merge(reply)
		if !ok {
			return doc, fmt.Errorf("the model did not return notes but %q", oneLine(reply, 80))
		}
		doc = next
	}
	return doc, nil
}

// instead offers the notes in the place of a summary, and says from where on messages have to stay because the notes do not cover them.
// It reports false if there are none, or if so much has happened since that they are of no use.
func (n *Notes) instead(ctx context.Context, p plan) (text string, start int, ok bool) {
	n.await(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.load()
	latest := covered(p.msgs, n.doc.covers)
	if latest == 0 || n.doc.empty() {
		return "", 0, false
	}
	start = tailStart(p.msgs, p.b, latest)
	if start > latest || start <= 1 || estimate(p.msgs[start:]) > max(p.b.tailMost, estimate(p.msgs[p.start:])) {
		return "", 0, false
	}
	return n.doc.within(p.b.summary), start, true
}

// await waits for an update that runs, but not for ever.
func (n *Notes) await(ctx context.Context) {
	n.mu.Lock()
	running := n.running
	n.mu.Unlock()
	if running == nil {
		return
	}
	t := time.NewTimer(n.o.Wait)
	defer t.Stop()
	select {
	case <-running:
	case <-ctx.Done():
	case <-t.C:
	}
}

// compacted lets the next update begin with what is in the view then.
func (n *Notes) compacted() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pause = 0
}

// covered is the index of the first message that the notes do not cover: the reply with this id and the results of its calls are
// covered. 0 if the reply is not there.
func covered(msgs []llm.Message, id string) int {
	if id == "" {
		return 0
	}
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == llm.Assistant && msgs[i].ID == id {
			for i++; i < len(msgs) && !safe(msgs, i); i++ {
			}
			return i
		}
	}
	return 0
}

// lastReply is the id of the newest reply.
func lastReply(msgs []llm.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == llm.Assistant && msgs[i].ID != "" {
			return msgs[i].ID
		}
	}
	return ""
}
