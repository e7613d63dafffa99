package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gofer/internal/config"
	"gofer/internal/extend/mcp"
	"gofer/internal/guard"
	"gofer/internal/guard/trust"
	"gofer/internal/llm"
	"gofer/internal/tool/person"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui"
)

// A uiPerson is the person in front of the terminal UI, as the session asks them.
type uiPerson struct {
	desk    tui.Desk
	place   place
	waiting atomic.Int32 // questions that did not come through the gate and have no answer yet
	engine  atomic.Pointer[engine]

	askedTrust atomic.Bool // whether the folder is trusted was asked already
	declined   sync.Map    // folders that the person did not want to trust
}

// newUIPerson makes the person behind a desk. seat is to be called with the engine as soon as there is one.
func newUIPerson(desk tui.Desk, p place) *uiPerson { return &uiPerson{desk: desk, place: p} }

func (u *uiPerson) seat(e *engine) { u.engine.Store(e) }

// people are all ways in which the engine can ask.
func (u *uiPerson) people() people {
	return people{watched: true, asker: guard.AskFunc(u.permission), askTrust: u.trust, elicit: u.elicit}
}

// askBeside shows a dialog for a question that did not come through the gate, which counts its own.
func (u *uiPerson) askBeside(ctx context.Context, d screen.Dialog) error {
	u.waiting.Add(1)
	defer u.waiting.Add(-1)
	return u.desk.Ask(ctx, d)
}

// behind is how many questions wait behind the one that is shown.
func (u *uiPerson) behind() int {
	n := int(u.waiting.Load())
	if e := u.engine.Load(); e != nil {
		n += e.denials.Waiting()
	}
	return n - 1
}

func (u *uiPerson) trust(dir string, s trust.State, surfaces []string) bool {
	u.askedTrust.Store(true)
	if _, no := u.declined.Load(dir); no && s.Verdict != trust.Changed {
		return false // who said no is not asked again when a session begins anew
	}
	d := &dialogs.Trust{Dir: dir, Surfaces: surfaces}
	if s.Verdict == trust.Changed {
		d.Changed = s.Changed
	}
	if u.askBeside(context.Background(), d) != nil {
		return false
	}
	if !d.Accepted {
		u.declined.Store(dir, true)
	}
	return d.Accepted
}

// permission asks for a call.
func (u *uiPerson) permission(ctx context.Context, r guard.Request) (guard.Answer, error) {
	switch r.Tool {
	case person.AskName:
		return u.questions(ctx, r)
	case person.ExitPlanName:
		return u.plan(ctx, r)
	}
	d := u.permissionDialog(r)
	if err := u.desk.Ask(ctx, d); err != nil {
		return guard.Answer{}, unanswered(ctx, err)
	}
	switch d.Verdict {
	case dialogs.Once:
		return guard.Answer{Allow: true}, nil
	case dialogs.Always:
		where := scopeSources()[min(d.Scope, len(scopeSources())-1)]
		if where == guard.FromLocal || where == guard.FromProject {
			u.trustForRules(ctx)
		}
		return guard.Answer{Allow: true, Updates: kept(r.Suggestions, where)}, nil
	case dialogs.Interrupt:
		return guard.Answer{Interrupt: true}, nil
	}
	return guard.Answer{Message: refusal(d.Feedback)}, nil
}

// trustForRules asks for trust in the folder, once, before the first rule is kept in it: in later sessions the rules of a folder count only
// if it is trusted, and a rule that was just given is to be one of them.
func (u *uiPerson) trustForRules(ctx context.Context) {
	if u.askedTrust.Swap(true) {
		return
	}
	keeper := trust.New(config.OpenState(u.place.config, u.place.chosen, u.place.home), u.place.home)
	if state, err := keeper.Check(u.place.cwd, nil); err == nil && state.Verdict == trust.Trusted {
		return
	}
	d := &dialogs.Trust{Dir: u.place.cwd}
	if u.desk.Ask(ctx, d) != nil || !d.Accepted {
		return
	}
	// Nothing of the folder runs by itself, or the question would have come at the start; what comes to it later is asked for again.
	if err := keeper.Accept(u.place.cwd, nil); err != nil {
		u.desk.Note("warning", "The trust in this folder could not be kept: "+err.Error())
	}
}

