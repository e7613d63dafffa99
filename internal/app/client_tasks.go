package app

import (
	"slices"
	"sync"

	"gofer/internal/event"
	"gofer/internal/work/job"
)

// A taskTeller makes of the changes of jobs what programs are told of them. It only says what is to be told: whoever tells may have to wait
// for a slow reader, and nobody must wait for that.
type taskTeller struct {
	mu    sync.Mutex
	known map[string]job.Job
	live  []event.BackgroundTask // what goes on in the background
}

// changed returns what is to be told of the change that made j what it is: now, and after its end, if that was it, has been told.
func (t *taskTeller) changed(j job.Job) (now, after []event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.take(j)
}

// moved returns what is to be told of a job that goes on in the background. get is asked under the lock, so that what it returns is not older
// than what was told before. The beginning of a job is not told here: that change is still on its way.
func (t *taskTeller) moved(id string, get func(string) (job.Job, bool)) []event.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, seen := t.known[id]; !seen || before.State.Ended() || !before.Foreground {
		return nil
	}
	j, ok := get(id)
	if !ok || j.State.Ended() {
		return nil // its end is on its way
	}
	now, after := t.take(j)
	return append(now, after...)
}

func (t *taskTeller) take(j job.Job) (now, after []event.Event) {
	before, seen := t.known[j.ID]
	if t.known == nil {
		t.known = map[string]job.Job{}
	}
	t.known[j.ID] = j
	var level []event.Event
	if t.count(j) {
		level = []event.Event{event.BackgroundTasks{Tasks: append([]event.BackgroundTask{}, t.live...)}}
	}
	if (!seen || before.State.Ended()) && !j.State.Ended() { // it begins, perhaps again
		background := !j.Foreground
		return append(level, event.TaskStarted{TaskID: j.ID, ToolUseID: j.CallID, Description: j.Description, TaskType: string(j.Kind), Background: &background}), nil
	}
	if p := patch(before, j); p != (event.TaskPatch{}) {
		now = []event.Event{event.TaskUpdated{TaskID: j.ID, Patch: p}}
	}
	return now, level
}

// count takes j into what goes on in the background, or out of it, and says whether that changed anything.
func (t *taskTeller) count(j job.Job) bool {
	i := slices.IndexFunc(t.live, func(l event.BackgroundTask) bool { return l.TaskID == j.ID })
	switch belongs := !j.Foreground && !j.State.Ended(); {
	case belongs && i < 0:
		t.live = append(t.live, event.BackgroundTask{TaskID: j.ID, TaskType: string(j.Kind), Description: j.Description, Parent: j.Owner})
	case !belongs && i >= 0:
		t.live = slices.Delete(t.live, i, i+1)
	default:
		return false
	}
	return true
}

// patch is what changed from one state of a job to the next.
func patch(from, to job.Job) event.TaskPatch {
	var p event.TaskPatch
	if from.State != to.State {
		p.Status = string(to.State)
		if to.State == job.Waiting {
			p.Status = "paused"
		}
		if to.State.Ended() {
			p.EndTime = to.Ended.UnixMilli()
		}
		if to.State == job.Failed {
			p.Error = to.Summary
		}
	}
	if from.Foreground && !to.Foreground {
		yes := true
		p.Background = &yes
	}
	return p
}

// jobChanged tells whoever watches of a change. after tells the rest, when the end of the job has been told.
func (e *engine) jobChanged(j job.Job) (after func()) {
	now, later := e.tasks.changed(j)
	for _, ev := range now {
		e.emit(ev)
	}
	return func() {
		for _, ev := range later {
			e.emit(ev)
		}
	}
}

// leftBehind is what is to be told when a call has its result and its job goes on all the same: it was sent to the background.
func (e *engine) leftBehind(callID string) []event.Event {
	for _, j := range e.jobs.List() {
		if j.CallID == callID && !j.Foreground && !j.State.Ended() {
			return e.tasks.moved(j.ID, e.jobs.Get)
		}
	}
	return nil
}
