package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	protocol "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/session"
)

// A talk is a session as the client sees it.
type talk struct {
	*Session
	agent *agent
	id    string
	cwd   string
	desk  *Desk
	used  int // tokens of the window, as last told
	teller
	ctx   context.Context // of the session: it ends with it
	stop  context.CancelCauseFunc
	ended chan struct{} // closed when the session has ended and is closed

	mu      sync.Mutex
	last    chan struct{} // closed when the newest prompt has its answer
	waiting []*ask        // prompts that have no answer yet, in their order
}

// An ask is a prompt of the client.
type ask struct {
	uuid      string
	result    chan event.Result // gets the result of its turn
	submitted bool
	cancelled bool
	joined    bool // it is part of the turn that runs
}

func newTalk(a *agent, id, cwd string) *talk {
	free := make(chan struct{})
	close(free)
	t := &talk{agent: a, id: id, cwd: cwd, ended: make(chan struct{}), last: free}
	t.desk = &Desk{conn: a.conn, session: protocol.SessionId(id), cwd: cwd, can: a.client, shown: t.shown}
	t.teller = newTeller(t)
	return t
}

// start runs the session and follows what it says.
func (t *talk) start() {
	t.ctx, t.stop = context.WithCancelCause(t.agent.ctx)
	served := make(chan struct{})
	t.agent.running.Go(func() {
		defer close(served)
		t.Serve(t.ctx)
		t.stop(nil)
	})
	t.agent.running.Go(func() {
		defer close(t.ended)
		for r := range t.Records {
			t.event(r.Event)
		}
		<-served
		t.Close()
		t.agent.forget(t)
	})
}

func (a *agent) forget(t *talk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[t.id] == t {
		delete(a.sessions, t.id)
	}
}

// end ends the session and waits until it has ended.
func (t *talk) end() {
	t.cancel()
	t.stop(session.ErrInterrupted)
	<-t.ended
}

// prompt takes a prompt and answers it when its turn has ended.
func (a *agent) prompt(ctx context.Context, m message) {
	var p protocol.PromptRequest
	err := json.Unmarshal(m.Params, &p)
	if err != nil {
		err = protocol.NewInvalidParams(err.Error())
	}
	var t *talk
	if err == nil {
		t, err = a.known(string(p.SessionId))
	}
	var blocks []llm.Block
	if err == nil {
		blocks, err = blocksOf(p.Prompt)
	}
	if err != nil {
		if m.ID != nil {
			a.conn.reply(m.ID, nil, requestError(err))
		}
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	key := idKey(m.ID)
	a.mu.Lock()
	a.inflight[key] = cancel
	a.mu.Unlock()
	turn := t.queue()
	a.running.Go(func() {
		stop, err := turn(ctx, blocks)
		a.mu.Lock()
		delete(a.inflight, key)
		a.mu.Unlock()
		cancel(nil)
		if m.ID != nil {
			a.conn.reply(m.ID, map[string]any{"stopReason": stop}, requestError(err))
		}
	})
}

// queue puts a prompt behind those before it and returns the function that waits for its turn, runs it, and says how it ended.
func (t *talk) queue() func(context.Context, []llm.Block) (protocol.StopReason, error) {
	p := &ask{uuid: uuid.NewString(), result: make(chan event.Result, 1)}
	done := make(chan struct{})
	t.mu.Lock()
	before := t.last
	t.last = done
	t.waiting = append(t.waiting, p)
	t.mu.Unlock()
	return func(ctx context.Context, blocks []llm.Block) (protocol.StopReason, error) {
		defer close(done)
		defer t.drop(p)
		stop := context.AfterFunc(ctx, func() { t.cancelOne(p) })
		defer stop()
		select {
		case <-before:
		case <-t.ended:
			return "", ended()
		}
		return t.ask(p, blocks)
	}
}

func ended() error { return fmt.Errorf("the session has ended") }

func (t *talk) ask(p *ask, blocks []llm.Block) (protocol.StopReason, error) {
	t.mu.Lock()
	cancelled := p.cancelled
	p.submitted = !cancelled
	t.mu.Unlock()
	if cancelled {
		return protocol.StopReasonCancelled, nil
	}
	if err := t.Submit(t.ctx, session.Input{UUID: p.uuid, Blocks: blocks}); err != nil {
		return t.overtaken(p, err)
	}
	t.mu.Lock()
	cancelled = p.cancelled
	t.mu.Unlock()
	if cancelled {
		t.interrupt()
	}
	select {
	case r := <-p.result:
		return t.stopReason(p, r)
	case <-t.ended:
		select {
		case r := <-p.result:
			return t.stopReason(p, r)
		default:
		}
		return t.overtaken(p, ended())
	}
}

// overtaken is the end of a prompt whose session ended before it did.
func (t *talk) overtaken(p *ask, err error) (protocol.StopReason, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.cancelled {
		return protocol.StopReasonCancelled, nil
	}
	return "", err
}

func (t *talk) drop(p *ask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, q := range t.waiting {
		if q == p {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
		}
	}
}

// cancel stops the turn that runs and all prompts that wait.
func (t *talk) cancel() {
	t.mu.Lock()
	list := t.waiting
	t.mu.Unlock()
	for _, p := range list {
		t.cancelOne(p)
	}
	if len(list) == 0 { // a turn may run that nobody asked for, such as one that background work began
		t.agent.running.Go(t.interrupt)
	}
}

func (t *talk) cancelOne(p *ask) {
	t.mu.Lock()
	again := p.cancelled
	p.cancelled = true
	submitted := p.submitted
	t.mu.Unlock()
	if submitted && !again {
		t.interrupt()
	}
}

// interrupt stops the turn that runs, if there is one.
func (t *talk) interrupt() { t.Interrupt(t.ctx) }

// began is told that a turn begins. If the one that ran before was stopped in the place of a prompt that was cancelled, this is the prompt's.
func (t *talk) began() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.waiting {
		if p.submitted && p.cancelled {
			t.agent.running.Go(t.interrupt)
			return
		}
	}
}