// unanswered tells a question that was taken away from one that nobody answered.
func unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(guard.ErrNoAnswer, err)
}

// refusal is what the model reads when a person says no with words.
func refusal(feedback string) string {
	if feedback == "" {
		return ""
	}
	return "The user did not allow this call, and says: " + feedback
}

func (u *uiPerson) permissionDialog(r guard.Request) *dialogs.Permission {
	d := &dialogs.Permission{Tool: r.Tool, Title: r.Title, Agent: u.agent(r.AgentID), Why: u.shortPaths(r.Decision.Reason), Waiting: u.behind, Body: u.preview(r)}
	if showsCommand(r) {
		d.Title = "" // the command is there as it is
	}
	if rule := r.Decision.Rule; rule != nil {
		d.Origin = rule.String() + ", " + firstOf(rule.Origin, string(rule.Source))
	} else if r.Mode != "" && r.Mode != guard.Default {
		d.Origin = "mode " + string(r.Mode)
	}
	for _, p := range r.Decision.Parts {
		part := dialogs.Part{Text: p.Text, Depth: p.Depth, Asks: p.Behavior != guard.Allow, Reason: u.shortPaths(p.Reason)}
		d.Parts = append(d.Parts, part)
	}
	movable := false
	for _, s := range r.Suggestions {
		switch s.Type {
		case guard.AddRules:
			movable = true
			for _, rule := range s.Rules {
				d.Rules = append(d.Rules, rule.String())
			}
		case guard.AddDirectories:
			movable = true
			d.Rules = append(d.Rules, "folder "+strings.Join(s.Directories, ", "))
		case guard.SetMode:
			d.Means = "accept all edits in this session"
		}
	}
	if movable {
		d.Scopes = u.scopes()
		d.Scope = max(slices.Index(scopeSources(), r.Suggestions[0].Destination), 0)
	}
	return d
}

// showsCommand reports whether the title of a call is nothing but the beginning of its command.
func showsCommand(r guard.Request) bool {
	var in struct{ Command string }
	return json.Unmarshal(r.Input, &in) == nil && in.Command != "" && strings.HasPrefix(in.Command, strings.TrimSuffix(r.Title, "…"))
}

// shortPaths takes what everybody knows out of the paths in a text: the working directory, and the home.
func (u *uiPerson) shortPaths(text string) string {
	slash := string(filepath.Separator)
	text = strings.ReplaceAll(text, u.place.cwd+slash, "")
	return strings.ReplaceAll(text, u.place.home+slash, "~"+slash)
}

// scopeSources are where "always" may be kept, in the order in which the dialog offers them.
func scopeSources() []guard.Source {
	return []guard.Source{guard.FromSession, guard.FromLocal, guard.FromUser, guard.FromProject}
}

func (u *uiPerson) scopes() []dialogs.Scope {
	project := func(name string) string { return filepath.Join(".claude", name) }
	return []dialogs.Scope{
		{Name: "this session"}, {Name: "this project", Kept: project("settings.local.json")},
		{Name: "everywhere", Kept: shortHome(filepath.Join(u.place.config, "settings.json"), u.place.home)},
		{Name: "this project, for all", Kept: project("settings.json")},
	}
}

func shortHome(path, home string) string {
	if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
		return filepath.Join("~", rel)
	}
	return path
}

// kept are the suggestions, to be kept where the person wants them. A mode counts for the session only.
func kept(list []guard.Update, where guard.Source) []guard.Update {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Type != guard.SetMode {
			out[i].Destination = where
		}
	}
	return out
}

// agent is what to call the agent that asks.
func (u *uiPerson) agent(id string) string {
	e := u.engine.Load()
	if id == "" || e == nil {
		return id
	}
	if j, ok := e.jobs.Get(id); ok && j.Description != "" {
		return j.Description
	}
	return id
}

