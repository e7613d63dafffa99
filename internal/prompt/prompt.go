// Package prompt is what the model is told besides the conversation: the system prompt, the facts about the surroundings,
// and the reminders that open a session.
//
// The system prompt is a list of blocks with one boundary. What stands before it is the same for every user, session and hour,
// so that a provider's cache holds it for all of them; what stands behind it is computed once in a session.
package prompt

import (
	"embed"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"time"

	"gofer/internal/llm"
)

//go:embed eng/*.md
var texts embed.FS

// Static is the part of the system prompt that never differs.
func Static() string {
	names, err := fs.Glob(texts, "eng/*.md")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	var parts []string
	for _, name := range names {
		text, err := texts.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		parts = append(parts, strings.TrimSpace(string(text)))
	}
	return strings.Join(parts, "\n\n")
}

// Facts are what the model is told about its surroundings.
type Facts struct {
	Cwd       string
	ExtraDirs []string
	Git       string // a snapshot of the repository's state, or "" outside of one
	InGit     bool
	Shell     string
	OS        string // the name and release of the operating system
	Model     string
}

// Environment renders the facts.
func (f Facts) Environment() string {
	var b strings.Builder
	b.WriteString("# Environment\n")
	fmt.Fprintf(&b, "- Working directory: %s\n", f.Cwd)
	for _, dir := range f.ExtraDirs {
		fmt.Fprintf(&b, "- Further working directory: %s\n", dir)
	}
	fmt.Fprintf(&b, "- Git repository: %s\n", yesNo(f.InGit))
	fmt.Fprintf(&b, "- Platform: %s\n", runtime.GOOS)
	if f.OS != "" {
		fmt.Fprintf(&b, "- System: %s\n", f.OS)
	}
	if f.Shell != "" {
		fmt.Fprintf(&b, "- Shell: %s\n", f.Shell)
	}
	if f.Model != "" {
		fmt.Fprintf(&b, "- Model: %s\n", f.Model)
	}
	if f.Git != "" {
		fmt.Fprintf(&b, "\n# Git at the start of the session\nIt does not follow later changes.\n%s\n", f.Git)
	}
	return strings.TrimSpace(b.String())
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// System is the choice of a system prompt.
type System struct {
	Custom  *string // the user's own, in the place of ours
	Append  string  // added behind ours or the user's own
	Dynamic string  // environment and whatever else differs between sessions
}

// Blocks returns the system prompt with its cache marks: at the end of what never differs, and at the end of all.
func (s System) Blocks() []llm.SystemBlock {
	static := Static()
	if s.Custom != nil {
		static = *s.Custom
	}
	var blocks []llm.SystemBlock
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			blocks = append(blocks, llm.SystemBlock{Text: text, Mark: true})
		}
	}
	add(static)
	if s.Append != "" || s.Dynamic != "" {
		add(strings.TrimSpace(s.Append) + "\n\n" + s.Dynamic)
	}
	return blocks
}

// Opening is the reminder that stands before the first prompt: the instructions of the user and the project, and the date.
func Opening(instructions string, now time.Time) string {
	var b strings.Builder
	if instructions != "" {
		b.WriteString(instructions)
		b.WriteString("\n\n")
	}
	fmt.Fprintf(&b, "Today's date is %s.", now.Format("2006-01-02"))
	return b.String()
}
