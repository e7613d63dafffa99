package script

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
)

// The checks refuse what the real service refuses, in its words as far as they are known, so that a client which is accepted
// here is accepted there. Each returns nil or what is wrong.

// topFields are the fields of a request. Those behind models of a gateway (anthropic_version) count too.
const topFields = "model, messages, max_tokens, cache_control, container, context_management, inference_geo, mcp_servers, metadata, output_config, " +
	"output_format, service_tier, speed, stop_sequences, stream, system, temperature, thinking, tool_choice, tools, top_k, top_p"

// check looks at a whole request.
func (pl *player) check(p *prompt, head http.Header) *failure {
	root := p.root
	if root.kind() != nodeObject {
		return invalid("Input should be a valid dictionary")
	}
	for _, member := range root.each {
		if !listed(topFields, member.key()) {
			return invalid("%s: Extra inputs are not permitted", member.key())
		}
	}
	limit := pl.script.settings.maxOutput
	switch n, isNumber := root.get("max_tokens").integer(); {
	case !root.get("max_tokens").exists():
		return invalid("max_tokens: Field required")
	case !isNumber:
		return invalid("max_tokens: Input should be a valid integer")
	case n < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	case n > limit:
		return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", n, limit, p.model)
	}
	if f := checkThinking(root, head); f != nil {
		return f
	}
	return pl.checkContent(p, head)
}

// checkContent looks at the parts of a request that a token count has too.
func (pl *player) checkContent(p *prompt, head http.Header) *failure {
	switch {
	case !p.root.get("model").exists():
		return invalid("model: Field required")
	case p.model == "":
		return invalid("model: String should have at least 1 character")
	case !p.root.get("messages").exists():
		return invalid("messages: Field required")
	case p.root.get("messages").kind() != nodeArray:
		return invalid("messages: Input should be a valid list")
	case len(p.messages) == 0:
		return invalid("messages: at least one message is required")
	}
	for _, f := range []*failure{checkTools(p), checkSystem(p.root.get("system")), checkMarks(p)} {
		if f != nil {
			return f
		}
	}
	c := messageCheck{player: pl, prompt: p, systemRole: strings.Contains(strings.Join(head.Values("Anthropic-Beta"), ","), "mid-conversation-system")}
	return c.run()
}

