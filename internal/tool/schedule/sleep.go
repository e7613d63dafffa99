package schedule

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"gofer/internal/tool"
)

//go:embed sleep.md
var sleepDoc string

// longest bounds a wait; whoever wants to wait longer wants a schedule.
const longest = time.Hour

type sleepIn struct {
	Milliseconds int     `json:"duration_ms,omitempty" min:"1" max:"3600000" desc:"How long, in milliseconds"`
	Seconds      float64 `json:"seconds,omitempty" min:"0.001" max:"3600" desc:"How long, in seconds; instead of duration_ms"`
}

func (in sleepIn) duration() time.Duration {
	return time.Duration(in.Milliseconds)*time.Millisecond + time.Duration(in.Seconds*float64(time.Second))
}

func sleep(awaited func(context.Context) error) *tool.Tool {
	return tool.Define(tool.Spec[sleepIn]{
		Name: "Sleep", Doc: sleepDoc, Hint: "wait, pause, sleep for a while",
		Traits: func(sleepIn) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Title:  func(in sleepIn) string { return "Waiting for " + in.duration().String() },
		Check: func(_ context.Context, in sleepIn) error {
			switch {
			case (in.Milliseconds == 0) == (in.Seconds == 0):
				return errors.New("say how long to wait, by either duration_ms or seconds")
			case in.duration() > longest:
				return fmt.Errorf("the longest wait is %s; use CronCreate for later times", longest)
			}
			return nil
		},
		Run: func(ctx context.Context, in sleepIn, _ tool.Call) (tool.Result, error) {
			return wait(ctx, in.duration(), awaited)
		},
	})
}

// wait waits for a time, or until awaited returns. It holds nothing but a timer.
func wait(ctx context.Context, d time.Duration, awaited func(context.Context) error) (tool.Result, error) {
	begun := time.Now()
	timed, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := awaited(timed)
	slept := time.Since(begun).Round(time.Millisecond)
	data := map[string]any{"slept_ms": slept.Milliseconds(), "woken": err == nil}
	switch {
	case err == nil:
		return told(fmt.Sprintf("Woken after %s: something has come for you. Go on with what you do; you get it at the next step or after this turn.", slept), data), nil
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	}
	return told(fmt.Sprintf("Waited %s.", slept), data), nil
}
