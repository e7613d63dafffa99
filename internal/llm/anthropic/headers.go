package anthropic

import (
	"net/http"
	"slices"
	"strings"

	"gofer/internal/llm"
)

// ParseHeaders reads headers as the variable ANTHROPIC_CUSTOM_HEADERS holds them: "Name: value", one in a line. Lines
// that are no header are left out.
func ParseHeaders(s string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(s) {
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if found && validToken(name) && !strings.ContainsFunc(value, isControl) {
			h.Add(name, value)
		}
	}
	return h
}

// validToken reports whether s may be the name of a header. One bad name would make every request fail.
func validToken(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(marks, r) {
			return false
		}
	}
	return s != ""
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// Features that the API gives only to requests that name them.
const (
	wideContextBeta         = "context-1m-2025-08-07"
	interleavedThinkingBeta = "interleaved-thinking-2025-05-14"
	effortBeta              = "effort-2025-11-24"
)

// wideSuffix, at the end of a model's name, asks for the window of a million tokens.
const wideSuffix = "[1m]"

// betas lists the features that req asks for and those it needs for what it uses.
func betas(req llm.Request) []string {
	names := slices.Clone(req.Betas)
	add := func(name string, wanted bool) {
		if wanted && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(wideContextBeta, strings.HasSuffix(req.Model, wideSuffix))
	add(interleavedThinkingBeta, thinkingBudget(req) > 0 && len(req.Tools) > 0)
	add(effortBeta, req.Effort != "")
	return names
}
