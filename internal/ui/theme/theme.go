// Package theme holds the colours of the terminal UI.
//
// A theme is made once, for what the terminal can show: every Style then holds finished escape sequences, so that
// painting costs nothing but a copy, and a terminal with 16 colours or none never gets a sequence it does not know.
package theme

import (
	"image/color"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// A Style paints text. The zero value leaves it as it is.
type Style struct{ on string }

// Reset ends every style.
const Reset = "\x1b[m"

// Paint puts the style around each line of the text.
func (s Style) Paint(text string) string {
	if s.on == "" || text == "" {
		return text
	}
	if !strings.Contains(text, "\n") {
		return s.on + text + Reset
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = s.on + line + Reset
		}
	}
	return strings.Join(lines, "\n")
}

// On is the sequence that begins the style, for text whose end is not known yet.
func (s Style) On() string { return s.on }

// With is both styles at once; where they contradict each other, other wins.
func (s Style) With(other Style) Style { return Style{s.on + other.on} }

// A Theme names what is painted, not how.
type Theme struct {
	Name string
	Dark bool

	Faint, Strong, Italic, Underline, Strike Style // for text of any meaning

	Accent, User, Good, Bad, Warn, Info Style // of messages, marks and borders
	Border, Selected, Suggestion        Style // of boxes and lists

	Added, Removed         Style // lines of a diff
	AddedWord, RemovedWord Style // the part of such a line that changed
	// DiffInk says that the lines of a diff are told apart by the colour of their letters, because the backgrounds that 16 colours
	// offer are too loud to read on. Program text in them is then not highlighted.
	DiffInk bool

	Match, MatchNow Style // what a search has found, and the one that it stands on

	Heading, Code, Link, Quote Style // of Markdown

	Keyword, Type, Function, Text, Number, Comment Style // of program text; Text is a string in it

	PlanMode, EditMode, AutoMode, BypassMode Style // the permission modes

	// Links says that the terminal understands links (OSC 8). Whoever knows the terminal better may switch it off.
	Links bool
}

// Names are the themes there are.
func Names() []string {
	return []string{"dark", "light", "dark-daltonized", "light-daltonized", "dark-ansi", "light-ansi"}
}

// New makes the theme of a name for what a terminal can show. An unknown name gives the dark theme.
func New(name string, profile colorprofile.Profile) *Theme {
	p, ok := palettes()[name]
	if !ok {
		name, p = "dark", palettes()["dark"]
	}
	plain := func(sequence string) Style {
		if profile <= colorprofile.NoTTY {
			return Style{}
		}
		return Style{sequence}
	}
	fg := func(c ink) Style { return c.style(profile, false) }
	bg := func(c ink) Style { return c.style(profile, true) }
	bold := plain("\x1b[1m")
	few := profile == colorprofile.ANSI || p.added.rgb == ""
	added, removed, addedWord, removedWord := bg(p.added), bg(p.removed), bg(p.addedWord), bg(p.removedWord)
	if few && profile > colorprofile.ASCII {
		added, removed = fg(p.good), fg(p.bad)
		addedWord, removedWord = added.With(plain("\x1b[1;4m")), removed.With(plain("\x1b[1;4m"))
	} else if profile <= colorprofile.ASCII {
		addedWord, removedWord = bold, bold
	}
	return &Theme{
		Name: name, Dark: strings.HasPrefix(name, "dark"),
		Faint: plain("\x1b[2m"), Strong: bold, Italic: plain("\x1b[3m"), Underline: plain("\x1b[4m"), Strike: plain("\x1b[9m"),
		Accent: fg(p.accent), User: fg(p.user), Good: fg(p.good), Bad: fg(p.bad), Warn: fg(p.warn), Info: fg(p.info),
		Border: fg(p.border), Selected: fg(p.accent).With(bold), Suggestion: fg(p.info),
		Added: added, Removed: removed, AddedWord: addedWord, RemovedWord: removedWord, DiffInk: few || profile <= colorprofile.ASCII,
		Match: plain("\x1b[7m"), MatchNow: fg(p.accent).With(plain("\x1b[1;7m")),
		Heading: fg(p.accent).With(bold), Code: fg(p.code), Link: fg(p.info).With(plain("\x1b[4m")), Quote: plain("\x1b[3m"),
		Keyword: fg(p.keyword), Type: fg(p.kind), Function: fg(p.function), Text: fg(p.text), Number: fg(p.number), Comment: fg(p.comment),
		PlanMode: fg(p.plan), EditMode: fg(p.edit), AutoMode: fg(p.warn), BypassMode: fg(p.bad),
		Links: profile > colorprofile.ASCII,
	}
}

// An ink is a colour: as the terminals with many colours show it, and its number among the 16.
type ink struct {
	rgb   string // "#rrggbb"; empty: only the 16 colours are used
	basic int    // 0-15; -1: the terminal's own colour
}

func (c ink) style(profile colorprofile.Profile, background bool) Style {
	if profile <= colorprofile.ASCII {
		return Style{}
	}
	if c.rgb == "" || profile == colorprofile.ANSI {
		return basicStyle(c.basic, background)
	}
	converted := profile.Convert(parse(c.rgb))
	style := ansi.Style{}
	if background {
		return Style{style.BackgroundColor(converted).String()}
	}
	return Style{style.ForegroundColor(converted).String()}
}

func basicStyle(number int, background bool) Style {
	if number < 0 {
		return Style{}
	}
	base := 30
	if background {
		base = 40
	}
	if number >= 8 {
		base, number = base+60, number-8
	}
	return Style{"\x1b[" + strconv.Itoa(base+number) + "m"}
}

func parse(hex string) color.Color {
	n, _ := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	return color.RGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 0xff}
}
