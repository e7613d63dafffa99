package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gofer/internal/config"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui"
)

// A setting is a key of the settings, with what may be put there.
type setting struct {
	key, kind, about string
	choices          []string
}

// settingSchema is as much of the schema of the settings as the editor needs.
type settingSchema struct {
	Type        any                      `json:"type"`
	Description string                   `json:"description"`
	Enum        []string                 `json:"enum"`
	Properties  map[string]settingSchema `json:"properties"`
}

// allSettings are the keys that hold one value, and lists and objects as a whole.
func allSettings() []setting {
	var root settingSchema
	if err := json.Unmarshal(config.JSONSchema(), &root); err != nil {
		return nil // a test reads it
	}
	return root.flatten("")
}

func (s settingSchema) flatten(prefix string) []setting {
	var out []setting
	for _, name := range sortedKeys(s.Properties) {
		p := s.Properties[name]
		key := prefix + name
		if len(p.Properties) > 0 {
			out = append(out, p.flatten(key+".")...)
			continue
		}
		if key != "$schema" {
			out = append(out, setting{key: key, kind: fmt.Sprint(p.Type), about: p.Description, choices: p.Enum})
		}
	}
	return out
}

// config shows all settings and lets them be changed.
func (u *uiDesk) config(context.Context, string) tui.Action {
	all := allSettings()
	before := u.e.settings.Current().Settings
	m := &dialogs.Manager{Title: "Settings", Full: true, Load: func() ([]dialogs.Section, error) { return u.settingSections(all), nil }}
	return tui.Action{Dialog: m, Then: func(context.Context) tui.Action {
		now := u.e.settings.Current().Settings
		look, changed := tui.Look{}, false
		if now.Theme != before.Theme {
			look.Theme, changed = now.Theme, true
		}
		if now.UILanguage != before.UILanguage {
			look.Language, changed = now.UILanguage, true
		}
		if vim := now.EditorMode == "vim"; vim != (before.EditorMode == "vim") {
			look.Vim, changed = &vim, true
		}
		if now.ReducedMotion != before.ReducedMotion {
			look.Calm, changed = &now.ReducedMotion, true
		}
		if !changed {
			return tui.Action{}
		}
		return tui.Action{Look: &look}
	}}
}

func (u *uiDesk) settingSections(all []setting) []dialogs.Section {
	snap := u.e.settings.Current()
	set := dialogs.Section{Name: "Set", Intro: "What your settings files say.", Empty: "No file sets anything."}
	every := dialogs.Section{Name: "All", Intro: "Everything that can be set. Space changes it for all projects, p for this project."}
	for _, s := range all {
		v, ok := snap.Value(s.key)
		if !ok {
			continue
		}
		item := u.settingItem(s, v)
		if v.Set {
			set.Items = append(set.Items, item)
		}
		every.Items = append(every.Items, item)
	}
	files := dialogs.Section{Name: "Files", Intro: "Where settings are looked for; the lower ones are stronger."}
	for _, f := range snap.Files() {
		state, tone := "is not there", dialogs.Muted
		if f.Exists {
			state, tone = "is read", dialogs.Good
		}
		files.Items = append(files.Items, dialogs.Item{ID: "file " + f.Path, Name: shortHome(f.Path, u.e.place.home), Detail: f.Layer.String(), State: state, Tone: tone})
	}
	for i, p := range snap.Problems {
		files.Items = append(files.Items, dialogs.Item{ID: fmt.Sprint("problem ", i), Name: p.String(), State: p.Severity.String(), Tone: dialogs.Warn,
			Read: func() (dialogs.Page, error) { return dialogs.Text(p.String()), nil }})
	}
	return []dialogs.Section{every, set, files}
}

