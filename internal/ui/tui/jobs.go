package tui

import (
	"slices"
	"time"

	"gofer/internal/event"
)

// jobs is the work that goes on beside the conversation: agents and background commands.
type jobs []*job

// A job is an agent or a background command.
type job struct {
	id, call  string
	kind      string // agent, bash, …
	what      string // its description
	doing     string // what it does now
	tool      string
	usage     event.TaskUsage
	began     time.Time
	announced bool
}

func (m *model) jobEvent(e event.Event) {
	switch e := e.(type) {
	case event.TaskStarted:
		if m.jobs.find(e.TaskID) == nil {
			m.jobs = append(m.jobs, &job{id: e.TaskID, call: e.ToolUseID, kind: e.TaskType, what: e.Description, began: time.Now()})
		}
	case event.TaskProgress:
		if j := m.jobs.find(e.TaskID); j != nil {
			j.doing, j.tool, j.usage = e.Description, e.LastTool, e.Usage
		}
	case event.TaskNotice:
		j := m.jobs.find(e.TaskID)
		m.jobs = slices.DeleteFunc(m.jobs, func(x *job) bool { return x.id == e.TaskID })
		if j != nil && m.flow.find(j.call) == nil {
			m.flow.block(jobEndedLines(m.canvas(), j, e))
		}
	}
}

func (list jobs) find(id string) *job {
	for _, j := range list {
		if j.id == id {
			return j
		}
	}
	return nil
}

// foreground are the agents that the model waits for now: their calls still run.
func (m *model) foreground() []*job {
	var list []*job
	for _, j := range m.jobs {
		if t := m.flow.find(j.call); t != nil && !t.ended {
			list = append(list, j)
		}
	}
	return list
}

// background is how many jobs nobody waits for.
func (m *model) background() int { return len(m.jobs) - len(m.foreground()) }
