package script

import (
	"strings"
	"unicode"
)

// messageCheck looks at the messages of a request.
type messageCheck struct {
	player     *player
	prompt     *prompt
	systemRole bool            // messages of the role system may stand among the others
	seen       map[string]bool // ids of calls so far
}

// A speech is what one side says without the other one in between: the service joins messages of the same role.
type speech struct {
	role   string
	first  int // the index of its first message
	blocks []placedBlock
}

type placedBlock struct {
	value
	message, index int
}

func (c *messageCheck) run() *failure {
	for i, m := range c.prompt.messages {
		if f := c.message(i, m); f != nil {
			return f
		}
	}
	if c.prompt.messages[0].role != "user" {
		return invalid(`messages: first message must use the "user" role`)
	}
	speeches := c.speeches()
	c.seen = map[string]bool{}
	var open []string // the ids of calls that the next speech has to answer
	openAt := 0
	for _, s := range speeches {
		var f *failure
		if s.role == "assistant" {
			open, f = c.calls(s)
			openAt = s.first
		} else {
			f = answers(s, open, openAt)
			open = nil
		}
		if f != nil {
			return f
		}
	}
	if len(open) > 0 {
		return unanswered(openAt, open)
	}
	if f := c.thinkingKept(speeches); f != nil {
		return f
	}
	return c.lastWords()
}

// message looks at one message by itself.
func (c *messageCheck) message(i int, m message) *failure {
	last := i == len(c.prompt.messages)-1
	for _, member := range m.value.each {
		if key := member.key(); key != "role" && key != "content" {
			return invalid("messages.%d.%s: Extra inputs are not permitted", i, key)
		}
	}
	switch {
	case m.role == "system" && c.systemRole:
	case m.role == "system":
		return invalid("messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.")
	case m.role != "user" && m.role != "assistant":
		return invalid("messages.%d.role: Input should be 'user' or 'assistant'", i)
	case !m.content.exists():
		return invalid("messages.%d.content: Field required", i)
	case m.content.kind() != nodeString && m.content.kind() != nodeArray:
		return invalid("messages.%d.content: Input should be a valid list", i)
	}
	empty := m.content.kind() == nodeArray && len(m.blocks) == 0 || m.content.is("")
	if empty && !(last && m.role == "assistant") {
		return invalid("messages.%d: %s messages must have non-empty content", i, m.role)
	}
	if m.content.kind() == nodeString && !empty {
		return checkText("messages", m.content)
	}
	for j, b := range m.blocks {
		if f := c.block(i, j, m.role, b); f != nil {
			return f
		}
	}
	return nil
}

// block looks at one block by itself.
func (c *messageCheck) block(i, j int, role string, b value) *failure {
	typ := b.get("type")
	switch {
	case b.kind() != nodeObject:
		return invalid("messages.%d.content.%d: Input should be a valid dictionary", i, j)
	case !typ.exists():
		return invalid("messages.%d.content.%d.type: Field required", i, j)
	case typ.is("text"):
		return c.text(i, j, b)
	case typ.is("tool_use"):
		return c.toolUse(i, j, role, b)
	case typ.is("tool_result"):
		return c.toolResult(i, j, role, b)
	case typ.is("thinking"):
		return c.thinking(i, j, role, b)
	case typ.is("redacted_thinking") && role != "assistant":
		return invalid("messages.%d: `redacted_thinking` blocks can only be in `assistant` messages", i)
	case typ.is("image") || typ.is("document"):
		return c.media(i, j, b)
	}
	return nil // a block of a server tool, or one that only later clients know
}

// only refuses members that a block does not have.
func only(i, j int, b value, fields string) *failure {
	for _, member := range b.each {
		if !listed(fields, member.key()) {
			return invalid("messages.%d.content.%d.%s.%s: Extra inputs are not permitted", i, j, b.get("type").text(), member.key())
		}
	}
	return nil
}

func (c *messageCheck) text(i, j int, b value) *failure {
	if b.get("text").kind() != nodeString {
		return invalid("messages.%d.content.%d.text.text: Field required", i, j)
	}
	if f := only(i, j, b, "type, text, cache_control, citations"); f != nil {
		return f
	}
	return checkText("messages", b.get("text"))
}

