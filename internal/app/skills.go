package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/agents"
	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/extend/skill"
	"gofer/internal/guard"
	"gofer/internal/guard/trust"
	"gofer/internal/llm"
	"gofer/internal/prompt"
	"gofer/internal/tool"
	"gofer/internal/work/job"
)

// skillery is the skills of a session.
type skillery struct {
	once    sync.Once
	catalog *skill.Catalog
	hooked  bool              // hooks of the project's skills may run
	seen    map[string]string // what the project's skills bring along, by file, as it was when trust was decided

	mu      sync.Mutex
	posts   map[string]agents.Post  // of the agents that may use skills, by id
	handles map[string]tool.Handler // through which they run commands
	only    []string                // what the program that drives gofer lets the model use; nil: all
	told    map[string]bool         // what the model was told of
	active  map[string][]*activeSkill
	invoked []invokedSkill // newest last
	warned  map[string]bool
}

// skillsOn says whether there are skills in this run at all.
func (e *engine) skillsOn() bool {
	return !e.flags.NoSlash && (!e.flags.Bare || len(e.flags.Dirs.Values) > 0 || len(e.allPlugins()) > 0)
}

// skillCatalog is all skills that there are. It reads nothing before it is asked something.
func (e *engine) skillCatalog() *skill.Catalog {
	s := &e.skills
	s.once.Do(func() {
		o := skill.Options{Places: e.skillPlaces(), Bundled: e.bundledSkills(), More: e.serverSkills, Cwd: e.place.cwd}
		if !e.flags.Bare && !e.flags.SafeMode && e.readsSource("project") {
			o.Root = e.place.configRoot()
		}
		s.catalog = skill.New(o)
	})
	return s.catalog
}

// openSkills lets what skills brought along to agents end with them.
func (e *engine) openSkills() {
	if !e.skillsOn() {
		return
	}
	if len(e.pluginSkills()) > 0 {
		e.skillCatalog().Replace(e.skillPlaces()...) // it may have been read before there were plugins
	}
	e.closers = append(e.closers, e.jobs.Watch(func(j job.Job) {
		if j.Kind == job.Agent && j.State.Ended() {
			e.endSkills(j.ID)
		}
	}))
}

// skillPlaces are all folders that may have skills or commands.
func (e *engine) skillPlaces() []skill.Place {
	var list []skill.Place
	add := func(origin skill.Origin, dir, within string) {
		list = append(list, skill.Place{Origin: origin, Dir: filepath.Join(dir, "skills"), Within: within},
			skill.Place{Origin: origin, Dir: filepath.Join(dir, "commands"), Within: within, Commands: true})
	}
	for _, dir := range config.ManagedDirs() {
		add(skill.Managed, filepath.Join(dir, ".claude"), "")
		add(skill.Managed, dir, "")
	}
	if !e.flags.Bare && e.readsSource("user") {
		add(skill.User, e.place.config, "")
	}
	if !e.flags.Bare && !e.flags.SafeMode && e.readsSource("project") {
		root := prompt.ProjectRoot(e.place.configRoot())
		for dir := e.place.configRoot(); ; dir = filepath.Dir(dir) {
			add(skill.Project, filepath.Join(dir, ".claude"), root)
			if dir == root || dir == filepath.Dir(dir) || !strings.HasPrefix(dir, root) {
				break
			}
		}
	}
	if !e.flags.SafeMode {
		for _, dir := range e.flags.Dirs.Values {
			if abs, err := filepath.Abs(expandHome(dir, e.place.home)); err == nil {
				add(skill.Extra, filepath.Join(abs, ".claude"), abs)
			}
		}
	}
	return append(list, e.pluginSkills()...)
}

// bundledSkills come with gofer.
func (e *engine) bundledSkills() []*skill.Skill {
	if e.flags.Bare {
		return nil
	}
	file := prompt.ProjectFile(prompt.ProjectRoot(e.place.cwd))
	return append(skill.BundledSkills(), skill.Made(skill.Skill{Name: "init", Description: "Look at the project and write its instruction file.", ForUser: true},
		prompt.InitPrompt(e.told.language, file)))
}

// serverSkills are the prompts of MCP servers.
func (e *engine) serverSkills() []*skill.Skill {
	hub := e.servers.hub
	if hub == nil {
		return nil
	}
	var list []*skill.Skill
	for _, c := range hub.Commands() {
		list = append(list, &skill.Skill{Name: c.Name, Description: c.Description, Hint: c.Hint(), Origin: skill.MCP, ForModel: true,
			Fetch: func(ctx context.Context, args string) (string, error) {
				blocks, err := hub.RunCommand(ctx, c, strings.Fields(args))
				return llm.Message{Blocks: blocks}.Text(), err
			}})
	}
	return list
}

