package report

import (
	"cmp"
	"slices"
	"strings"

	"gofer/internal/llm"
)

// These are the rules of thumb by which the loop estimates too.
const (
	bytesPerToken = 4
	imageTokens   = 1600
)

// A count holds how much each part has, in estimated tokens, and takes out of it what is counted elsewhere.
type count struct {
	in     Input
	system []int
	tools  []int
	// taken is what was taken out of reminders.
	taken int
	sums  map[string]int // by category, in tokens of the provider
}

func newCount(in Input) *count {
	c := &count{in: in, sums: map[string]int{}}
	for _, s := range in.System {
		c.system = append(c.system, textTokens(s.Text))
	}
	for _, t := range in.Tools {
		c.tools = append(c.tools, toolTokens(t))
	}
	return c
}

func (c *count) real(tokens int) int { return int(float64(max(0, tokens))*c.in.Scale + 0.5) }

// take finds a text in the request, moves its tokens to a category, and returns them. A text that is not there costs nothing.
func (c *count) take(category, text string) int {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	n := textTokens(text)
	from := c.find(text)
	if from == nil {
		return 0
	}
	*from -= n
	c.sums[category] += c.real(n)
	return c.real(n)
}

// find returns the number from which the tokens of text have to be taken. nil: the text is nowhere.
func (c *count) find(text string) *int {
	for i, s := range c.in.System {
		if strings.Contains(s.Text, text) {
			return &c.system[i]
		}
	}
	for i, t := range c.in.Tools {
		if strings.Contains(t.Description, text) {
			return &c.tools[i]
		}
	}
	for _, m := range c.in.Messages {
		for _, b := range m.Blocks {
			if isReminder(b) && strings.Contains(b.Text, text) {
				return &c.taken
			}
		}
	}
	return nil
}

// A Breakdown tells what the messages consist of.
type Breakdown struct {
	ToolCalls   int         `json:"toolCallTokens"`
	ToolResults int         `json:"toolResultTokens"`
	Attachments int         `json:"attachmentTokens"`
	Assistant   int         `json:"assistantMessageTokens"`
	Thinking    int         `json:"thinkingTokens"` // beside the assistant's text
	User        int         `json:"userMessageTokens"`
	ByTool      []ToolShare `json:"toolCallsByType"`
	ByKind      []NameUse   `json:"attachmentsByType"`
}

// A ToolShare is what the calls of one tool take.
type ToolShare struct {
	Name    string `json:"name"`
	Calls   int    `json:"callTokens"`
	Results int    `json:"resultTokens"`
}

func (b Breakdown) total() int {
	return b.ToolCalls + b.ToolResults + b.Attachments + b.Assistant + b.Thinking + b.User
}

// breakdown counts messages by the kind of their blocks.
func (c *count) breakdown(msgs []llm.Message) Breakdown {
	var d Breakdown
	tools := map[string]*ToolShare{}
	names := map[string]string{}
	kinds := map[string]int{}
	share := func(name string) *ToolShare {
		if tools[name] == nil {
			tools[name] = &ToolShare{Name: name}
		}
		return tools[name]
	}
	for _, m := range msgs {
		for _, b := range m.Blocks {
			n := blockTokens(b)
			switch {
			case isReminder(b):
				kinds["reminder"] += n
			case strings.HasPrefix(b.Text, "<conversation-summary"):
				kinds["summary"] += n
			case b.Kind == llm.Image || b.Kind == llm.Document:
				kinds[string(b.Kind)] += n
			case b.Kind == llm.ToolUse:
				names[b.Call.ID] = b.Call.Name
				share(b.Call.Name).Calls += c.real(n)
				d.ToolCalls += c.real(n)
			case b.Kind == llm.ToolResult:
				share(names[b.Result.CallID]).Results += c.real(n)
				d.ToolResults += c.real(n)
			case m.Role == llm.User:
				d.User += c.real(n)
			case b.Kind == llm.Thinking || b.Kind == llm.RedactedThinking:
				d.Thinking += c.real(n)
			default:
				d.Assistant += c.real(n)
			}
		}
	}
	kinds["reminder"] = max(0, kinds["reminder"]+c.taken)
	d.ByTool, d.ByKind = []ToolShare{}, []NameUse{}
	for _, t := range tools {
		d.ByTool = append(d.ByTool, *t)
	}
	slices.SortFunc(d.ByTool, func(a, b ToolShare) int {
		return cmp.Or(cmp.Compare(b.Calls+b.Results, a.Calls+a.Results), cmp.Compare(a.Name, b.Name))
	})
	for kind, n := range kinds {
		if n > 0 {
			d.ByKind = append(d.ByKind, NameUse{kind, c.real(n)})
			d.Attachments += c.real(n)
		}
	}
	slices.SortFunc(d.ByKind, func(a, b NameUse) int { return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name)) })
	return d
}

func isReminder(b llm.Block) bool {
	return b.Kind == llm.Text && strings.HasPrefix(b.Text, "<system-reminder>")
}

func textTokens(s string) int { return (len(s) + bytesPerToken - 1) / bytesPerToken }

func toolTokens(t llm.ToolDef) int {
	return (len(t.Name) + len(t.Description) + len(t.Schema)) / bytesPerToken
}

func blockTokens(b llm.Block) int {
	switch {
	case b.Call != nil:
		return (len(b.Call.Name) + len(b.Call.Input) + 40) / bytesPerToken
	case b.Result != nil:
		n := 10
		for _, c := range b.Result.Content {
			n += blockTokens(c)
		}
		return n
	case b.Media != nil && b.Media.Type == "text":
		return textTokens(b.Media.Data)
	case b.Kind == llm.Document && b.Media != nil:
		return max(imageTokens, len(b.Media.Data)/20)
	case b.Media != nil:
		return imageTokens
	}
	return (len(b.Text) + len(b.Signature) + len(b.Data) + len(b.Raw)) / bytesPerToken
}
