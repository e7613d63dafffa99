// Package report tells what fills the model's window, part by part: for /context, for `gofer sessions context`, and for programs
// that ask over the control protocol.
//
// It promises that the categories, the free space and the buffer add up to the window, that nothing is counted twice, and that
// making a report changes nothing. Tokens are estimates; they follow what the provider counts if a scale is given.
package report

import (
	"math"
	"strings"

	"gofer/internal/llm"
)

// Input is what a report is made of.
type Input struct {
	Model     string
	Window    int     // tokens that count as the window
	RawWindow int     // … that the model really has; 0: the same
	Threshold int     // where the conversation is compacted; 0: it is not
	Scale     float64 // tokens of the provider for one estimated token; 0 is 1

	System   []Section
	Tools    []llm.ToolDef
	Deferred []llm.ToolDef // known to the model by name only
	Messages []llm.Message

	// What of the above is made of these. Each is found where it stands and counted there no more.
	Instructions []File
	Memory       []File
	Agents       []Named
	Skills       []Named
	Commands     []Named

	Usage *llm.Usage // of the last reply
}

// A Section is a part of the system prompt.
type Section struct{ Name, Text string }

// A File is an instruction file or a memory that the model was told.
type File struct{ Path, Type, Text string }

// A Named is an agent, a skill or a command as the model is told about it.
type Named struct{ Name, Source, Text string }

// A Report is what fills the window. Its JSON is the answer of the control protocol.
type Report struct {
	Categories     []Category `json:"categories"`
	TotalTokens    int        `json:"totalTokens"`
	MaxTokens      int        `json:"maxTokens"`
	RawMaxTokens   int        `json:"rawMaxTokens"`
	Percentage     int        `json:"percentage"`
	GridRows       [][]Square `json:"gridRows"`
	Model          string     `json:"model"`
	MemoryFiles    []FileUse  `json:"memoryFiles"`
	MCPTools       []ToolUse  `json:"mcpTools"`
	DeferredTools  []ToolUse  `json:"deferredBuiltinTools,omitempty"`
	SystemTools    []NameUse  `json:"systemTools"`
	SystemSections []NameUse  `json:"systemPromptSections"`
	Agents         []AgentUse `json:"agents"`
	SlashCommands  CommandUse `json:"slashCommands"`
	Skills         SkillUse   `json:"skills"`
	Threshold      int        `json:"autoCompactThreshold,omitempty"`
	AutoCompact    bool       `json:"isAutoCompactEnabled"`
	Breakdown      Breakdown  `json:"messageBreakdown"`
	APIUsage       *APIUsage  `json:"apiUsage"`
}

// A Category is a share of the window.
type Category struct {
	Name       string `json:"name"`
	Tokens     int    `json:"tokens"`
	Color      string `json:"color"`
	IsDeferred bool   `json:"isDeferred,omitempty"` // not in the window
}

// The names of the categories.
const (
	SystemPrompt     = "System prompt"
	SystemTools      = "System tools"
	MCPTools         = "MCP tools"
	DeferredTools    = "Deferred tools"
	InstructionFiles = "Instruction files"
	MemoryFiles      = "Memory"
	CustomAgents     = "Agents"
	SkillList        = "Skills"
	Conversation     = "Messages"
	FreeSpace        = "Free space"
	Buffer           = "Autocompact buffer"
)

// FileUse and the like are the details of a category.
type FileUse struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Tokens int    `json:"tokens"`
}

// ToolUse is a tool of a server, or one that is deferred.
type ToolUse struct {
	Name     string `json:"name"`
	Server   string `json:"serverName,omitempty"`
	Tokens   int    `json:"tokens"`
	IsLoaded bool   `json:"isLoaded"`
}

// NameUse is anything with a name.
type NameUse struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// AgentUse is an agent that the model may start.
type AgentUse struct {
	Type   string `json:"agentType"`
	Source string `json:"source"`
	Tokens int    `json:"tokens"`
}

// CommandUse is what the model knows of slash commands.
type CommandUse struct {
	Total    int `json:"totalCommands"`
	Included int `json:"includedCommands"`
	Tokens   int `json:"tokens"`
}

// SkillUse is what the model knows of skills.
type SkillUse struct {
	Total    int           `json:"totalSkills"`
	Included int           `json:"includedSkills"`
	Tokens   int           `json:"tokens"`
	List     []NamedSource `json:"skillFrontmatter"`
}

// NamedSource is a skill and where it comes from.
type NamedSource struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Tokens int    `json:"tokens"`
}

// APIUsage is what the provider counted for the last reply.
type APIUsage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
}

