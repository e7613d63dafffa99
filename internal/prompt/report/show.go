package report

import (
	"fmt"
	"strings"
)

// Marks stand for the categories in plain text, where there is no colour.
func mark(s Square) string {
	switch s.Category {
	case FreeSpace:
		return "·"
	case Buffer:
		return "▒"
	case SystemPrompt:
		return "S"
	case SystemTools:
		return "T"
	case MCPTools:
		return "X"
	case InstructionFiles:
		return "I"
	case MemoryFiles:
		return "M"
	case CustomAgents:
		return "A"
	case SkillList:
		return "K"
	}
	if s.Fullness < 0.5 {
		return "▄"
	}
	return "█"
}

// most is how many details of a sort are listed.
const most = 12

// Text draws the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: about %s of %s tokens (%d%%)\n\n", r.Model, short(r.TotalTokens), short(r.MaxTokens), r.Percentage)
	legend := r.legend()
	for i := range max(len(r.GridRows), len(legend)) {
		var line strings.Builder
		if i < len(r.GridRows) {
			for _, s := range r.GridRows[i] {
				line.WriteString(mark(s) + " ")
			}
		} else {
			line.WriteString(strings.Repeat(" ", 2*len(r.GridRows[0])))
		}
		if i < len(legend) {
			line.WriteString("  " + legend[i])
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	switch {
	case r.AutoCompact:
		fmt.Fprintf(&b, "\nThe conversation is compacted at %s tokens.\n", short(r.Threshold))
	default:
		b.WriteString("\nAutomatic compaction is off.\n")
	}
	r.details(&b)
	return b.String()
}

func (r Report) legend() []string {
	var lines []string
	for _, c := range r.Categories {
		m := mark(Square{Category: c.Name, Fullness: 1})
		if c.IsDeferred {
			lines = append(lines, fmt.Sprintf("  %-18s %7s  (not in the window)", c.Name, short(c.Tokens)))
			continue
		}
		share := 0.0
		if r.MaxTokens > 0 {
			share = 100 * float64(c.Tokens) / float64(r.MaxTokens)
		}
		lines = append(lines, fmt.Sprintf("%s %-18s %7s %5.1f%%", m, c.Name, short(c.Tokens), share))
	}
	return lines
}

// details lists what the categories consist of.
func (r Report) details(b *strings.Builder) {
	d := r.Breakdown
	list(b, Conversation, []NameUse{{"tool results", d.ToolResults}, {"tool calls", d.ToolCalls}, {"the model's text", d.Assistant}, {"the model's thinking", d.Thinking},
		{"the user's text", d.User}, {"attachments", d.Attachments}})
	var tools []NameUse
	for _, t := range d.ByTool {
		tools = append(tools, NameUse{t.Name, t.Calls + t.Results})
	}
	list(b, "Calls and results by tool", tools)
	list(b, "Attachments", d.ByKind)
	var files []NameUse
	for _, f := range r.MemoryFiles {
		files = append(files, NameUse{f.Path + " (" + f.Type + ")", f.Tokens})
	}
	list(b, "Files that the model was told", files)
	list(b, "Sections of the system prompt", r.SystemSections)
	list(b, SystemTools, r.SystemTools)
	servers := map[string]int{}
	var order []string
	for _, t := range r.MCPTools {
		if _, ok := servers[t.Server]; !ok {
			order = append(order, t.Server)
		}
		if t.IsLoaded {
			servers[t.Server] += t.Tokens
		}
	}
	var mcp []NameUse
	for _, s := range order {
		mcp = append(mcp, NameUse{s, servers[s]})
	}
	list(b, "MCP tools by server", mcp)
}

func list(b *strings.Builder, title string, items []NameUse) {
	var lines []string
	rest, hidden := 0, 0
	for _, it := range items {
		switch {
		case it.Tokens == 0:
		case len(lines) == most:
			rest += it.Tokens
			hidden++
		default:
			lines = append(lines, fmt.Sprintf("  %7s  %s\n", short(it.Tokens), it.Name))
		}
	}
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n" + title + "\n" + strings.Join(lines, ""))
	if hidden > 0 {
		fmt.Fprintf(b, "  %7s  and %d more\n", short(rest), hidden)
	}
}

// short writes a number as people say it.
func short(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n >= 1_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
