package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"gofer/internal/agents"
	"gofer/internal/compact"
	"gofer/internal/event"
	"gofer/internal/extend/skill"
	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/llm"
	"gofer/internal/tool"
	"gofer/internal/tool/team"
)

// mostSkillText bounds what one skill may put into the conversation, with the output of its commands.
const mostSkillText = 200_000

// An activeSkill is a skill whose limits hold: until the turn ends, or the agent that uses it.
type activeSkill struct {
	model, effort string
	denied        []guard.Rule // in an agent that was started; the main agent's are lent to the policy
	ends          []func()
}

// An invokedSkill is one that the model was given the text of.
type invokedSkill struct{ name, text string }

// skillHand uses skills for one agent.
type skillHand struct {
	e    *engine
	desk desk
}

// skillTools is the tool by which an agent uses skills.
func (e *engine) skillTools(d desk) []*tool.Tool {
	if !e.skillsOn() {
		return nil
	}
	return []*tool.Tool{skill.Tool(skillHand{e, d})}
}

// Find returns a skill that the model may use.
func (h skillHand) Find(name string) (*skill.Skill, error) {
	s, err := h.e.skillCatalog().Find(name)
	switch {
	case err != nil:
		return nil, err
	case !s.ForModel || h.e.skillSetting(s) == "user-invocable-only":
		return nil, skill.ErrForUsers
	case !h.e.mayUse(s):
		return nil, fmt.Errorf("the skill %q is switched off in this session; go on without it", s.Name)
	}
	return s, nil
}

// Use gives the model the text of a skill, or lets an agent do what it says.
func (h skillHand) Use(ctx context.Context, s *skill.Skill, args string, c tool.Call) (tool.Result, error) {
	e := h.e
	if s.Fork {
		return e.forkSkill(ctx, h.desk, s, args, c)
	}
	text, err := e.loadSkill(ctx, h.desk.owner, s, args)
	if err != nil {
		return tool.Result{}, err
	}
	res := tool.Text(fmt.Sprintf("The skill %s is loaded. Its text follows.", s.Name))
	res.Follow = []string{text}
	res.Data = map[string]any{"success": true, "commandName": s.Name, "allowedTools": s.Allowed, "model": s.Model}
	res.Display.Summary = "Loaded the skill " + s.Name
	return res, nil
}

// loadSkill makes a skill active in an agent and returns its text as the model reads it.
func (e *engine) loadSkill(ctx context.Context, owner string, s *skill.Skill, args string) (string, error) {
	end, err := e.activate(owner, s)
	if err != nil {
		return "", err
	}
	text, err := e.skillText(ctx, owner, s, args)
	if err != nil {
		end()
		return "", err
	}
	e.usedSkill(ctx, s)
	if owner == "" {
		e.skills.mu.Lock()
		e.skills.invoked = append(slices.DeleteFunc(e.skills.invoked, func(i invokedSkill) bool { return i.name == s.Name }), invokedSkill{s.Name, text})
		e.skills.mu.Unlock()
	}
	return text, nil
}

// usedSkill counts the use.
func (e *engine) usedSkill(ctx context.Context, s *skill.Skill) {
	if e.flags.NoPersist {
		return
	}
	if err := e.skillTally().Count(context.WithoutCancel(ctx), s.Name, time.Now()); err != nil {
		e.emit(event.Info{Level: "warning", Content: "The use of the skill could not be counted: " + err.Error()})
	}
}

// skillText is the text of a skill with everything put into it.
func (e *engine) skillText(ctx context.Context, owner string, s *skill.Skill, args string) (string, error) {
	var text string
	var err error
	if s.Fetch != nil {
		text, err = s.Fetch(ctx, args) // a stranger's words: nothing in them is run or replaced
	} else {
		if text, err = s.Text(); err == nil {
			x := skill.Expansion{Args: args, Session: e.place.session}
			if !e.settings.Current().Settings.DisableSkillShell {
				x.Run = e.skillShell(owner, s)
			}
			text, err = s.Expand(ctx, text, x)
		}
	}
	if err != nil {
		return "", err
	}
	if len(text) > mostSkillText {
		text = tool.Prefix(text, mostSkillText) + "\n(The text of the skill is cut here.)"
	}
	if s.Dir != "" && !s.Command {
		text = fmt.Sprintf("(The files of the skill %s are in %s.)\n\n%s", s.Name, s.Dir, strings.TrimLeft(text, "\n"))
	}
	return text, nil
}