// Make makes a report.
func Make(in Input) Report {
	if in.Scale <= 0 {
		in.Scale = 1
	}
	r := Report{Model: in.Model, MaxTokens: in.Window, RawMaxTokens: max(in.RawWindow, in.Window), Threshold: in.Threshold, AutoCompact: in.Threshold > 0,
		MemoryFiles: []FileUse{}, MCPTools: []ToolUse{}, SystemTools: []NameUse{}, SystemSections: []NameUse{}, Agents: []AgentUse{}}
	c := newCount(in)
	r.fill(in, c)
	if u := in.Usage; u != nil {
		r.APIUsage = &APIUsage{u.Input, u.Output, u.CacheWrite, u.CacheRead}
	}
	r.addUp(c)
	r.GridRows = grid(r.Categories, r.MaxTokens)
	return r
}

// fill sets the details. What is found inside of another part is taken out of it.
func (r *Report) fill(in Input, c *count) {
	for _, f := range in.Instructions {
		r.MemoryFiles = append(r.MemoryFiles, FileUse{f.Path, f.Type, c.take(InstructionFiles, f.Text)})
	}
	for _, f := range in.Memory {
		r.MemoryFiles = append(r.MemoryFiles, FileUse{f.Path, f.Type, c.take(MemoryFiles, f.Text)})
	}
	for _, a := range in.Agents {
		r.Agents = append(r.Agents, AgentUse{a.Name, a.Source, c.take(CustomAgents, a.Text)})
	}
	r.Skills = SkillUse{Total: len(in.Skills), List: []NamedSource{}}
	for _, s := range in.Skills {
		if n := c.take(SkillList, s.Text); n > 0 {
			r.Skills.Included++
			r.Skills.Tokens += n
			r.Skills.List = append(r.Skills.List, NamedSource{s.Name, s.Source, n})
		}
	}
	r.SlashCommands.Total = len(in.Commands)
	for _, s := range in.Commands {
		if n := c.take(SkillList, s.Text); n > 0 {
			r.SlashCommands.Included++
			r.SlashCommands.Tokens += n
		}
	}
	for i, s := range in.System {
		r.SystemSections = append(r.SystemSections, NameUse{s.Name, c.real(c.system[i])})
	}
	for i, t := range in.Tools {
		n := c.real(c.tools[i])
		if server, ok := serverOf(t.Name); ok {
			r.MCPTools = append(r.MCPTools, ToolUse{t.Name, server, n, true})
		} else {
			r.SystemTools = append(r.SystemTools, NameUse{t.Name, n})
		}
	}
	for _, t := range in.Deferred {
		n := c.real(toolTokens(t))
		if server, ok := serverOf(t.Name); ok {
			r.MCPTools = append(r.MCPTools, ToolUse{t.Name, server, n, false})
		} else {
			r.DeferredTools = append(r.DeferredTools, ToolUse{Name: t.Name, Tokens: n})
		}
		c.sums[DeferredTools] += n
	}
	r.Breakdown = c.breakdown(in.Messages)
}

// addUp sums the categories and finds what is left.
func (r *Report) addUp(c *count) {
	for _, n := range r.SystemSections {
		c.sums[SystemPrompt] += n.Tokens
	}
	for _, n := range r.SystemTools {
		c.sums[SystemTools] += n.Tokens
	}
	for _, n := range r.MCPTools {
		if n.IsLoaded {
			c.sums[MCPTools] += n.Tokens
		}
	}
	c.sums[Conversation] = r.Breakdown.total()
	r.Categories = []Category{}
	for _, x := range []Category{{Name: SystemPrompt, Color: "gray"}, {Name: SystemTools, Color: "blue"}, {Name: MCPTools, Color: "cyan"},
		{Name: DeferredTools, Color: "gray", IsDeferred: true}, {Name: InstructionFiles, Color: "yellow"}, {Name: MemoryFiles, Color: "orange"},
		{Name: CustomAgents, Color: "green"}, {Name: SkillList, Color: "magenta"}, {Name: Conversation, Color: "purple"}} {
		if x.Tokens = c.sums[x.Name]; x.Tokens > 0 {
			r.Categories = append(r.Categories, x)
			if !x.IsDeferred {
				r.TotalTokens += x.Tokens
			}
		}
	}
	left := max(0, r.MaxTokens-r.TotalTokens)
	buffer := 0
	if r.Threshold > 0 {
		buffer = min(left, r.MaxTokens-r.Threshold)
	}
	r.Categories = append(r.Categories, Category{Name: FreeSpace, Tokens: left - buffer, Color: "gray"})
	if buffer > 0 {
		r.Categories = append(r.Categories, Category{Name: Buffer, Tokens: buffer, Color: "gray"})
	}
	if r.MaxTokens > 0 {
		r.Percentage = int(math.Round(100 * float64(r.TotalTokens) / float64(r.MaxTokens)))
	}
}

// serverOf is the server of a tool, if it is one of a server's.
func serverOf(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", false
	}
	server, _, _ := strings.Cut(rest, "__")
	return server, true
}