// joins is told that a prompt has joined the turn that runs.
func (t *talk) joins(uuid string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.waiting {
		if p.uuid == uuid {
			p.joined = true
		}
	}
}

// settle hands the result of a turn to the prompts that it answers.
func (t *talk) settle(turn string, r event.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.waiting {
		if p.uuid == turn || p.joined {
			select {
			case p.result <- r:
			default:
			}
		}
	}
}

// stopReason says how a turn ended, in the protocol's words. What went wrong with the model is an error.
func (t *talk) stopReason(p *ask, r event.Result) (protocol.StopReason, error) {
	t.mu.Lock()
	cancelled := p.cancelled
	t.mu.Unlock()
	switch {
	case cancelled, strings.HasPrefix(r.TerminalReason, "aborted_"):
		return protocol.StopReasonCancelled, nil
	case r.Subtype == event.ErrorMaxTurns, r.Subtype == event.ErrorMaxBudget:
		return protocol.StopReasonMaxTurnRequests, nil
	case r.StopReason != nil && *r.StopReason == llm.Refusal:
		return protocol.StopReasonRefusal, nil
	case r.IsError:
		text := strings.Join(r.Errors, "\n")
		if r.Result != nil {
			text = *r.Result
		}
		if r.APIErrorStatus != nil && *r.APIErrorStatus == 401 || t.agent.host.Ready() != nil {
			return "", protocol.NewAuthRequired(text)
		}
		return "", fmt.Errorf("%s", text)
	case r.StopReason != nil && *r.StopReason == llm.MaxTokens:
		return protocol.StopReasonMaxTokens, nil
	}
	return protocol.StopReasonEndTurn, nil
}

// Settings of a session that clients show.
const (
	optionMode   = "mode"
	optionModel  = "model"
	optionEffort = "effort"
)

// dial changes a setting. The answer is given, or the settings as they are now.
func (a *agent) dial(id, option, value string, answer any) (any, func(), error) {
	t, err := a.known(id)
	if err != nil {
		return nil, nil, err
	}
	d := map[string]Dial{optionMode: t.Mode, optionModel: t.Model, optionEffort: t.Effort}[option]
	if d.Set == nil {
		return nil, nil, protocol.NewInvalidParams(fmt.Sprintf("there is no setting %q", option))
	}
	if err := d.Set(value); err != nil {
		return nil, nil, protocol.NewInvalidParams(err.Error())
	}
	if answer == nil {
		return map[string]any{"configOptions": t.options()}, func() { t.tellMode(t.Mode.Current()) }, nil
	}
	return answer, func() {
		if option != optionMode { // a change of the mode is told as an event
			t.tell(protocol.SessionUpdate{ConfigOptionUpdate: &protocol.SessionConfigOptionUpdate{SessionUpdate: "config_option_update", ConfigOptions: t.options()}})
		}
	}, nil
}

// opened is what the client learns of a session that it has opened.
func (t *talk) opened() map[string]any {
	modes := protocol.SessionModeState{CurrentModeId: protocol.SessionModeId(t.Mode.Current()), AvailableModes: []protocol.SessionMode{}}
	for _, c := range t.Mode.Choices() {
		modes.AvailableModes = append(modes.AvailableModes, protocol.SessionMode{Id: protocol.SessionModeId(c.Value), Name: c.Name, Description: &c.Help})
	}
	var models []any
	for _, c := range t.Model.Choices() {
		models = append(models, map[string]any{"modelId": c.Value, "name": c.Name, "description": c.Help})
	}
	return map[string]any{"modes": modes, "configOptions": t.options(), "models": map[string]any{"currentModelId": t.Model.Current(), "availableModels": models}}
}

// options are the settings of the session in the protocol's newer form.
func (t *talk) options() []protocol.SessionConfigOption {
	var list []protocol.SessionConfigOption
	for _, o := range []struct {
		id, name string
		category protocol.SessionConfigOptionCategory
		Dial
	}{
		{optionMode, "Mode", protocol.SessionConfigOptionCategoryMode, t.Mode},
		{optionModel, "Model", protocol.SessionConfigOptionCategoryModel, t.Model},
		{optionEffort, "Effort", protocol.SessionConfigOptionCategoryThoughtLevel, t.Effort},
	} {
		var choices protocol.SessionConfigSelectOptionsUngrouped
		if o.Choices != nil {
			for _, c := range o.Choices() {
				choices = append(choices, protocol.SessionConfigSelectOption{Value: protocol.SessionConfigValueId(c.Value), Name: c.Name, Description: &c.Help})
			}
		}
		if len(choices) == 0 {
			continue
		}
		option := protocol.NewSessionConfigOptionSelect(protocol.SessionConfigValueId(o.Current()), protocol.SessionConfigSelectOptions{Ungrouped: &choices})
		option.Select.Id, option.Select.Name, option.Select.Category = protocol.SessionConfigId(o.id), o.name, &o.category
		list = append(list, option)
	}
	return list
}