// plan asks whether a plan is to be carried out.
func (u *uiPerson) plan(ctx context.Context, r guard.Request) (guard.Answer, error) {
	var in struct {
		Plan           string
		AllowedPrompts []person.Kind
	}
	if err := json.Unmarshal(r.Input, &in); err != nil {
		return guard.Answer{}, err
	}
	d := &dialogs.Plan{Waiting: u.behind}
	if e := u.engine.Load(); e != nil {
		if in.Plan == "" {
			in.Plan, _ = e.plan.Read() // the tool has looked that it is there
		}
	}
	d.Body = markdownPage(in.Plan)
	for _, k := range in.AllowedPrompts {
		d.Kinds = append(d.Kinds, k.Prompt)
	}
	if err := u.desk.Ask(ctx, d); err != nil {
		return guard.Answer{}, unanswered(ctx, err)
	}
	mode := func(m guard.Mode) []guard.Update {
		return []guard.Update{{Type: guard.SetMode, Mode: m, Destination: guard.FromSession}}
	}
	switch d.Verdict {
	case dialogs.PlanEdits:
		return guard.Answer{Allow: true, Updates: mode(guard.AcceptEdits)}, nil
	case dialogs.PlanManual:
		return guard.Answer{Allow: true, Updates: mode(guard.Default)}, nil
	case dialogs.PlanInterrupt:
		return guard.Answer{Interrupt: true, Message: "The user did not approve the plan and stopped the turn. Plan mode stays on."}, nil
	}
	text := "The user wants the plan to be worked on further. Plan mode stays on."
	if d.Feedback != "" {
		text += " They say: " + d.Feedback
	}
	return guard.Answer{Message: text}, nil
}

// questions puts the model's questions to the person, and the answers into the input.
func (u *uiPerson) questions(ctx context.Context, r guard.Request) (guard.Answer, error) {
	var in map[string]any
	var asked struct {
		Questions []struct {
			Question, Header string
			MultiSelect      bool
			Options          []dialogs.Option
		}
	}
	if err := errors.Join(json.Unmarshal(r.Input, &in), json.Unmarshal(r.Input, &asked)); err != nil {
		return guard.Answer{}, err
	}
	d := &dialogs.Questions{Agent: u.agent(r.AgentID), Waiting: u.behind}
	for _, q := range asked.Questions {
		d.Questions = append(d.Questions, dialogs.Question{Text: q.Question, Header: q.Header, Multi: q.MultiSelect, Options: q.Options})
	}
	if err := u.desk.Ask(ctx, d); err != nil {
		return guard.Answer{}, unanswered(ctx, err)
	}
	if !d.Answered {
		return guard.Answer{Interrupt: true, Message: "The user did not want to answer the questions."}, nil
	}
	answers, notes := map[string]string{}, map[string]any{}
	for i, q := range d.Questions {
		answers[q.Text] = d.Answer(i)
		if note := d.Replies[i].Note; note != "" {
			answers[q.Text] += " (" + note + ")"
			notes[q.Text] = map[string]string{"notes": note}
		}
	}
	in["answers"] = answers
	if len(notes) > 0 {
		in["annotations"] = notes
	}
	changed, err := llm.Marshal(in)
	return guard.Answer{Allow: true, UpdatedInput: changed}, err
}

// elicit lets a server ask the person.
func (u *uiPerson) elicit(ctx context.Context, q mcp.Elicitation) (mcp.Answer, error) {
	entries, err := dialogs.Entries(q.Schema)
	if err != nil {
		u.desk.Note("warning", fmt.Sprintf("%s wanted to ask something, but %v", q.Server, err))
		return mcp.Answer{Action: "decline"}, nil
	}
	d := &dialogs.Form{Title: q.Server, Message: q.Message, Link: q.URL, Entries: entries, Waiting: u.behind}
	if err := u.askBeside(ctx, d); err != nil {
		return mcp.Answer{Action: "cancel"}, nil
	}
	return mcp.Answer{Action: d.Action, Content: d.Values}, nil
}