// skillHandle is the way of a command in the text of a skill: the same hooks and the same gate as those of every call.
func (e *engine) skillHandle(p agents.Post, gate tool.Middleware) tool.Handler {
	return tool.Chain(tool.Run, hook.Wrap(p.Hooks, nil), gate, e.watchFiles)
}

// skillShell runs the commands in the text of a skill as calls of the agent.
func (e *engine) skillShell(owner string, s *skill.Skill) func(context.Context, string) (string, error) {
	return func(ctx context.Context, command string) (string, error) {
		e.skills.mu.Lock()
		p, known := e.skills.posts[owner]
		handle := e.skills.handles[owner]
		e.skills.mu.Unlock()
		if !known {
			return "", errors.New("there is no shell here yet")
		}
		name := "Bash"
		if s.Shell == "powershell" {
			name = "PowerShell"
		}
		t, err := p.Tools().Find(name)
		if err != nil {
			return "", fmt.Errorf("it needs the tool %s, which is not there", name)
		}
		input, err := json.Marshal(map[string]string{"command": command, "description": "For the skill " + s.Name})
		if err != nil {
			return "", err
		}
		c, err := t.Bind("skill_"+uuid.NewString(), input)
		if err == nil {
			err = c.Check(ctx)
		}
		if err != nil {
			return "", err
		}
		res, err := handle(ctx, c)
		switch {
		case err != nil && (errors.Is(err, tool.ErrDenied) || ctx.Err() != nil):
			return "", err
		case err != nil:
			return "(" + err.Error() + ")", nil // it failed, which is something the skill may want to know
		}
		return res.Text(), nil
	}
}

// activate makes what a skill brings along hold in an agent. end takes it back; else it holds until the turn of the agent is over.
func (e *engine) activate(owner string, s *skill.Skill) (end func(), err error) {
	rules, groups, err := e.skillScope(s)
	if err != nil {
		return nil, err
	}
	a := &activeSkill{model: s.Model, effort: s.Effort}
	if owner == "" {
		a.ends = append(a.ends, e.policy.Lend(rules))
	} else {
		// An agent never may more than the one that started it: what the skill allows does not count, what it denies does.
		a.denied = slices.DeleteFunc(rules, func(r guard.Rule) bool { return r.Behavior != guard.Deny })
	}
	a.ends = append(a.ends, e.hooks.Attach(owner, groups))
	k := &e.skills
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.active == nil {
		k.active = map[string][]*activeSkill{}
	}
	k.active[owner] = append(k.active[owner], a)
	return func() {
		k.mu.Lock()
		k.active[owner] = slices.DeleteFunc(k.active[owner], func(x *activeSkill) bool { return x == a })
		k.mu.Unlock()
		a.end()
	}, nil
}

func (a *activeSkill) end() {
	for _, f := range a.ends {
		f()
	}
}

// endSkills ends all that skills brought along to an agent.
func (e *engine) endSkills(owner string) {
	e.skills.mu.Lock()
	list := e.skills.active[owner]
	delete(e.skills.active, owner)
	if owner != "" {
		delete(e.skills.posts, owner)
		delete(e.skills.handles, owner)
	}
	e.skills.mu.Unlock()
	for _, a := range list {
		a.end()
	}
}

// skillScope reads the rules and hooks of a skill, as far as they count. What cannot be read might be what refuses: then the skill is not used.
func (e *engine) skillScope(s *skill.Skill) (rules []guard.Rule, groups []hook.Group, err error) {
	add := func(texts []string, b guard.Behavior) error {
		for _, text := range texts {
			r, err := guard.ParseRule(text)
			if err != nil {
				return fmt.Errorf("the skill %s cannot be used: %w", s.Name, err)
			}
			r.Behavior, r.Source, r.Root, r.Origin = b, guard.FromCommand, e.place.cwd, "the skill "+s.Name
			rules = append(rules, r)
		}
		return nil
	}
	if err := add(s.Denied, guard.Deny); err != nil {
		return nil, nil, err
	}
	if len(s.Allowed) > 0 {
		if e.rulesCount(s) {
			if err := add(s.Allowed, guard.Allow); err != nil {
				return nil, nil, err
			}
		} else {
			e.warnSkill(s, "what it allows does not count")
		}
	}
	if len(s.Hooks) > 0 {
		if groups, err = hook.Parse(s.Hooks, hook.Source{Name: firstOf(s.File, s.Name), Managed: s.Origin == skill.Managed}); err != nil {
			return nil, nil, fmt.Errorf("the skill %s cannot be used: %w", s.Name, err)
		}
		if !e.hooksCount(s) {
			groups = nil
			e.warnSkill(s, "its hooks do not run")
		}
	}
	return rules, groups, nil
}