// skillSetting says how the settings let a skill be seen: on, name-only, user-invocable-only or off.
func (e *engine) skillSetting(s *skill.Skill) string {
	if e.settings == nil {
		return "on"
	}
	set := &e.settings.Current().Settings
	if s.Origin == skill.Bundled && set.DisableBundledSkills {
		return "off"
	}
	return firstOf(set.SkillOverrides[s.Name], "on")
}

// mayUse says whether the model may use a skill.
func (e *engine) mayUse(s *skill.Skill) bool {
	e.skills.mu.Lock()
	only := e.skills.only
	e.skills.mu.Unlock()
	how := e.skillSetting(s)
	return s.ForModel && how != "off" && how != "user-invocable-only" && (only == nil || slices.Contains(only, s.Name) || s.Title != "" && slices.Contains(only, s.Title))
}

// shownSkills are the skills that the model is told of now.
func (e *engine) shownSkills() []*skill.Skill {
	if !e.skillsOn() {
		return nil
	}
	catalog := e.skillCatalog()
	ruled := slices.ContainsFunc(e.policy.Policy().Rules.Rules(), func(r guard.Rule) bool { return r.Tool == skill.Name && r.Behavior == guard.Deny })
	list := slices.DeleteFunc(catalog.All(), func(s *skill.Skill) bool {
		return !e.mayUse(s) || catalog.Waits(s) || ruled && e.deniedUse(skill.Name, s.Name)
	})
	e.warnOfSkills()
	return list
}

// deniedUse says whether a rule forbids to use something by its name.
func (e *engine) deniedUse(toolName, target string) bool {
	d := guard.Decide(e.policy.Policy(), guard.Facts{Tool: toolName, Access: []tool.Access{{Verb: tool.Use, Target: target}}, Traits: tool.Traits{ReadOnly: true}})
	return d.Behavior == guard.Deny && d.Kind == guard.ByRule
}

// warnOfSkills tells people what is wrong with skills, each thing once.
func (e *engine) warnOfSkills() {
	for _, p := range e.skillCatalog().NewProblems() {
		e.warnPeople(p.String())
	}
}

// warnPeople tells whoever watches the session, and a script on its standard error.
func (e *engine) warnPeople(text string) {
	e.emit(event.Info{Level: "warning", Content: text})
	if e.people.client == nil && !e.people.watched {
		fmt.Fprintln(e.world.Stderr, text)
	}
}

// skillTally counts how often skills are used.
func (e *engine) skillTally() skill.Tally {
	return skill.Tally{File: filepath.Join(e.place.config, "skill-uses.json")}
}

// listSkills tells of skills within the budget of the model's window.
func (e *engine) listSkills(list []*skill.Skill) string {
	if len(list) == 0 {
		return ""
	}
	budget := skill.Budget(e.brain.limits(e.brain.info().ID).Tokens)
	var uses map[string]skill.Use
	if len(list) > 100 { // only a long list may have to leave some out
		uses = e.skillTally().Uses()
	}
	items, now := make([]skill.Item, len(list)), time.Now()
	for i, s := range list {
		items[i] = skill.Item{Skill: s, Brief: e.skillSetting(s) == "name-only", Score: uses[s.Name].Score(now)}
	}
	return skill.Listing(items, budget)
}

const skillsHead = "Skills that the Skill tool loads:\n"

// skillListing tells the main agent which skills there are, and what those say that it begins with.
func (e *engine) skillListing() string {
	if _, err := e.tools.Find(skill.Name); err != nil {
		return ""
	}
	list := e.shownSkills()
	e.markTold(list)
	text := e.listSkills(list)
	if text != "" {
		text = skillsHead + text
	}
	if self := e.agents.self; self != nil {
		for _, loaded := range e.preloaded(e.ctx, self.Skills, "") {
			text += "\n\n" + loaded
		}
	}
	return text
}

// agentSkillListing is the same for an agent that was started.
func (e *engine) agentSkillListing(p agents.Post) string {
	if _, err := p.Tools().Find(skill.Name); err != nil {
		return ""
	}
	if text := e.listSkills(e.shownSkills()); text != "" {
		return skillsHead + text
	}
	return ""
}

// keptSkills is the name under which the skills that the model was told of are recorded, so that a resume tells only of others.
const keptSkills = "skills"

// markTold notes what the model knows of, and returns what is new of it.
func (e *engine) markTold(list []*skill.Skill) (fresh []*skill.Skill) {
	s := &e.skills
	s.mu.Lock()
	if s.told == nil {
		s.told = map[string]bool{}
		var names []string
		if e.resumed != nil && json.Unmarshal([]byte(e.resumed.Kept[keptSkills]), &names) == nil {
			for _, name := range names {
				s.told[name] = true
			}
		}
	}
	for _, one := range list {
		if !s.told[one.Name] {
			s.told[one.Name] = true
			fresh = append(fresh, one)
		}
	}
	var names []string
	for name := range s.told {
		names = append(names, name)
	}
	s.mu.Unlock()
	// What comes with gofer need not be recorded: every session is told of it at its beginning.
	if e.transcript != nil && slices.ContainsFunc(fresh, func(one *skill.Skill) bool { return one.Origin != skill.Bundled }) {
		slices.Sort(names)
		if text, err := json.Marshal(names); err == nil {
			if err := e.transcript.Keep(e.ctx, keptSkills, string(text)); err != nil {
				e.emit(event.Info{Level: "warning", Content: "The skills of the session could not be recorded: " + err.Error()})
			}
		}
	}
	return fresh
}

