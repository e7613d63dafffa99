package app

import (
	"context"
	"path/filepath"
	"time"

	"gofer/internal/event"
	"gofer/internal/hook/eventlog"
	"gofer/internal/hook/webhook"
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
