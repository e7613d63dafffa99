package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"gofer/internal/extend/skill"
	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/prompt"
	"gofer/internal/session"
	"gofer/internal/tool"
	"gofer/internal/ui/input"
)

// skillCommands are the skills and commands that a user may type. Those that are used most come first.
func (e *engine) skillCommands() []slashCommand {
	if !e.skillsOn() {
		return nil
	}
	list := []slashCommand{{"skills", "list the skills and commands, where they come from and how large they are", "", e.slashSkills}}
	for _, s := range e.typedSkills() {
		list = append(list, slashCommand{s.Name, s.Description, s.Hint, func(ctx context.Context, args string) (string, []llm.Block, error) {
			return e.typedSkill(ctx, s, args)
		}})
	}
	return list
}

// typedSkills are the skills that a user may type, but for prompts of servers, which are commands of their own.
func (e *engine) typedSkills() []*skill.Skill {
	list := slices.DeleteFunc(e.skillCatalog().All(), func(s *skill.Skill) bool {
		return !s.ForUser || s.Origin == skill.MCP || e.skillSetting(s) == "off"
	})
	uses, now := e.skillTally().Uses(), time.Now()
	if len(uses) > 0 {
		slices.SortStableFunc(list, func(a, b *skill.Skill) int { return cmp.Compare(uses[b.Name].Score(now), uses[a.Name].Score(now)) })
	}
	return list
}

// withoutDoubles leaves out commands whose name is taken: those of gofer itself come first.
func withoutDoubles(list []slashCommand) []slashCommand {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(c slashCommand) bool {
		taken := seen[c.name]
		seen[c.name] = true
		return taken
	})
}

// skillNames are the skills as the first line of a turn tells them.
func (e *engine) skillNames() []string {
	names := []string{}
	if !e.skillsOn() {
		return names
	}
	for _, s := range e.skillCatalog().All() {
		if e.mayUse(s) || s.ForUser && e.skillSetting(s) != "off" && e.unfiltered() {
			names = append(names, s.Name)
		}
	}
	return names
}

func (e *engine) unfiltered() bool {
	e.skills.mu.Lock()
	defer e.skills.mu.Unlock()
	return e.skills.only == nil
}

// onlySkills lets the model use only some skills, as the program that drives gofer wants it. It must be said before the first turn.
func (e *engine) onlySkills(names []string) {
	e.skills.mu.Lock()
	defer e.skills.mu.Unlock()
	e.skills.only = append([]string{}, names...)
}

// reloadSkillsRequest reads all skills anew, and returns what there is. The model is told of new ones with the next prompt.
func (e *engine) reloadSkillsRequest(context.Context, struct{}) (any, error) {
	list := []any{}
	if e.skillsOn() {
		e.skillCatalog().Reload()
		for _, s := range e.skillCatalog().All() {
			if e.skillSetting(s) != "off" {
				list = append(list, map[string]any{"name": s.Name, "description": s.Description, "argumentHint": s.Hint, "source": s.Origin.String()})
			}
		}
		e.warnOfSkills()
	}
	return map[string]any{"skills": list}, nil
}

// typedSkill does what a user who types the name of a skill wants.
func (e *engine) typedSkill(ctx context.Context, s *skill.Skill, args string) (string, []llm.Block, error) {
	kind := "skill"
	if s.Command {
		kind = "slash_command"
	}
	typed := strings.TrimSpace("/" + s.Name + " " + args)
	o := e.hooks.UserPromptExpansion(ctx, hook.Expansion{Type: kind, Command: s.Name, Args: args, Source: s.Origin.String(), Prompt: typed})
	switch {
	case o.Block:
		return "", nil, errors.New("a UserPromptExpansion hook refused it: " + o.Reason)
	case o.Stop:
		return "", nil, errors.New("a hook stopped it: " + o.StopReason)
	}
	for _, text := range o.Context {
		e.told.reminders.Add(prompt.HookContext, text)
	}
	if s.Fork {
		answer, err := e.typedFork(ctx, s, args)
		return answer, nil, err
	}
	text, err := e.loadSkill(ctx, "", s, args)
	if err != nil {
		return "", nil, err
	}
	blocks := []llm.Block{llm.TextBlock(fmt.Sprintf("<command-name>/%s</command-name>\n<command-args>%s</command-args>", s.Name, args)), llm.TextBlock(text)}
	if raw, err := s.Text(); err == nil && s.Fetch == nil {
		blocks = append(blocks, e.authorsMentions(ctx, raw)...) // what the user mentions is read with the prompt
	}
	return "", blocks, nil
}

