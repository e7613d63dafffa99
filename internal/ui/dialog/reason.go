package dialog

import (
	"strings"

	"gofer/internal/ui/screen"
)

// reason says why something is asked for in the language of the person. The guard gives its reasons in English, for the model and for
// logs too; those that people meet every day are known here by their beginning and their end, and any other one stays as it is.
func reason(c screen.Canvas, text string) string {
	for _, known := range []struct {
		before, after string
		say           func(what string) string
	}{
		{"no rule allows this command", "", func(string) string { return c.T("no rule allows this command") }},
		{"no rule allows to change ", "", func(what string) string { return c.F("no rule allows to change %s", what) }},
		{"no rule allows to fetch from ", "", func(what string) string { return c.F("no rule allows to fetch from %s", what) }},
		{"no rule allows ", "", func(what string) string { return c.F("no rule allows %s", what) }},
		{"it writes ", ", which no rule allows", func(what string) string { return c.F("it writes %s, which no rule allows", what) }},
		{"it writes ", ", which is outside the working directories", func(what string) string {
			return c.F("it writes %s, which is outside the working directories", what)
		}},
		{"", " is outside the working directories", func(what string) string { return c.F("%s is outside the working directories", what) }},
		{"in plan mode nothing is changed, and ", "", func(what string) string {
			return c.F("in plan mode nothing is changed, and %s", reason(c, what))
		}},
	} {
		if rest, ok := strings.CutPrefix(text, known.before); ok {
			if what, ok := strings.CutSuffix(rest, known.after); ok {
				return known.say(what)
			}
		}
	}
	return text
}
