package catalog

import (
	"slices"

	"gofer/internal/llm"
)

// allEfforts are the levels that any model takes, from low to high.
var allEfforts = []string{"low", "medium", "high", "xhigh", "max"}

// DefaultThinking is how to ask m to think when nobody said how.
func (m Model) DefaultThinking() llm.ThinkingMode {
	switch m.Thinking {
	case Adaptive:
		return llm.ThinkingMode{Adaptive: true}
	case Budget:
		return llm.ThinkingMode{Budget: max(m.DefaultOutput-1, 0)}
	}
	return llm.ThinkingMode{}
}

// Fit makes req a request to the model with a name: what the model cannot do is left out, or asked for as it can.
func (c Catalog) Fit(req llm.Request, name string) llm.Request {
	m := c.Lookup(name)
	req.Model = m.ID
	if req.MaxTokens <= 0 {
		req.MaxTokens = m.DefaultOutput
	}
	req.MaxTokens = min(req.MaxTokens, m.MaxOutput)
	req.Thinking = m.fitThinking(req.Thinking, req.MaxTokens)
	req.Effort = m.fitEffort(req.Effort)
	if !m.ForcedTools && req.Choice != "none" {
		req.Choice = ""
	}
	for _, beta := range m.Betas {
		if !slices.Contains(req.Betas, beta) {
			req.Betas = append(slices.Clone(req.Betas), beta)
		}
	}
	return req
}

func (m Model) fitThinking(t llm.ThinkingMode, maxTokens int) llm.ThinkingMode {
	switch {
	case m.Thinking == NoThinking, t.Disabled && m.AlwaysThinks:
		return llm.ThinkingMode{}
	case t.Disabled:
		return llm.ThinkingMode{Disabled: true}
	case m.Thinking == Adaptive && t.Budget > 0:
		return llm.ThinkingMode{Adaptive: true, Display: t.Display}
	case m.Thinking == Budget && t.Adaptive:
		return llm.ThinkingMode{Budget: maxTokens - 1, Display: t.Display}
	}
	return t
}

// fitEffort returns the highest level of m that is not above the one asked for, or its lowest.
func (m Model) fitEffort(effort string) string {
	asked := slices.Index(allEfforts, effort)
	if asked < 0 || len(m.Efforts) == 0 {
		return ""
	}
	for i := asked; i >= 0; i-- {
		if slices.Contains(m.Efforts, allEfforts[i]) {
			return allEfforts[i]
		}
	}
	return m.Efforts[0]
}
