// Package prompt is what the model is told besides the conversation: the system prompt, the facts about the surroundings, the
// instruction files of the user and the project, and the reminders that follow later.
//
// The system prompt is a list of blocks with one boundary. What stands before it is the same for every user, session and hour,
// so that a provider's cache holds it for all of them; what stands behind it is computed once in a session and frozen. Whatever
// becomes known later is a reminder, appended to the newest message: nothing here rewrites bytes that were sent before.
//
// All texts exist in two languages, side by side, and package code never prints one of them to a person.
package prompt

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

//go:embed eng/*.md chn/*.md
var texts embed.FS

// A Language is the language of the texts that the model reads. The zero value is English.
type Language string

const (
	English Language = "eng"
	Chinese Language = "chn"
)

// in chooses between the two forms of one sentence. They stand side by side, so that nobody changes only one.
func (l Language) in(eng, chn string) string {
	if l == Chinese {
		return chn
	}
	return eng
}

func (l Language) folder() string { return l.in(string(English), string(Chinese)) }

// text returns an embedded text.
func (l Language) text(name string) string {
	data, err := texts.ReadFile(l.folder() + "/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.TrimSpace(string(data))
}

// A Section is one part of the system prompt before the boundary.
type Section struct{ Name, Text string }

// Sections returns the sections before the boundary, in order.
func Sections(l Language) []Section {
	names, err := fs.Glob(texts, l.folder()+"/[0-9]*.md")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	var sections []Section
	for _, name := range names {
		_, title, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".md"), "-")
		sections = append(sections, Section{Name: title, Text: l.text(path.Base(name))})
	}
	return sections
}

// Static is the part of the system prompt that never differs, in English.
func Static() string { return StaticIn(English) }

// StaticIn is the part of the system prompt that never differs.
func StaticIn(l Language) string {
	var parts []string
	for _, s := range Sections(l) {
		parts = append(parts, s.Text)
	}
	return join(parts...)
}

// Minimal is the system prompt in a few lines, for those who asked for little and for small models that would drown in more.
func Minimal(l Language) string { return l.text("minimal.md") }

// InitPrompt asks the model to study the project and to write its instruction file. file is the one to write: the one that is
// there already, or CLAUDE.md.
func InitPrompt(l Language, file string) string {
	return strings.ReplaceAll(l.text("init.md"), "{file}", file)
}

// Opening is the reminder that stands before the first prompt: the instructions of the user and the project, and the date. See
// Instructions.Text for the first; the date stands here and not in the system prompt, because it changes.
func Opening(instructions string, now time.Time) string { return OpeningIn(English, instructions, now) }

// OpeningIn is Opening in a language. more is what else the first message carries, such as sections that were kept out of the
// system prompt.
func OpeningIn(l Language, instructions string, now time.Time, more ...string) string {
	date := fmt.Sprintf(l.in("Today's date is %s.", "今天的日期是 %s。"), now.Format(time.DateOnly))
	return join(append(append([]string{instructions}, more...), date)...)
}

// join joins the parts that are not empty with empty lines between them.
func join(parts ...string) string {
	var full []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			full = append(full, p)
		}
	}
	return strings.Join(full, "\n\n")
}
