package prompt

import (
	"strings"

	"gofer/internal/llm"
)

// Boundary, in a system prompt that a program gives, separates what is the same for all its sessions from what is not. It is
// never sent.
const Boundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

// System is the choice of a system prompt. Of Override, Coordinator, Agent and Custom the first that is set counts; if none is,
// gofer's own.
type System struct {
	Override    *string  // alone, with nothing added
	Coordinator *string  // of a session that leads others
	Agent       *string  // of an agent's definition
	Custom      *string  // the user's own, in the place of ours
	Parts       []string // the same as Custom in pieces, as programs give it; nil: not given

	Append   string // added to all but Override
	Dynamic  string // environment and whatever else differs between sessions: see Dynamic.Render
	EachTurn string // what changes with every request: it stands last, behind all cache marks

	Language Language
	Minimal  bool // gofer's own in a few lines
	Exclude  bool // Dynamic goes into the first user message instead (see Moved), so that users share a cache
}

// Blocks returns the system prompt with its cache marks: at the end of what never differs, and at the end of what is frozen.
func (s System) Blocks() []llm.SystemBlock {
	text, ours := s.choose()
	static, own, _ := strings.Cut(text, Boundary)
	own = strings.ReplaceAll(own, Boundary, "")
	var blocks []llm.SystemBlock
	add := func(mark bool, parts ...string) {
		if text := join(parts...); text != "" {
			blocks = append(blocks, llm.SystemBlock{Text: text, Mark: mark})
		}
	}
	add(true, static)
	switch {
	case s.Override != nil:
		add(true, own)
	case ours && !s.Exclude:
		add(true, own, s.Append, s.Dynamic)
		add(false, s.EachTurn)
	default:
		add(true, own, s.Append)
	}
	return blocks
}

// Moved is what Exclude has kept out of the system prompt: it belongs into the first user message.
func (s System) Moved() string {
	if _, ours := s.choose(); !ours || !s.Exclude {
		return ""
	}
	return join(s.Dynamic, s.EachTurn)
}

// choose returns the text that counts, and whether the facts about the session belong behind it: whoever writes a whole system
// prompt says all that is to be said.
func (s System) choose() (text string, ours bool) {
	switch {
	case s.Override != nil:
		return *s.Override, false
	case s.Coordinator != nil:
		return *s.Coordinator, true
	case s.Agent != nil:
		return *s.Agent, true
	case s.Custom != nil:
		return *s.Custom, false
	case s.Parts != nil:
		return join(s.Parts...), false
	case s.Minimal:
		return Minimal(s.Language), true
	}
	return StaticIn(s.Language), true
}
