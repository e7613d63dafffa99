package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gofer/internal/config"
	"gofer/internal/llm/catalog"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/tui"
)

// setEffort changes how hard the model thinks, from the next request on.
func (b *brain) setEffort(level string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.effort = level
}

// allowedModels are the models that may be chosen, and that whoever answers can be expected to have: another server than the provider's
// own may have any.
func (e *engine) allowedModels() []catalog.Model {
	set := e.settings.Current().Settings
	anywhere := environment(e.world, e.settings.Current())("ANTHROPIC_BASE_URL") != ""
	return slices.DeleteFunc(slices.Clone(e.brain.catalog.All()), func(m catalog.Model) bool {
		_, described := set.Models[m.ID]
		return !mayChoose(m, set.AvailableModels) || !anywhere && !described && !strings.HasPrefix(m.ID, "claude")
	})
}

func mayChoose(m catalog.Model, only []string) bool {
	if only == nil {
		return true
	}
	return slices.ContainsFunc(only, func(name string) bool { return name == m.ID || slices.Contains(m.Aliases, name) })
}

// pickModel changes the model, and keeps the choice for later sessions.
func (e *engine) pickModel(name, effort string) (string, error) {
	m := e.brain.catalog.Lookup(name)
	if only := e.settings.Current().Settings.AvailableModels; !mayChoose(m, only) && name != "default" {
		return "", fmt.Errorf("the model %s may not be used here; these may: %s", name, strings.Join(only, ", "))
	}
	e.brain.setModel(name)
	if err := e.settings.Set(config.User, "model", name); err != nil {
		return "", err
	}
	if effort != "" {
		e.brain.setEffort(effort)
		if err := e.settings.Set(config.User, "effortLevel", effort); err != nil {
			return "", err
		}
	}
	said := "The model is " + m.ID + " now"
	if effort != "" {
		said += ", and thinks with the effort " + effort
	}
	if !m.Known {
		said += "; gofer knows nothing about it, so its limits are guesses"
	}
	return said + ".", nil
}

// model lets the model be chosen.
func (u *uiDesk) model(_ context.Context, name string) tui.Action {
	defer u.desk.Refresh()
	if name != "" {
		said, err := u.e.pickModel(name, "")
		return tui.Action{Print: said, Err: err}
	}
	list, now := u.e.allowedModels(), u.e.brain.info()
	d := &dialogs.Picker{Title: "The model", LevelName: "Effort", Level: u.e.brain.request().Effort, Other: "Another, by its name",
		Levels: func(row int) []string { return list[row].Efforts }}
	for _, m := range list {
		d.Rows = append(d.Rows, dialogs.Row{Name: m.ID, Detail: aboutModel(m), Note: price(m), Tone: dialogs.Muted, Now: m.ID == now.ID})
	}
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if d.Chosen < 0 {
			return tui.Action{}
		}
		name := d.Own
		if d.Chosen < len(list) {
			name = list[d.Chosen].ID
		}
		said, err := u.e.pickModel(name, d.Level)
		u.desk.Refresh()
		return tui.Action{Print: said, Err: err}
	}}
}

func aboutModel(m catalog.Model) string {
	text := dialogs.Tokens(m.Window) + " tokens"
	if len(m.Aliases) > 0 {
		text += ", also " + strings.Join(m.Aliases, ", ")
	}
	return text
}

func price(m catalog.Model) string {
	if m.Price.Input == 0 && m.Price.Output == 0 {
		return ""
	}
	return fmt.Sprintf("$%g in, $%g out", m.Price.Input, m.Price.Output)
}

// effort lets be chosen how hard the model thinks.
func (u *uiDesk) effort(_ context.Context, level string) tui.Action {
	m := u.e.brain.info()
	if len(m.Efforts) == 0 {
		return tui.Action{Print: u.say("The model %s has no levels of effort.", m.ID)}
	}
	set := func(level string) tui.Action {
		if !slices.Contains(m.Efforts, level) {
			return tui.Action{Err: fmt.Errorf("the model %s knows the levels %s, not %q", m.ID, strings.Join(m.Efforts, ", "), level)}
		}
		u.e.brain.setEffort(level)
		u.desk.Refresh()
		return done(u.e.settings.Set(config.User, "effortLevel", level), u.say("The model thinks with the effort %s now.", level))
	}
	if level != "" {
		return set(level)
	}
	d := &dialogs.Picker{Title: u.say("How hard %s thinks", m.ID)}
	for _, l := range m.Efforts {
		d.Rows = append(d.Rows, dialogs.Row{Name: l, Now: l == u.e.brain.request().Effort})
	}
	return tui.Action{Dialog: d, Then: func(context.Context) tui.Action {
		if d.Chosen < 0 {
			return tui.Action{}
		}
		return set(m.Efforts[d.Chosen])
	}}
}
