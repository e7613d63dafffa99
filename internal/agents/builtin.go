package agents

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"gofer/internal/hook"
)

//go:embed builtin/*.md
var builtinFiles embed.FS

// General is the agent that an order without a type gets.
const General = "general-purpose"

// brief names the built-in agents whose report is all that counts: no account of their cost follows it, and they are not given the
// instructions of the project, which they have no use for.
var brief = []string{"Explore", "Plan"}

// builtIn returns the agents that come with gofer.
func builtIn() []*Definition {
	names, err := fs.Glob(builtinFiles, "builtin/*.md")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	var all []*Definition
	for _, name := range names {
		data, err := builtinFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		d, warnings, err := ParseMarkdown(data, hook.Source{Name: name})
		if err != nil || len(warnings) > 0 {
			panic(fmt.Sprint("the built-in agent ", name, ": ", err, warnings))
		}
		d.Brief = slices.Contains(brief, d.Name)
		all = append(all, d)
	}
	return all
}