func (c *messageCheck) toolUse(i, j int, role string, b value) *failure {
	switch {
	case role != "assistant":
		return invalid("messages.%d: `tool_use` blocks can only be in `assistant` messages", i)
	case !b.get("id").exists():
		return invalid("messages.%d.content.%d.tool_use.id: Field required", i, j)
	case !toolName().MatchString(b.get("id").text()):
		return invalid("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j)
	case !b.get("name").exists():
		return invalid("messages.%d.content.%d.tool_use.name: Field required", i, j)
	case !toolName().MatchString(b.get("name").text()):
		return invalid("messages.%d.content.%d.tool_use.name: String should match pattern '%s'", i, j, toolName())
	case b.get("input").kind() == nodeNone:
		return invalid("messages.%d.content.%d.tool_use.input: Field required", i, j)
	case b.get("input").kind() != nodeObject:
		return invalid("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
	}
	return only(i, j, b, "type, id, name, input, cache_control, caller")
}

func (c *messageCheck) toolResult(i, j int, role string, b value) *failure {
	switch {
	case role != "user":
		return invalid("messages.%d: `tool_result` blocks can only be in `user` messages", i)
	case !b.get("tool_use_id").exists():
		return invalid("messages.%d.content.%d.tool_result.tool_use_id: Field required", i, j)
	}
	if f := only(i, j, b, "type, tool_use_id, content, is_error, cache_control"); f != nil {
		return f
	}
	if b.get("content").kind() != nodeArray {
		return nil
	}
	for _, inner := range b.get("content").each {
		typ := inner.get("type")
		if b.get("is_error").kind() == nodeTrue && !typ.is("text") {
			return invalid("messages.%d.content.%d: all content must be type `text` if `is_error` is true", i, j)
		}
		switch {
		case typ.is("tool_result") || typ.is("tool_use") || typ.is("thinking"):
			return invalid("messages.%d.content.%d.tool_result.content: Input tag '%s' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text', 'tool_reference'", i, j, typ.text())
		case !typ.is("text") && !typ.is("image") && !typ.is("document"):
			continue
		}
		if f := c.block(i, j, role, inner); f != nil {
			return f
		}
	}
	return nil
}

func (c *messageCheck) thinking(i, j int, role string, b value) *failure {
	switch {
	case role != "assistant":
		return invalid("messages.%d: `thinking` blocks can only be in `assistant` messages", i)
	case b.get("thinking").kind() != nodeString:
		return invalid("messages.%d.content.%d.thinking.thinking: Field required", i, j)
	case b.get("signature").kind() != nodeString:
		return invalid("messages.%d.content.%d.thinking.signature: Field required", i, j)
	case !c.player.script.signed(b.get("thinking").text(), b.get("signature").text()):
		return invalid("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
	}
	return only(i, j, b, "type, thinking, signature")
}

func (c *messageCheck) speeches() []speech {
	var out []speech
	for i, m := range c.prompt.messages {
		if m.role == "system" {
			continue
		}
		if len(out) == 0 || out[len(out)-1].role != m.role {
			out = append(out, speech{role: m.role, first: i})
		}
		s := &out[len(out)-1]
		if m.content.kind() == nodeString {
			s.blocks = append(s.blocks, placedBlock{m.content, i, 0})
		}
		for j, b := range m.blocks {
			s.blocks = append(s.blocks, placedBlock{b, i, j})
		}
	}
	return out
}

// calls returns the ids of the calls of an assistant's speech.
func (c *messageCheck) calls(s speech) ([]string, *failure) {
	var ids []string
	for _, b := range s.blocks {
		if !b.get("type").is("tool_use") {
			continue
		}
		id := b.get("id").text()
		if c.seen[id] {
			return nil, invalid("messages.%d.content.%d: `tool_use` ids must be unique", b.message, b.index)
		}
		c.seen[id] = true
		ids = append(ids, id)
	}
	return ids, nil
}

// answers checks that the results of a user's speech answer the open calls, each once, before anything else is said.
func answers(s speech, open []string, openAt int) *failure {
	wanted := make(map[string]bool, len(open))
	for _, id := range open {
		wanted[id] = true
	}
	answered := map[string]bool{}
	leading := true
	for _, b := range s.blocks {
		if !b.get("type").is("tool_result") {
			leading = false
			continue
		}
		id := b.get("tool_use_id").text()
		switch {
		case !wanted[id]:
			return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.message, b.index, id)
		case answered[id]:
			return invalid("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", b.message, b.index, id)
		case leading:
			answered[id] = true
		}
	}
	var missing []string
	for _, id := range open {
		if !answered[id] {
			missing = append(missing, id)
		}
	}
	if missing != nil {
		return unanswered(openAt, missing)
	}
	return nil
}

func unanswered(at int, ids []string) *failure {
	return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", at, strings.Join(ids, ", "))
}

// thinkingKept checks that the thinking behind the latest calls came back, if there was any.
func (c *messageCheck) thinkingKept(speeches []speech) *failure {
	thinking := c.prompt.root.get("thinking")
	if !thinking.exists() || thinking.get("type").is("disabled") {
		return nil
	}
	for i := len(speeches) - 1; i >= 0; i-- {
		s := speeches[i]
		if s.role != "assistant" || len(s.blocks) == 0 {
			continue
		}
		first := s.blocks[0]
		if typ := first.get("type"); typ.is("thinking") || typ.is("redacted_thinking") {
			return nil
		}
		for _, b := range s.blocks {
			if b.get("type").is("tool_use") && c.player.hasThought(b.get("id").text()) {
				return invalid("messages.%d.content.%d.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).",
					first.message, first.index, first.get("type").text())
			}
		}
		return nil
	}
	return nil
}

func (pl *player) hasThought(id string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	_, found := pl.thought[id]
	return found
}

// lastWords checks the final message when it is the assistant's, which the model is to continue.
func (c *messageCheck) lastWords() *failure {
	last := c.prompt.messages[len(c.prompt.messages)-1]
	if last.role != "assistant" {
		return nil
	}
	text := last.content
	if n := len(last.blocks); n > 0 {
		text = last.blocks[n-1].get("text")
	}
	if s := text.text(); s != strings.TrimRightFunc(s, unicode.IsSpace) {
		return invalid("messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}
