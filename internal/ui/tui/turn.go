package tui

import (
	"encoding/json"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/ui/input"
	"gofer/internal/ui/message"
)

// A turn is what the model does now.
type turn struct {
	on       bool
	began    time.Time
	prompted bool // its prompt was shown
	stopping bool // the person has asked it to end
	thinking bool
	bytes    int       // of the replies so far, from which tokens are estimated
	note     string    // why it takes long: a retry, a compaction
	again    time.Time // when the request that failed is made again
	said     string    // what gofer itself has said in the place of a reply
}

// A queued message was sent, and the model has not seen it yet.
type queued struct {
	uuid    string
	message input.Message
	waits   bool // behind a turn that runs
}

// busy reports whether something is being done for the person.
func (m *model) busy() bool { return m.turn.on || len(m.queue) > 0 }

// submit sends a message to the session.
func (m *model) submit(msg input.Message) tea.Cmd {
	if m.host == nil || m.opening || m.commanding {
		m.early = append(m.early, msg) // it is for the session that comes
		return nil
	}
	in := session.Input{UUID: uuid.NewString()}
	if msg.Text != "" {
		in.Blocks = append(in.Blocks, llm.TextBlock(msg.Text))
	}
	in.Blocks = append(in.Blocks, msg.Images...)
	if !m.busy() {
		m.turn = turn{began: time.Now()}
	}
	m.queue = append(m.queue, queued{in.UUID, msg, m.turn.on})
	m.outbox.put(m.host.Session, in)
	return nil
}

func (m *model) submitText(text string) tea.Cmd {
	return m.submit(input.Message{Text: text, Display: text})
}

// joined takes a message out of the queue: the model sees it now.
func (m *model) joined(uuid string) (input.Message, bool) {
	for i, q := range m.queue {
		if q.uuid == uuid {
			m.queue = append(m.queue[:i:i], m.queue[i+1:]...)
			return q.message, true
		}
	}
	return input.Message{}, false
}

// interrupt stops the turn. What it did stays.
func (m *model) interrupt() tea.Cmd {
	m.turn.stopping = true
	ctx, s := m.ctx, m.host.Session
	return func() tea.Msg {
		s.Interrupt(ctx)
		return nil
	}
}

// events takes what the session has said.
func (m *model) events(msg eventsMsg) tea.Cmd {
	if msg.host != m.host {
		return nil
	}
	changed := false
	for _, e := range msg.events {
		changed = m.event(e) || changed
	}
	if changed {
		return m.lookUp()
	}
	return nil
}

// event takes one event. It returns whether what the host tells may have changed.
func (m *model) event(e event.Event) (changed bool) {
	m.log.Add(e)
	c := m.canvas()
	switch e := e.(type) {
	case event.Init:
		if m.turn.began.IsZero() {
			m.turn.began = time.Now()
		}
		m.turn.on, m.turn.prompted = true, false
		return true
	case event.User:
		if e.Prompt && e.Parent == nil {
			m.turn.prompted = true
			m.showPrompt(e)
		} else if e.Parent == nil {
			m.results(e)
		}
	case event.Delta:
		m.delta(e)
	case event.Assistant:
		if e.Parent == nil {
			m.assistant(e)
		}
	case event.Voided:
		if m.flow.void() {
			m.flow.block(c, message.Voided(c, e))
		}
	case event.ToolBegun, event.ToolOutput, event.ToolEnded, event.Denied:
		return m.toolEvent(e)
	case event.TaskStarted, event.TaskProgress, event.TaskNotice:
		m.jobEvent(e)
		_, progress := e.(event.TaskProgress)
		return !progress
	case event.Retry:
		m.turn.note = m.words.F("The request failed (%s); try %d of %d", e.Error, e.Attempt, e.MaxRetries)
		m.turn.again = time.Now().Add(time.Duration(e.DelayMS) * time.Millisecond)
	case event.Info:
		if e.PreventContinuation {
			m.showFirst()
		}
		m.note(e.Level, e.Content)
	case event.Boundary:
		m.used = e.Metadata.PostTokens
		m.flow.block(c, message.Boundary(c, e))
		return true
	case event.Fallback, event.HookResponse:
		m.flow.block(c, message.Event(c, e))
		return true
	case event.Status:
		m.turn.note, m.turn.again = "", time.Time{}
		if e.Status != nil && *e.Status == "compacting" {
			m.turn.note = m.words.T("Making the conversation smaller")
		}
		return true
	case event.Queued:
		for i := range m.queue {
			if m.queue[i].uuid == e.UUID {
				m.queue[i].waits = !e.Joined
			}
		}
	case event.Result:
		m.ended(e)
		return true
	}
	return false
}