// warnSkill tells people that something of a skill waits for trust.
func (e *engine) warnSkill(s *skill.Skill, what string) {
	k := &e.skills
	k.mu.Lock()
	if k.warned == nil {
		k.warned = map[string]bool{}
	}
	known := k.warned[s.File+what]
	k.warned[s.File+what] = true
	k.mu.Unlock()
	if known {
		return
	}
	why := "this folder is not trusted yet, or the skill has changed since. Run gofer in it from a terminal once and accept it."
	if !ofProject(s.Origin) {
		why = "managed settings let only managed rules count."
	}
	e.warnPeople(fmt.Sprintf("%s: %s, because %s", firstOf(s.File, s.Name), what, why))
}

// skilled is a request as the active skill wants it: to another model, or with another effort.
func (e *engine) skilled(req llm.Request) llm.Request {
	e.skills.mu.Lock()
	model, effort := "", ""
	for _, a := range e.skills.active[""] {
		model, effort = firstOf(a.model, model), firstOf(a.effort, effort)
	}
	e.skills.mu.Unlock()
	if model == "" && effort == "" {
		return req
	}
	if model != "" && e.brain.catalog.Lookup(model).ID != req.Model {
		e.brain.foreign() // thinking of one model is not for another
	}
	return e.brain.requestTo(firstOf(model, e.brain.given()), effort)
}

// foreign notes that replies of other models stand in the conversation.
func (b *brain) foreign() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.switched = true
}

// A starter starts agents with a changed definition.
type starter interface {
	StartAs(ctx context.Context, o team.Order, call tool.Call, change func(*agents.Definition)) (tool.Result, error)
}

// forkSkill lets an agent of its own do what a skill says. Only its result comes back.
func (e *engine) forkSkill(ctx context.Context, d desk, s *skill.Skill, args string, c tool.Call) (tool.Result, error) {
	crew, ok := d.team.(starter)
	if !ok {
		return tool.Result{}, fmt.Errorf("the skill %s needs an agent of its own, and there are none here", s.Name)
	}
	rules, groups, err := e.skillScope(s)
	if err != nil {
		return tool.Result{}, err
	}
	if d.owner == "" {
		defer e.policy.Lend(rules)()
	}
	text, err := e.skillText(ctx, d.owner, s, args)
	if err != nil {
		return tool.Result{}, err
	}
	e.usedSkill(ctx, s)
	order := team.Order{Description: "/" + s.Name, Prompt: text, Type: firstOf(s.Agent, agents.General), Model: s.Model}
	return crew.StartAs(ctx, order, c, func(def *agents.Definition) {
		def.Hooks = slices.Concat(def.Hooks, groups)
		def.Effort = firstOf(s.Effort, def.Effort)
		for _, r := range rules {
			switch {
			case r.Behavior != guard.Deny:
			case r.Content == "":
				def.Without = append(slices.Clip(def.Without), r.Tool)
			default:
				def.Denied = append(slices.Clip(def.Denied), r)
			}
		}
	})
}

// preloaded are the texts of the skills that an agent begins with.
func (e *engine) preloaded(ctx context.Context, names []string, owner string) []string {
	var texts []string
	for _, name := range names {
		s, err := e.skillCatalog().Find(name)
		if err == nil && (!s.ForModel || e.skillSetting(s) == "off") {
			err = fmt.Errorf("the skill %q is not for models", name)
		}
		text := ""
		if err == nil {
			text, err = e.skillText(ctx, owner, s, "")
		}
		if err != nil {
			e.emit(event.Info{Level: "warning", Content: fmt.Sprintf("A skill of the agent is not loaded: %v.", err)})
			continue
		}
		texts = append(texts, fmt.Sprintf("The skill %s, which is loaded already:\n%s", s.Name, strings.TrimSpace(text)))
	}
	return texts
}

// agentSkills is what an agent that was started is told of skills.
func (e *engine) agentSkills(d *agents.Definition, p agents.Post) []string {
	if !e.skillsOn() || len(d.Skills) == 0 {
		return nil
	}
	e.gateOf(p) // its loop has not begun yet; now the commands of its skills have their way
	return e.preloaded(e.ctx, d.Skills, p.ID)
}

// invokedSkills are the skills that the model is told again after a compaction, the newest first.
func (e *engine) invokedSkills() []compact.Part {
	e.skills.mu.Lock()
	defer e.skills.mu.Unlock()
	var parts []compact.Part
	for _, i := range slices.Backward(e.skills.invoked) {
		parts = append(parts, compact.Part{Kind: compact.Skill, Name: i.name, Text: i.text})
	}
	return parts
}
