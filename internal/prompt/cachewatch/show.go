package cachewatch

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String explains a break in one sentence.
func (b Break) String() string {
	what := b.what()
	if b.Tokens > 0 {
		what += fmt.Sprintf("; %s tokens were paid for again", group(b.Tokens))
		if b.USD >= 0.005 {
			what += fmt.Sprintf(" ($%.2f)", b.USD)
		}
	}
	if b.Expected != "" {
		what += " (" + b.Expected + ")"
	}
	return fmt.Sprintf("Request %d: %s.", b.Request, what)
}

func (b Break) what() string {
	where := fmt.Sprintf("at byte %s of the request", group(b.Offset))
	switch b.Part {
	case Model:
		return "the model " + b.Change
	case Tools:
		if b.Change == "changed" {
			return fmt.Sprintf("the tool %s was changed at its byte %s, %s", b.Name, group(b.Byte), where)
		}
		return fmt.Sprintf("the tool %s was %s as number %d, %s", b.Name, b.Change, b.Block+1, where)
	case System:
		return fmt.Sprintf("block %d of the system prompt was %s at its byte %s, %s", b.Block+1, b.Change, group(b.Byte), where)
	case Settings:
		return "the setting for " + b.Name + " was changed"
	case Messages:
		return fmt.Sprintf("message %d, block %d (%s) was %s at its byte %s, %s", b.Block+1, b.Inner+1, strings.ReplaceAll(b.Name, "_", " "), b.Change, group(b.Byte), where)
	case Expired:
		return fmt.Sprintf("the provider had forgotten the conversation after %s", b.Gap.Round(time.Second))
	}
	return "the provider did not read from its cache what it should have had, though nothing was changed"
}

// Text describes the numbers in a few lines, for people.
func (s Stats) Text() string {
	if s.Requests == 0 {
		return "No requests yet.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Read from the cache: %.1f%% of %s tokens in %d requests.\n", 100*s.ReadShare(), group(s.Usage.Prompt()), s.Requests)
	if s.Broken > 0 {
		fmt.Fprintf(&b, "Broken %d times, which cost %s tokens", s.Broken, group(s.Paid))
		if s.USD >= 0.005 {
			fmt.Fprintf(&b, " ($%.2f)", s.USD)
		}
		b.WriteString(":\n")
	}
	for _, br := range s.Breaks {
		fmt.Fprintf(&b, "  %s\n", br)
	}
	return b.String()
}

// group writes a number with commas between its thousands.
func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