// toolEvent takes what is said of a tool call.
func (m *model) toolEvent(e event.Event) (changed bool) {
	c := m.canvas()
	switch e := e.(type) {
	case event.ToolBegun:
		place := m.unseen[e.ID].place
		delete(m.unseen, e.ID)
		m.flow.end(c)
		m.turn.note, m.turn.thinking = "", false
		k := message.Call{ID: e.ID, Name: e.Name, Title: e.Title, Output: &message.Output{}}
		m.flow.begin(&call{Call: k, began: time.Now(), agent: agentType(e), place: place})
	case event.ToolOutput:
		if t := m.flow.find(e.ID); t != nil {
			t.Output.Write(e.Text)
		}
	case event.Denied:
		if t := m.flow.find(e.ToolUseID); t != nil {
			t.State = message.Refused
		}
	case event.ToolEnded:
		t := m.flow.find(e.ID)
		if t == nil {
			return false
		}
		t.ended, t.Display, t.Elapsed = true, e.Display, time.Since(t.began)
		if t.State == message.Running {
			t.State = message.Done
			t.unexplained = e.Display.Failed && e.Display.Body == "" && e.Display.Diff == "" && !m.turn.stopping
		}
		m.jobsOf(t.ID)
		m.flow.settle(c)
		return t.agent != "" || t.Name == "Bash" || isStepTool(t.Name)
	}
	return false
}

// agentType is the type of agent that a call runs; "" if it runs none.
func agentType(e event.ToolBegun) string {
	if e.Name != "Agent" && e.Name != "Task" {
		return ""
	}
	var in struct {
		Type string `json:"subagent_type"`
	}
	if json.Unmarshal(e.Input, &in) != nil || in.Type == "" {
		return "agent"
	}
	return in.Type
}

// isStepTool reports whether a tool changes the list of steps.
func isStepTool(name string) bool {
	switch name {
	case "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet":
		return true
	}
	return false
}

func (m *model) delta(e event.Delta) {
	m.turn.bytes += len(e.Text)
	switch e.Kind {
	case llm.TextDelta:
		m.turn.note, m.turn.thinking = "", false
		m.flow.write(m.canvas(), e.Text)
	case llm.ThinkingDelta:
		m.turn.note, m.turn.thinking = "", true
	}
}

// assistant takes a finished block of a reply.
func (m *model) assistant(e event.Assistant) {
	c := m.canvas()
	if u := e.Message.Usage; u.Prompt() > 0 {
		m.used = u.Prompt() + u.Output
	}
	for _, b := range e.Message.Content {
		switch b.Kind {
		case llm.Text:
			if e.Message.Model == event.Synthetic {
				m.showFirst()
				m.turn.said = b.Text
			}
			if m.flow.text == nil {
				m.flow.write(c, b.Text) // it did not stream
			}
			m.flow.end(c)
		case llm.ToolUse:
			m.wished(b.Call)
		case llm.Thinking:
			m.flow.block(c, message.Thinking(c, b.Text, false))
		}
	}
}

// showPrompt prints a prompt that has joined the conversation.
func (m *model) showPrompt(e event.User) {
	text := e.Message.Text()
	if msg, ok := m.joined(e.UUID); ok {
		text = msg.Display
	}
	m.flow.end(m.canvas())
	m.echo(text)
}

// showFirst prints the prompt of a turn that never reached the model: a command that gofer itself has answered.
func (m *model) showFirst() {
	if m.turn.prompted || len(m.queue) == 0 {
		return
	}
	m.turn.prompted = true
	m.echo(m.queue[0].message.Display)
	m.queue = m.queue[1:]
}

// ended closes a turn.
func (m *model) ended(r event.Result) {
	c := m.canvas()
	m.flow.finish(c)
	switch {
	case m.turn.stopping:
		m.flow.block(c, message.Interrupted(c))
	case r.IsError:
		m.showFirst()
		if r.Result == nil || *r.Result != m.turn.said {
			m.flow.block(c, message.Failure(c, r))
		}
	}
	if len(m.queue) > 0 {
		m.turn = turn{began: time.Now()}
		m.queue[0].waits = false
		return
	}
	m.turn = turn{}
}

// echo shows what was typed.
func (m *model) echo(text string) {
	c := m.canvas()
	m.flow.block(c, message.Prompt(c, text))
}

// say prints a text of gofer's own.
func (m *model) say(text string, markdown bool) {
	c := m.canvas()
	if markdown {
		m.flow.block(c, message.Say(c, text))
		return
	}
	m.flow.block(c, message.Note(c, "info", text))
}

// note prints a notice.
func (m *model) note(level, text string) {
	c := m.canvas()
	m.flow.block(c, message.Note(c, level, text))
}
