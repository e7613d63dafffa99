package tui

import (
	"slices"
	"time"

	"gofer/internal/event"
	"gofer/internal/ui/message"
)

// jobs are the agents and commands of calls that run. A call that has ended leaves what goes on in the background to the host.
type jobs []*job

// A job is an agent or a background command.
type job struct {
	id, call string
	kind     string // agent, bash, …
	agent    message.Agent
	began    time.Time
}

// now is the agent as it is to be drawn.
func (j *job) now() message.Agent {
	a := j.agent
	a.Elapsed = time.Since(j.began)
	return a
}

// jobsOf takes leave of the jobs of a call that has ended.
func (m *model) jobsOf(call string) {
	m.jobs = slices.DeleteFunc(m.jobs, func(j *job) bool { return j.call == call })
}

func (m *model) jobEvent(e event.Event) {
	switch e := e.(type) {
	case event.TaskStarted:
		if m.jobs.find(e.TaskID) != nil {
			return
		}
		j := &job{id: e.TaskID, call: e.ToolUseID, kind: e.TaskType, agent: message.Agent{Type: e.TaskType, Description: e.Description}, began: time.Now()}
		if t := m.flow.find(j.call); t != nil && t.agent != "" {
			j.agent.Type = t.agent
		}
		m.jobs = append(m.jobs, j)
	case event.TaskProgress:
		if j := m.jobs.find(e.TaskID); j != nil {
			j.agent.Doing, j.agent.Tools, j.agent.Tokens = e.Description, e.Usage.ToolUses, e.Usage.Tokens
		}
	case event.TaskNotice:
		j := m.jobs.find(e.TaskID)
		m.jobs = slices.DeleteFunc(m.jobs, func(x *job) bool { return x.id == e.TaskID })
		if j == nil || m.flow.find(j.call) == nil {
			c := m.canvas()
			m.flow.block(c, message.Ended(c, e))
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
