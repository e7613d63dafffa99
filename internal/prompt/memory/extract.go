package memory

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"gofer/internal/llm"
)

const (
	mostExtracted       = 5
	conversationBytes   = 24_000
	extractPatience     = time.Minute
	reminderOpening     = "<system-reminder>"
	conversationMessage = 4_000 // bytes of one message
)

// A Turn is what a turn has left to learn from.
type Turn struct {
	Messages []llm.Message
	Began    time.Time
}

// Extract asks the model what of a conversation is worth keeping, and keeps it: as memories, or in the log of the day.
func (s *Store) Extract(ctx context.Context, small Asker, messages []llm.Message) (Changes, error) {
	conversation := Conversation(messages)
	if conversation == "" {
		return Changes{}, nil
	}
	question := fmt.Sprintf("<memories>\n%s</memories>\n\n<conversation>\n%s\n</conversation>", manifest(s.List()), s.o.Mask(conversation))
	answer, err := small.Ask(ctx, s.text("extract.md"), question)
	if err != nil {
		return Changes{}, err
	}
	entries, err := entriesOf(answer, mostExtracted)
	if err != nil {
		return Changes{}, err
	}
	if !s.o.Daily {
		return s.apply(ctx, entries)
	}
	var done Changes
	for _, e := range entries {
		if e.Remove || strings.TrimSpace(e.Text) == "" {
			continue
		}
		file, err := s.Log(ctx, fmt.Sprintf("[%s] %s: %s", e.Type, e.Name, e.Text))
		if err != nil {
			return done, err
		}
		done.Saved = append(done.Saved, file)
	}
	return done, nil
}

// Conversation is what was said, the newest part of it: the words of the user and of the assistant. Results of tools are left out,
// because what strangers wrote must not become memory, and so are reminders.
func Conversation(messages []llm.Message) string {
	var parts []string
	size := 0
	for i := len(messages) - 1; i >= 0 && size < conversationBytes; i-- {
		var said []string
		for _, b := range messages[i].Blocks {
			if b.Kind == llm.Text && !strings.HasPrefix(strings.TrimSpace(b.Text), reminderOpening) {
				said = append(said, strings.TrimSpace(b.Text))
			}
		}
		text := strings.TrimSpace(strings.Join(said, "\n"))
		if text == "" {
			continue
		}
		if runes := []rune(text); len(runes) > conversationMessage {
			text = string(runes[:conversationMessage]) + "…"
		}
		parts = append(parts, fmt.Sprintf("%s: %s", messages[i].Role, text))
		size += len(text)
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
		b.WriteString("\n\n")
	}
	return strings.TrimSpace(b.String())
}

// changedSince tells whether somebody other than this store has written memories since then.
func (s *Store) changedSince(t time.Time) bool {
	entries, _ := os.ReadDir(s.o.Dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if !isMemory(e.Name()) && e.Name() != indexName {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(t) && !info.ModTime().Equal(s.own[e.Name()]) {
			return true
		}
	}
	return false
}

// An Extractor extracts memories in the background, after turns, one at a time. While it works, the newest turn waits, and older
// ones that wait are dropped: its messages hold theirs.
type Extractor struct {
	Store *Store
	Small Asker
	Done  func(Changes, error) // told after each attempt; may be nil

	mu      sync.Mutex
	ctx     context.Context
	cancel  context.CancelFunc
	running bool
	waiting *Turn
	closed  bool
	idle    sync.WaitGroup
}

// After takes a turn that has ended, and returns at once. A turn in which the model has itself written memories has nothing to add.
func (e *Extractor) After(t Turn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.Small == nil {
		return
	}
	if e.running {
		e.waiting = &t
		return
	}
	if e.ctx == nil {
		e.ctx, e.cancel = context.WithCancel(context.Background())
	}
	e.running = true
	e.idle.Go(func() { e.work(t) })
}

func (e *Extractor) work(t Turn) {
	for {
		e.extract(t)
		e.mu.Lock()
		if e.waiting == nil || e.closed {
			e.running = false
			e.mu.Unlock()
			return
		}
		t, e.waiting = *e.waiting, nil
		e.mu.Unlock()
	}
}

func (e *Extractor) extract(t Turn) {
	if e.Store.changedSince(t.Began) {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, extractPatience)
	defer cancel()
	changes, err := e.Store.Extract(ctx, e.Small, t.Messages)
	if e.Done != nil {
		e.Done(changes, err)
	}
}

// Close lets a running extraction come to its end until ctx ends, and then stops it. It returns when nothing runs any more.
func (e *Extractor) Close(ctx context.Context) {
	e.mu.Lock()
	e.closed, e.waiting = true, nil
	cancel := e.cancel
	e.mu.Unlock()
	if cancel == nil {
		return
	}
	stop := context.AfterFunc(ctx, cancel)
	e.idle.Wait()
	stop()
	cancel()
}
