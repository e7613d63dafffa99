package loop

import (
	"time"

	"gofer/internal/event"
	"gofer/internal/tool"
)

// heartbeat is how often a call that runs gives a sign of life. Programs that drive gofer take long silence for a hang.
const heartbeat = 30 * time.Second

// beat tells whoever watches that the call still runs, until the returned function is called. After that nothing is told.
func (l *Loop) beat(c tool.Call) (stop func()) {
	begun := time.Now()
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				l.Emit(event.ToolProgress{ToolUseID: c.ID, ToolName: c.Tool.Name, Parent: l.Parent, Elapsed: time.Since(begun).Seconds(), Heartbeat: true})
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}
