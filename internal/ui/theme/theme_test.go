package theme

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// sequences of all styles of a theme, by painting with each.
func painted(t *Theme) string {
	var b strings.Builder
	for _, s := range []Style{t.Faint, t.Strong, t.Italic, t.Underline, t.Strike, t.Accent, t.User, t.Good, t.Bad, t.Warn, t.Info, t.Border, t.Selected, t.Suggestion,
		t.Added, t.Removed, t.AddedWord, t.RemovedWord, t.Match, t.MatchNow, t.Heading, t.Code, t.Link, t.Quote, t.Keyword, t.Type, t.Function, t.Text, t.Number,
		t.Comment, t.PlanMode, t.EditMode, t.AutoMode, t.BypassMode} {
		b.WriteString(s.Paint("x"))
	}
	return b.String()
}

func TestNoTerminalGetsAColourItDoesNotKnow(t *testing.T) {
	t.Parallel()
	many := regexp.MustCompile(`\x1b\[[34]8;`)
	colour := regexp.MustCompile(`\x1b\[(3|4|9|10)\d[m;]`)
	for _, name := range Names() {
		if got := painted(New(name, colorprofile.NoTTY)); strings.Contains(got, "\x1b") {
			t.Errorf("%s without a terminal: %q", name, got)
		}
		if got := painted(New(name, colorprofile.ASCII)); many.MatchString(got) || colour.MatchString(got) {
			t.Errorf("%s without colours: %q", name, got)
		}
		if got := painted(New(name, colorprofile.ANSI)); many.MatchString(got) || !colour.MatchString(got) {
			t.Errorf("%s with 16 colours: %q", name, got)
		}
		if got := painted(New(name, colorprofile.ANSI256)); strings.Contains(got, "38;2;") {
			t.Errorf("%s with 256 colours: %q", name, got)
		}
		full := New(name, colorprofile.TrueColor)
		if got := painted(full); strings.Contains(got, "38;2;") == strings.HasSuffix(name, "-ansi") {
			t.Errorf("%s with all colours: %q", name, got)
		}
		if full.Added == full.Removed || full.Good == full.Bad || full.Dark != strings.HasPrefix(name, "dark") {
			t.Errorf("%s tells nothing apart", name)
		}
	}
	if New("no such theme", colorprofile.TrueColor).Name != "dark" {
		t.Error("an unknown theme is not the dark one")
	}
}

func TestPaintEndsOnEveryLine(t *testing.T) {
	t.Parallel()
	bold := Style{"\x1b[1m"}
	if got, want := bold.Paint("a\n\nb"), "\x1b[1ma\x1b[m\n\n\x1b[1mb\x1b[m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Style{}).Paint("a"); got != "a" {
		t.Errorf("the zero style painted %q", got)
	}
}

func TestLinksLeadOnlyToPagesAndFiles(t *testing.T) {
	t.Parallel()
	th := New("dark", colorprofile.TrueColor)
	for _, address := range []string{"javascript:alert(1)", "mailto:a@b", "ssh://x", "http://", "https://a b", "https://a\x1b\\", "file:///a\x07", "https://" + strings.Repeat("a", 3000)} {
		if got := th.Hyperlink(address, "text"); got != "text" {
			t.Errorf("%q became a link: %q", address, got)
		}
	}
	for _, address := range []string{"https://example.com/a?b=c#d", "http://x", "file:///tmp/a"} {
		if got := th.Hyperlink(address, "text"); !strings.Contains(got, address) || !strings.Contains(got, "text") {
			t.Errorf("%q became %q", address, got)
		}
	}
	th.Links = false
	if got := th.Hyperlink("https://example.com", "text"); got != "text" {
		t.Errorf("a terminal without links got %q", got)
	}
}