// remindOfSkills tells the main agent of skills that came later: from a server, a reload, or a file that another agent touched.
func (e *engine) remindOfSkills() {
	if _, err := e.tools.Find(skill.Name); err != nil {
		return
	}
	fresh := slices.DeleteFunc(e.markTold(e.shownSkills()), func(s *skill.Skill) bool { return s.Origin == skill.Bundled })
	if text := e.listSkills(fresh); text != "" {
		e.told.reminders.Add(prompt.Nested, "Further skills that the Skill tool loads:\n"+text)
	}
}

// withSkills puts what skills need around a gate: files that calls touch bring skills to light, and commands in the texts of skills go the way of all
// calls.
func (e *engine) withSkills(p agents.Post, gate tool.Middleware) tool.Middleware {
	if !e.skillsOn() {
		return gate
	}
	s := &e.skills
	s.mu.Lock()
	if s.posts == nil {
		s.posts, s.handles = map[string]agents.Post{}, map[string]tool.Handler{}
	}
	s.posts[p.ID], s.handles[p.ID] = p, e.skillHandle(p, gate)
	s.mu.Unlock()
	return func(next tool.Handler) tool.Handler {
		return gate(func(ctx context.Context, c tool.Call) (tool.Result, error) {
			res, err := next(ctx, c)
			if err != nil || res.IsError {
				return res, err
			}
			for _, a := range c.Access() {
				if a.Verb != tool.Read && a.Verb != tool.Write {
					continue
				}
				if info, statErr := os.Stat(a.Target); statErr != nil || !info.Mode().IsRegular() {
					continue // a search goes through many folders, and says nothing about where the work will be
				}
				if text := e.touchedSkills(p, a.Target); text != "" {
					res.Context = append(slices.Clip(res.Context), text)
				}
			}
			return res, nil
		})
	}
}

// touchedSkills tells of the skills that a file brings to light.
func (e *engine) touchedSkills(p agents.Post, path string) string {
	found := slices.DeleteFunc(e.skillCatalog().Touch(path), func(s *skill.Skill) bool { return !e.mayUse(s) || e.deniedUse(skill.Name, s.Name) })
	e.warnOfSkills()
	if _, err := p.Tools().Find(skill.Name); err != nil || len(found) == 0 {
		return ""
	}
	if p.ID == "" {
		e.skills.mu.Lock()
		for _, s := range found { // one that was told and is replaced by a deeper one is told again
			delete(e.skills.told, s.Name)
		}
		e.skills.mu.Unlock()
		e.markTold(found)
	}
	return "Skills for the files you are at, which the Skill tool loads:\n" + e.listSkills(found)
}

// skillSurfaces are the permissions and hooks that the project's skills bring along: for them it must be trusted.
func (e *engine) skillSurfaces() []trust.Surface {
	if !e.skillsOn() || !slices.ContainsFunc(e.skillPlaces(), func(p skill.Place) bool { return ofProject(p.Origin) && isFolder(p.Dir) }) {
		return nil
	}
	e.skills.seen = map[string]string{}
	for _, s := range e.skillCatalog().All() {
		if ofProject(s.Origin) && !s.Harmless() {
			e.skills.seen[s.File] = bringsAlong(s)
		}
	}
	if len(e.skills.seen) == 0 {
		return nil
	}
	content, err := json.Marshal(e.skills.seen)
	if err != nil {
		return nil
	}
	return []trust.Surface{{Name: "permissions and hooks of skills", Content: content}}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ofProject says whether a skill is a file of the project, which its user may not know.
func ofProject(o skill.Origin) bool { return o == skill.Project || o == skill.Extra }

// bringsAlong is the fingerprint of what a skill brings along besides its text.
func bringsAlong(s *skill.Skill) string {
	text, err := json.Marshal([]any{s.Allowed, s.Hooks})
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// rulesCount and hooksCount say whether what a skill brings along counts: for a file of the project only as far as the folder is trusted, and only if
// it is what was there when that was decided. A run that nobody watches takes hooks, as it takes those of the settings.
func (e *engine) rulesCount(s *skill.Skill) bool {
	if e.settings.Current().Settings.AllowManagedPermissionRulesOnly && s.Origin != skill.Managed {
		return false
	}
	return !ofProject(s.Origin) || e.trusted && e.skills.seen[s.File] == bringsAlong(s)
}

func (e *engine) hooksCount(s *skill.Skill) bool {
	return !ofProject(s.Origin) || e.skills.hooked && (e.askTrust == nil || e.skills.seen[s.File] == bringsAlong(s))
}
