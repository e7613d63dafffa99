// Package headless writes what a session says in the forms that scripts and programs read: the final text, one JSON
// object, or a stream of JSON lines. Output is complete however slow the reader: writes block, nothing is dropped, and the
// result is always last.
package headless

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"

	"gofer/internal/event"
	"gofer/internal/session"
)

// Formats of output.
const (
	Text       = "text"
	JSON       = "json"
	StreamJSON = "stream-json"
)

// Options choose the form.
type Options struct {
	Format  string
	Verbose bool // with JSON: a list of all messages
	Partial bool // with StreamJSON: the provider's events too
	Hooks   bool // with StreamJSON: hooks too
}

// Write follows the records to their end and writes them to out. It returns the last result.
func Write(out io.Writer, sessionID string, records iter.Seq[session.Record], o Options) (*event.Result, error) {
	w := &writer{out: bufio.NewWriterSize(out, 64<<10), id: sessionID, options: o}
	for r := range records {
		if err := w.record(r); err != nil {
			return w.last, fmt.Errorf("writing the output: %w", err)
		}
	}
	if err := w.end(); err != nil {
		return w.last, fmt.Errorf("writing the output: %w", err)
	}
	return w.last, nil
}

type writer struct {
	out     *bufio.Writer
	id      string
	options Options
	last    *event.Result
	results int      // written so far
	lastLog []byte   // the result as JSON
	all     [][]byte // everything, for the verbose JSON form
}

func (w *writer) record(r session.Record) error {
	if res, ok := r.Event.(event.Result); ok {
		index := w.results
		w.results++
		res.Index = &index
		r.Event, w.last = res, &res
	}
	if w.options.Format == Text || !w.wanted(r.Event) {
		return nil
	}
	line, err := event.Encode(r.Event, w.id, r.UUID)
	if err != nil || line == nil {
		return err
	}
	if w.options.Format == StreamJSON {
		w.out.Write(line)
		w.out.WriteByte('\n')
		return w.out.Flush() // a program reads along
	}
	if w.options.Verbose {
		w.all = append(w.all, line)
	}
	if _, ok := r.Event.(event.Result); ok {
		w.lastLog = line
	}
	return nil
}

// wanted leaves out what has to be asked for.
func (w *writer) wanted(e event.Event) bool {
	switch e.(type) {
	case event.Stream, event.Requesting:
		return w.options.Partial && w.options.Format == StreamJSON
	case event.HookStarted, event.HookResponse:
		return w.options.Hooks
	}
	return true
}

// end writes what comes after the last event.
func (w *writer) end() error {
	switch {
	case w.options.Format == StreamJSON || w.last == nil:
	case w.options.Format == Text:
		w.out.WriteString(Final(w.last))
		w.out.WriteByte('\n')
	case w.options.Verbose:
		w.out.WriteByte('[')
		for i, line := range w.all {
			if i > 0 {
				w.out.WriteByte(',')
			}
			w.out.Write(line)
		}
		w.out.WriteString("]\n")
	default:
		w.out.Write(w.lastLog)
		w.out.WriteByte('\n')
	}
	return w.out.Flush()
}

// Final is what a person reads of a result: the text, or what went wrong.
func Final(r *event.Result) string {
	if r.Result != nil {
		return *r.Result
	}
	return "Error: " + strings.Join(r.Errors, "\n")
}
