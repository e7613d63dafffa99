// Package find lets the model look for tools that it was not told about from the start, because there are too many of them.
//
// What is found is told in the answer of the search, behind the conversation: the list of tools at the head of a request never changes, so
// that the provider's cache holds. The model then calls a tool by its name or, where a provider lets it call only what is
// listed, through UseTool; either way hooks and permissions see the tool that runs.
package find

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gofer/internal/tool"
)

// Names of the tools.
const (
	SearchName = "ToolSearch"
	UseName    = "UseTool"
)

//go:embed search.md
var searchDoc string

//go:embed use.md
var useDoc string

// Env is what the search works with.
type Env struct {
	Tools func() []*tool.Tool                          // what can be found
	Find  func(name string) (*tool.Tool, error)        // any tool by its name
	Wait  func(ctx context.Context) (missing []string) // waits for tools that are on their way, and says which did not come; nil: there are none
}

type input struct {
	Query string `json:"query" desc:"words, or select:name,name" minlen:"1"`
	Max   *int   `json:"max_results,omitempty" desc:"at most so many; 5 if not given" min:"1" max:"50"`
}

// Tools returns ToolSearch and UseTool.
func Tools(e Env) []*tool.Tool {
	return []*tool.Tool{
		tool.Define(tool.Spec[input]{Name: SearchName, Doc: searchDoc,
			Traits: func(input) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
			Title:  func(in input) string { return "Searching tools: " + in.Query },
			Run:    e.search,
		}),
		tool.Redirect(UseName, useDoc, json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"input":{"type":"object"}},"required":["name","input"],"additionalProperties":false}`), e.target),
	}
}

// target reads which tool a call of UseTool means.
func (e Env) target(raw json.RawMessage) (*tool.Tool, json.RawMessage, error) {
	var in struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(raw, &in); err != nil || in.Name == "" {
		return nil, nil, fmt.Errorf(`the input of %s must be {"name": the tool's name, "input": its input}`, UseName)
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil && json.Valid([]byte(text)) {
		in.Input = json.RawMessage(text) // models often write an object as a text
	}
	if len(in.Input) == 0 || string(in.Input) == "null" {
		in.Input = json.RawMessage("{}")
	}
	t, err := e.Find(in.Name)
	return t, in.Input, err
}

func (e Env) search(ctx context.Context, in input, _ tool.Call) (tool.Result, error) {
	limit := 5
	if in.Max != nil {
		limit = *in.Max
	}
	var missing []string
	names, selected := strings.CutPrefix(strings.TrimSpace(in.Query), "select:")
	found := e.look(names, selected, limit)
	// Only who has not found what was asked for waits for servers that are still on their way.
	if e.Wait != nil && (len(found) == 0 || selected && len(found) < len(split(names))) {
		missing = e.Wait(ctx)
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
		found = e.look(names, selected, limit)
	}
	return answer(in.Query, found, missing)
}

func (e Env) look(query string, selected bool, limit int) []*tool.Tool {
	all := e.Tools()
	if !selected {
		return rank(all, query, limit)
	}
	var found []*tool.Tool
	for _, name := range split(query) {
		i := slices.IndexFunc(all, func(t *tool.Tool) bool { return strings.EqualFold(t.Name, name) })
		if i >= 0 {
			found = append(found, all[i])
			continue
		}
		// The part of the name that the server gave it is enough if only one tool has it.
		if short := ending(all, name); short != nil {
			found = append(found, short)
		}
	}
	return found
}

func split(names string) []string {
	return strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
}

func ending(all []*tool.Tool, name string) *tool.Tool {
	var one *tool.Tool
	for _, t := range all {
		if strings.HasSuffix(strings.ToLower(t.Name), "__"+strings.ToLower(name)) {
			if one != nil {
				return nil
			}
			one = t
		}
	}
	return one
}

// answer tells the model what was found, whole definitions, one on each line.
func answer(query string, found []*tool.Tool, missing []string) (tool.Result, error) {
	var b strings.Builder
	var names []string
	for _, t := range found {
		def := t.Def()
		line, err := json.Marshal(struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}{def.Name, def.Description, def.Schema})
		if err != nil {
			return tool.Result{}, err
		}
		b.Write(append(line, '\n'))
		names = append(names, t.Name)
	}
	if len(found) == 0 {
		fmt.Fprintf(&b, "No tool fits %q. Try other or fewer words, or select:name with a name you were told.\n", query)
	} else {
		fmt.Fprintf(&b, "You can call these now, by name, or with %s if you cannot call a tool that is not in your list.\n", UseName)
	}
	for _, m := range missing {
		b.WriteString(m + "\n")
	}
	res := tool.Text(b.String())
	res.Data = map[string]any{"matches": names, "query": query}
	res.Display.Summary = fmt.Sprintf("Found %d tools", len(found))
	return res, nil
}