// authorsMentions reads the files that the author of a skill mentions by @. The author is not the user: what would have to be asked for is left out.
func (e *engine) authorsMentions(ctx context.Context, text string) []llm.Block {
	var blocks []llm.Block
	for _, name := range input.Mentions(text) {
		file, _ := e.mentionedFile(name)
		if file == "" || len(blocks) >= mostMentions {
			continue
		}
		d := guard.Decide(e.policy.Policy(), guard.Facts{Tool: "Read", Access: []tool.Access{{Verb: tool.Read, Target: file}}, Traits: tool.Traits{ReadOnly: true}})
		if d.Behavior == guard.Allow {
			blocks = append(blocks, e.mention(ctx, name)...)
		}
	}
	return blocks
}

// typedFork runs a skill that has an agent of its own, and answers with what that found. The model learns of it with the next prompt.
func (e *engine) typedFork(ctx context.Context, s *skill.Skill, args string) (string, error) {
	d := e.mainDesk()
	t := skill.Tool(skillHand{e, d})
	input, err := json.Marshal(skill.Order{Skill: s.Name, Args: args})
	if err != nil {
		return "", err
	}
	c, err := t.Bind("skill_"+uuid.NewString(), input)
	if err != nil {
		return "", err
	}
	res, err := e.forkSkill(ctx, d, s, args, c)
	if err != nil {
		return "", err
	}
	answer := res.Text()
	if len(res.Content) > 0 && res.Content[0].Kind == llm.Text {
		answer = res.Content[0].Text // without the account of what it cost
	}
	note := fmt.Sprintf("Before this the user ran /%s. An agent of its own did it, and the user has read what it answered:\n%s", strings.TrimSpace(s.Name+" "+args), answer)
	err = e.session.Submit(ctx, session.Input{Notice: true, Quiet: true, Blocks: []llm.Block{llm.TextBlock(loop.Reminder(note))}})
	return answer, err
}

// slashSkills lists the skills for people.
func (e *engine) slashSkills(context.Context, string) (string, []llm.Block, error) {
	return e.describeSkills(), nil, nil
}

// describeSkills says where the skills come from, how large they are, and what is wrong with them.
func (e *engine) describeSkills() string {
	var b strings.Builder
	catalog := e.skillCatalog()
	all := catalog.All()
	total := 0
	for origin := skill.Managed; origin >= skill.Bundled; origin-- {
		first := true
		for _, s := range all {
			if s.Origin != origin {
				continue
			}
			if first {
				fmt.Fprintf(&b, "%s\n", origin)
				first = false
			}
			total++
			fmt.Fprintf(&b, "  %s%s  %s\n", s.Name, e.skillMarks(s), oneLine(s.Description, 100))
			if s.File != "" {
				fmt.Fprintf(&b, "      %s, %d bytes\n", s.File, s.Size)
			}
		}
	}
	fmt.Fprintf(&b, "%d skills and commands\n", total)
	return b.String()
}

// skillMarks says in a few words what is special about a skill.
func (e *engine) skillMarks(s *skill.Skill) string {
	var marks []string
	add := func(yes bool, text string) {
		if yes {
			marks = append(marks, text)
		}
	}
	how := e.skillSetting(s)
	add(how != "on", how)
	add(s.Command, "command")
	add(!s.ForModel, "only by the user")
	add(!s.ForUser, "only by the model")
	add(s.Fork, "agent "+firstOf(s.Agent, "of its own"))
	add(len(s.Paths) > 0, "for "+strings.Join(s.Paths, ", "))
	add(len(s.Allowed) > 0, "allows "+strings.Join(s.Allowed, ", "))
	add(len(s.Hooks) > 0, "hooks")
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, "; ") + ")"
}

// firstWord cuts a prompt behind its first word.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end], strings.TrimSpace(text[end:])
	}
	return text, ""
}
