package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/guard"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/tui"
)

// permissions shows the rules and folders, and lets them be changed.
func (u *uiDesk) permissions(ctx context.Context, _ string) tui.Action {
	return tui.Action{Dialog: &dialogs.Manager{Title: "Permissions", Load: func() ([]dialogs.Section, error) { return u.ruleSections(ctx), nil }}}
}

func (u *uiDesk) ruleSections(ctx context.Context) []dialogs.Section {
	list := []dialogs.Section{
		u.ruleSection(ctx, guard.Allow, "Allow", "Runs without asking. Enter a rule such as Bash(go test:*) or Edit(src/**)."),
		u.ruleSection(ctx, guard.Ask, "Ask", "Is always asked for."),
		u.ruleSection(ctx, guard.Deny, "Deny", "Never runs, whatever else allows it."),
		u.folderSection(ctx),
	}
	if denied := u.deniedSection(); len(denied.Items) > 0 {
		list = append(list, denied)
	}
	return list
}

func (u *uiDesk) ruleSection(ctx context.Context, b guard.Behavior, name, intro string) dialogs.Section {
	s := dialogs.Section{Name: name, Intro: intro, Empty: "There is no such rule."}
	for i, r := range u.e.policy.Policy().Rules.Rules() {
		if r.Behavior != b {
			continue
		}
		item := dialogs.Item{ID: fmt.Sprintf("%s %d %s", name, i, r), Name: r.String(), Detail: r.Warning(), State: ruleOrigin(r, u.e.place.home), Tone: dialogs.Muted}
		if removable(r.Source) {
			item.Acts = []dialogs.Act{{Key: "d", Name: "delete", Confirm: u.say("Delete %s (%s)?", r, u.say(sourceWord(r.Source))), Do: func(string) (string, error) {
				return u.say("The rule %s is gone.", r), u.changeRule(ctx, guard.RemoveRules, b, r, r.Source)
			}}}
		}
		s.Items = append(s.Items, item)
	}
	for _, to := range []struct {
		key, name string
		source    guard.Source
	}{{"a", "add for this project", guard.FromLocal}, {"u", "add for all projects", guard.FromUser}, {"s", "add for this session", guard.FromSession}} {
		s.Acts = append(s.Acts, dialogs.Act{Key: to.key, Name: to.name, Text: "Rule", Do: func(text string) (string, error) {
			r, err := guard.ParseRule(text)
			if err != nil {
				return "", err
			}
			said := u.say("The rule %s counts now.", r)
			if w := r.Warning(); w != "" {
				said += " But: " + w
			}
			return said, u.changeRule(ctx, guard.AddRules, b, r, to.source)
		}})
	}
	return s
}

// ruleOrigin says where a rule stands.
func ruleOrigin(r guard.Rule, home string) string {
	if r.Origin != "" {
		return shortHome(r.Origin, home)
	}
	return sourceWord(r.Source)
}

// sourceWord is what people call a source of rules.
func sourceWord(s guard.Source) string {
	switch s {
	case guard.FromSession:
		return "this session"
	case guard.FromLocal:
		return "this project"
	case guard.FromProject:
		return "this project, for all"
	case guard.FromUser:
		return "everywhere"
	}
	return string(s)
}

// removable are the sources that a person can change here.
func removable(s guard.Source) bool {
	return slices.Contains([]guard.Source{guard.FromSession, guard.FromLocal, guard.FromProject, guard.FromUser}, s)
}

// changeRule adds or removes a rule, in the session and where it is kept.
func (u *uiDesk) changeRule(ctx context.Context, kind guard.UpdateType, b guard.Behavior, r guard.Rule, where guard.Source) error {
	err := u.e.applyUpdates(ctx, []guard.Update{{Type: kind, Behavior: &b, Rules: []guard.RuleValue{{ToolName: r.Tool, RuleContent: r.Content}}, Destination: where}})
	if err == nil && where != guard.FromSession {
		err = u.e.reloadRules()
	}
	return err
}

// reloadRules makes the rules count that stand in the files now.
func (e *engine) reloadRules() error {
	if _, err := e.settings.Reload(); err != nil {
		return err
	}
	base, err := e.guardBase()
	if err != nil {
		return err
	}
	e.policy.SetBase(base)
	return nil
}

func (u *uiDesk) folderSection(ctx context.Context) dialogs.Section {
	s := dialogs.Section{Name: "Folders", Intro: "Where files may be read, and changed as the mode says."}
	own := u.e.policy.Change().Dirs
	seen := map[string]bool{}
	for i, dir := range append(u.e.workDirs(), own...) {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		item := dialogs.Item{ID: "dir " + dir, Name: shortHome(dir, u.e.place.home), State: "settings", Tone: dialogs.Muted}
		switch {
		case i == 0:
			item.State = "where gofer was started"
		case slices.Contains(u.e.flags.Dirs.Values, dir):
			item.State = "--add-dir"
		case slices.Contains(own, dir):
			item.State = "this session"
		}
		if i > 0 && item.State != "--add-dir" {
			item.Acts = []dialogs.Act{{Key: "d", Name: "remove", Confirm: u.say("Remove %s?", dir), Do: func(string) (string, error) { return u.say("%s is removed.", dir), u.removeFolder(ctx, dir) }}}
		}
		s.Items = append(s.Items, item)
	}
	s.Acts = []dialogs.Act{
		{Key: "a", Name: "add for this session", Text: "Folder", Do: func(dir string) (string, error) {
			return u.say("%s belongs to the working folders now.", dir), u.addFolder(ctx, expandHome(dir, u.e.place.home), false)
		}},
		{Key: "p", Name: "add for this project", Text: "Folder", Do: func(dir string) (string, error) {
			return u.say("%s belongs to the working folders now.", dir), u.addFolder(ctx, expandHome(dir, u.e.place.home), true)
		}},
	}
	return s
}

// addFolder lets the session work in another folder, and keeps it if it is to be kept.
func (u *uiDesk) addFolder(ctx context.Context, dir string, keep bool) error {
	if err := checkFolder(dir); err != nil {
		return err
	}
	where := guard.FromSession
	if keep {
		where = guard.FromLocal
	}
	return u.e.applyUpdates(ctx, []guard.Update{{Type: guard.AddDirectories, Directories: []string{dir}, Destination: where}})
}

func (u *uiDesk) removeFolder(ctx context.Context, dir string) error {
	var updates []guard.Update
	for _, where := range []guard.Source{guard.FromSession, guard.FromLocal, guard.FromProject, guard.FromUser} {
		updates = append(updates, guard.Update{Type: guard.RemoveDirectories, Directories: []string{dir}, Destination: where})
	}
	if err := u.e.applyUpdates(ctx, updates); err != nil {
		return err
	}
	return u.e.reloadRules()
}

// deniedSection lists what was not let through.
func (u *uiDesk) deniedSection() dialogs.Section {
	s := dialogs.Section{Name: "Denied", Intro: "Calls of this session that were not let through."}
	for i, d := range slices.Backward(u.e.denials.Denials()) {
		input := string(d.ToolInput)
		s.Items = append(s.Items, dialogs.Item{ID: fmt.Sprint("denied ", i), Name: d.ToolName, Detail: strings.TrimSpace(input),
			Read: func() (dialogs.Page, error) { return dialogs.Text(input), nil }})
	}
	return s
}

func checkFolder(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", dir)
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s: write the whole path", dir)
	}
	return nil
}