func checkThinking(root value, head http.Header) *failure {
	thinking := root.get("thinking")
	if !thinking.exists() || thinking.get("type").is("disabled") {
		return nil
	}
	if thinking.get("type").is("enabled") {
		budget, isNumber := thinking.get("budget_tokens").integer()
		most, _ := root.get("max_tokens").integer()
		interleaved := strings.Contains(strings.Join(head.Values("Anthropic-Beta"), ","), "interleaved-thinking")
		switch {
		case !isNumber:
			return invalid("thinking.enabled.budget_tokens: Field required")
		case budget < 1024:
			return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		case budget >= most && !interleaved:
			return invalid("`max_tokens` must be greater than `thinking.budget_tokens`")
		}
	} else if !thinking.get("type").is("adaptive") {
		return invalid("thinking: Input tag found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'")
	}
	if t := root.get("temperature"); t.exists() && string(t.raw()) != "1" && string(t.raw()) != "1.0" {
		return invalid("`temperature` may only be set to 1 when thinking is enabled")
	}
	if root.get("top_k").exists() {
		return invalid("`top_k` must be unset when thinking is enabled")
	}
	if choice := root.get("tool_choice").get("type"); choice.is("any") || choice.is("tool") {
		return invalid("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

var propertyKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`) })

func checkTools(p *prompt) *failure {
	names := make(map[string]bool, len(p.tools))
	for i, t := range p.tools {
		name := t.get("name")
		switch {
		case !name.exists():
			return invalid("tools.%d.custom.name: Field required", i)
		case !toolName().MatchString(name.text()):
			return invalid("tools.%d.custom.name: String should match pattern '%s'", i, toolName())
		case names[name.text()]:
			return invalid("tools: Tool names must be unique.")
		}
		names[name.text()] = true
		if typ := t.get("type"); typ.exists() && !typ.is("custom") {
			continue // a tool of the service, which knows its schema
		}
		if f := checkSchema(i, t.get("input_schema")); f != nil {
			return f
		}
	}
	choice := p.root.get("tool_choice")
	if !choice.exists() {
		return nil
	}
	switch {
	case len(p.tools) == 0 && !choice.get("type").is("none"):
		return invalid("tool_choice may only be specified while providing tools")
	case choice.get("type").is("tool") && !names[choice.get("name").text()]:
		return invalid("Tool '%s' not found in provided tools", choice.get("name").text())
	}
	return nil
}

func checkSchema(i int, schema value) *failure {
	switch {
	case !schema.exists():
		return invalid("tools.%d.custom.input_schema: Field required", i)
	case schema.kind() != nodeObject:
		return invalid("tools.%d.custom.input_schema: Input should be a valid dictionary", i)
	case !schema.get("type").exists():
		return invalid("tools.%d.custom.input_schema.type: Field required", i)
	case !schema.get("type").is("object"):
		return invalid("tools.%d.custom.input_schema.type: Input should be 'object'", i)
	}
	for _, member := range schema.each {
		if key := member.key(); key == "oneOf" || key == "allOf" || key == "anyOf" {
			return invalid("tools.%d.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", i)
		}
	}
	for _, property := range schema.get("properties").each {
		if !propertyKey().MatchString(property.key()) {
			return invalid("tools.%d.custom.input_schema.properties: Property keys should match pattern '%s'", i, propertyKey())
		}
	}
	return nil
}

func checkSystem(system value) *failure {
	switch {
	case !system.exists() || system.kind() == nodeString:
		return nil
	case system.kind() != nodeArray:
		return invalid("system: Input should be a valid list")
	}
	for i, b := range system.each {
		if !b.get("type").is("text") {
			return invalid("system.%d.type: Input should be 'text'", i)
		}
		if b.get("text").kind() != nodeString {
			return invalid("system.%d.text: Field required", i)
		}
		if f := checkText("system", b.get("text")); f != nil {
			return f
		}
	}
	return nil
}

// checkText refuses a text without any visible character.
func checkText(where string, text value) *failure {
	raw := text.raw()
	if len(raw) == 2 {
		return invalid("%s: text content blocks must be non-empty", where)
	}
	// A text that begins with a visible character, as nearly all do, needs no closer look.
	if c := raw[1]; c > ' ' && c < 0x7f && c != '\\' {
		return nil
	}
	if strings.TrimFunc(text.text(), unicode.IsSpace) == "" {
		return invalid("%s: text content blocks must contain non-whitespace text", where)
	}
	return nil
}

// checkMarks looks at the cache marks, wherever they are.
func checkMarks(p *prompt) *failure {
	c := markCheck{}
	for _, t := range p.tools {
		c.block(t)
	}
	for _, b := range p.root.get("system").each {
		c.block(b)
	}
	for _, m := range p.messages {
		for _, b := range m.blocks {
			c.block(b)
			if b.get("type").is("tool_result") && b.get("content").kind() == nodeArray {
				for _, inner := range b.get("content").each {
					c.block(inner)
				}
			}
		}
	}
	if p.root.get("cache_control").exists() {
		c.mark(p.root.get("cache_control"))
	}
	if c.found == nil && c.count > maxMarks {
		return invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarks, c.count)
	}
	return c.found
}

const maxMarks = 4

type markCheck struct {
	count int
	short bool // a mark of the short lifetime has come
	found *failure
}

func (c *markCheck) block(b value) {
	mark := b.get("cache_control")
	if !mark.exists() {
		return
	}
	switch typ := b.get("type"); {
	case typ.is("thinking") || typ.is("redacted_thinking"):
		c.wrong("%s.cache_control: Extra inputs are not permitted", typ.text())
	case typ.is("text") && b.get("text").text() == "":
		c.wrong("cache_control cannot be set for empty text blocks")
	}
	c.mark(mark)
}

func (c *markCheck) mark(mark value) {
	c.count++
	if !mark.get("type").is("ephemeral") {
		c.wrong("cache_control.type: Input should be 'ephemeral'")
	}
	if ttl := mark.get("ttl"); ttl.exists() && !ttl.is("5m") && !ttl.is("1h") {
		c.wrong("cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
	}
	if lifetime(mark) != time.Hour {
		c.short = true
	} else if c.short {
		c.wrong("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
	}
}

func (c *markCheck) wrong(format string, args ...any) {
	if c.found == nil {
		c.found = invalid(format, args...)
	}
}
