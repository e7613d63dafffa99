package prompt

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"gofer/internal/tool"
)

// cut shortens text to about n bytes and says so. It never splits a character.
func cut(l Language, text string, n int) string {
	if len(text) <= n {
		return text
	}
	short := tool.Prefix(text, n)
	rest := utf8.RuneCountInString(text[len(short):])
	return strings.TrimRight(short, "\n") + fmt.Sprintf(l.in("\n[cut: %d more characters]", "\n[已截断：还有 %d 个字符]"), rest)
}

var reminderTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<(\s*/?\s*system-reminder\b[^<>]*)>`) })

// inert keeps text from outside inside of the reminder that carries it: a tag that would end it, or begin one in our name, loses
// its form, and no byte is added.
func inert(text string) string {
	if !strings.Contains(strings.ToLower(text), "system-reminder") {
		return text
	}
	return reminderTag().ReplaceAllString(text, "($1)")
}
