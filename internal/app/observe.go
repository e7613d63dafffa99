package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/hook/eventlog"
	"gofer/internal/hook/webhook"
	"gofer/internal/tool"
)

// openObservers starts the event log and the forwarding of events, where the settings ask for them. They follow the session like any
// other watcher.
func (e *engine) openObservers() error {
	set := e.settings.Current().Settings
	warn := func(text string) { go e.emit(event.Info{Level: "warning", Content: text}) }
	if set.EventLog.Enabled {
		file := expandHome(set.EventLog.File, e.place.home)
		if file == "" {
			file = filepath.Join(e.place.sessionDir(), "events.jsonl")
		}
		log, err := eventlog.Open(eventlog.Options{File: file, SessionID: e.place.session, SlowCall: time.Duration(set.EventLog.SlowCallMs) * time.Millisecond, Note: warn})
		if err != nil {
			return err
		}
		e.observe(func(ev event.Event, _ string) { log.Add(ev) }, func() { log.Close() })
	}
	if err := e.openDebug(); err != nil {
		return err
	}
	if set.Webhook.URL != "" {
		f, err := webhook.New(webhook.Options{URL: set.Webhook.URL, Headers: set.Webhook.Headers, Events: set.Webhook.Events, SessionID: e.place.session, Report: warn})
		if err != nil {
			return err
		}
		e.observe(f.Add, func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			f.Close(ctx)
		})
	}
	return nil
}

// debugLine is how much of an event a line of the debug output shows.
const debugLine = 400

// openDebug writes what happens to standard error or to a file, one line for each event.
func (e *engine) openDebug() error {
	var out io.Writer
	done := func() {}
	switch f := e.flags; {
	case f.DebugFile != "":
		file, err := os.OpenFile(f.DebugFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("--debug-file: %w", err)
		}
		out, done = file, func() { file.Close() }
	case f.Debug.Set || f.DebugStderr:
		out = e.world.Stderr
	default:
		return nil
	}
	e.observe(func(ev event.Event, uuid string) {
		name := strings.TrimPrefix(fmt.Sprintf("%T", ev), "event.")
		if filter := e.flags.Debug.Value; filter != "" && !strings.Contains(strings.ToLower(name), strings.ToLower(filter)) {
			return
		}
		line, err := event.Encode(ev, e.place.session, uuid)
		if err != nil || line == nil {
			line = fmt.Appendf(nil, "%+v", ev)
		}
		fmt.Fprintf(out, "%s %s %s\n", time.Now().Format("15:04:05.000"), name, tool.Prefix(strings.ReplaceAll(e.mask.Text(string(line)), "\n", " "), debugLine))
	}, done)
	return nil
}

// observe hands every event of the session to add until the session ends, and then calls done.
func (e *engine) observe(add func(event.Event, string), done func()) {
	records := e.session.Watch(context.Background(), 0)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for r := range records {
			add(r.Event, r.UUID)
		}
	}()
	e.closers = append(e.closers, func() {
		<-ended // the session has ended before the engine is closed
		done()
	})
}
