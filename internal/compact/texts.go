package compact

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"gofer/internal/prompt"
	"gofer/internal/tool"
)

var (
	//go:embed summary.eng.md
	summaryEng string
	//go:embed summary.chn.md
	summaryChn string
	//go:embed notes.eng.md
	notesEng string
	//go:embed notes.chn.md
	notesChn string
)

// in chooses between the two forms of one sentence. They stand side by side, so that nobody changes only one.
func in(l prompt.Language, eng, chn string) string {
	if l == prompt.Chinese {
		return chn
	}
	return eng
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

// oneLine makes a text fit into a line of at most n bytes.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(prefix(s, 4*n)), " ")
	if short := prefix(s, n); len(short) < len(s) {
		return short + "…"
	}
	return s
}

// prefix and suffix cut a text without splitting a character.
func prefix(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func suffix(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	at := len(s) - n
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// middleOut keeps the beginning and the end of a text that is longer than n bytes.
func middleOut(l prompt.Language, s string, n int) string {
	if len(s) <= n {
		return s
	}
	return prefix(s, n*2/3) + in(l, "\n[… the middle was left out …]\n", "\n[…… 中间部分已省略 ……]\n") + suffix(s, n/3)
}

// firstPart keeps whole lines from the beginning of a text that is longer than n bytes.
func firstPart(l prompt.Language, s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.TrimRight(tool.Prefix(s, n), "\n") + in(l, "\n[cut here]", "\n[在此截断]")
}