func (u *uiDesk) settingItem(s setting, v config.Value) dialogs.Item {
	item := dialogs.Item{ID: s.key, Name: s.key, Detail: firstOf(shortValue(v.JSON), "– "+s.about), State: "default", Tone: dialogs.Muted, Read: func() (dialogs.Page, error) { return u.settingPage(s, v), nil }}
	if v.Set {
		item.State, item.Tone = v.Origin.Layer.String(), dialogs.Info
	}
	if v.Set && v.Origin.Layer == config.Managed {
		return item // nobody overrides it
	}
	for _, to := range []struct {
		key   string
		layer config.Layer
	}{{"space", config.User}, {"p", config.Local}} {
		act, ok := s.change(v, func(value any) error { return u.setSetting(to.layer, s.key, value) })
		if !ok {
			return item
		}
		act.Key = to.key
		if to.layer == config.Local {
			act.Name += " for this project"
		}
		item.Acts = append(item.Acts, act)
	}
	if v.Set && slices.Contains([]config.Layer{config.User, config.Project, config.Local}, v.Origin.Layer) {
		item.Acts = append(item.Acts, dialogs.Act{Key: "d", Name: "take out", Confirm: fmt.Sprintf("Take %s out of %s?", s.key, v.Origin.File),
			Do: func(string) (string, error) {
				return u.say("%s is no longer set there.", s.key), u.afterSetting(u.e.settings.Unset(v.Origin.Layer, s.key))
			}})
	}
	return item
}

// change is how a value of this kind is changed: a switch is turned, a choice goes on to the next, everything else is typed.
func (s setting) change(v config.Value, set func(any) error) (dialogs.Act, bool) {
	said := func(value any) string { return fmt.Sprintf("%s is %v now.", s.key, value) }
	switch {
	case s.kind == "boolean":
		on := string(v.JSON) == "true"
		return dialogs.Act{Name: "switch", Do: func(string) (string, error) { return said(!on), set(!on) }}, true
	case len(s.choices) > 0:
		var now string
		json.Unmarshal(v.JSON, &now) // what is no text is as good as nothing
		next := s.choices[(slices.Index(s.choices, now)+1)%len(s.choices)]
		return dialogs.Act{Name: "next", Do: func(string) (string, error) { return said(next), set(next) }}, true
	case s.kind == "string":
		var now string
		json.Unmarshal(v.JSON, &now)
		return dialogs.Act{Name: "change", Text: s.key, Was: now, Do: func(text string) (string, error) { return said(text), set(text) }}, true
	case s.kind == "integer" || s.kind == "number":
		now := string(v.JSON)
		if now == "null" {
			now = ""
		}
		return dialogs.Act{Name: "change", Text: s.key, Was: now, Do: func(text string) (string, error) {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || s.kind == "integer" && n != float64(int64(n)) {
				return "", fmt.Errorf("%s must be a number, not %q", s.key, text)
			}
			if s.kind == "integer" {
				return said(int64(n)), set(int64(n))
			}
			return said(n), set(n)
		}}, true
	}
	return dialogs.Act{}, false
}

func (u *uiDesk) setSetting(l config.Layer, key string, value any) error {
	return u.afterSetting(u.e.settings.Set(l, key, value))
}

// afterSetting lets a changed setting count. One that was refused when it was read again is an error.
func (u *uiDesk) afterSetting(err error) error {
	if err != nil {
		return err
	}
	defer u.desk.Refresh()
	return u.e.reloadRules()
}

func shortValue(raw json.RawMessage) string {
	text := string(raw)
	if text == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return text
}

// settingPage tells all about a setting.
func (u *uiDesk) settingPage(s setting, v config.Value) dialogs.Page {
	return func(c screen.Canvas) []string {
		out := append(screen.Wrap(screen.Clean(s.about), c.Width), "")
		add := func(name, text string) { out = append(out, twoColumns(c, name, screen.Clean(text))...) }
		var pretty strings.Builder
		enc := json.NewEncoder(&pretty)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		enc.Encode(v.JSON)
		add("Value", strings.TrimSpace(pretty.String()))
		if len(s.choices) > 0 {
			add("May be", strings.Join(s.choices, ", "))
		}
		if v.Set {
			add("From", v.Origin.String())
		} else {
			add("From", "default")
		}
		for _, past := range v.Overrode {
			add("Overrides", shortValue(past.JSON)+" in "+past.Origin.String())
		}
		for _, item := range v.Items {
			add("Item", shortValue(item.JSON)+" in "+item.Origin.String())
		}
		return out
	}
}
