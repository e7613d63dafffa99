package prompt

import (
	"fmt"
	"runtime"
	"strings"
)

// Facts are what the model is told about its surroundings. The date is not among them: see Opening.
type Facts struct {
	Cwd       string
	ExtraDirs []string
	Git       string // a snapshot of the repository's state, if it is not a section of its own
	InGit     bool
	Shell     string
	OS        string // the name and release of the operating system: see OSRelease
	Model     string
	Language  Language
}

// Environment renders the facts.
func (f Facts) Environment() string {
	l := f.Language
	var b strings.Builder
	b.WriteString(l.in("# Environment\n", "# 环境\n"))
	line := func(eng, chn, value string) {
		if value = oneLine(value, 1000); value != "" {
			fmt.Fprintf(&b, "- %s%s%s\n", l.in(eng, chn), l.in(": ", "："), value)
		}
	}
	line("Working directory", "工作目录", f.Cwd)
	for _, dir := range f.ExtraDirs {
		line("Further working directory", "另一工作目录", dir)
	}
	line("Git repository", "Git 仓库", yesNo(l, f.InGit))
	line("Platform", "平台", runtime.GOOS)
	line("System", "系统", f.OS)
	line("Shell", "Shell", f.Shell)
	line("Model", "模型", f.Model)
	return join(b.String(), GitSection(l, f.Git))
}

// GitSection introduces the snapshot of a repository.
func GitSection(l Language, snapshot string) string {
	if snapshot == "" {
		return ""
	}
	return l.in("# Git at the start of the session\nIt does not follow later changes.\n", "# 会话开始时的 Git 状态\n之后的变化不会反映在这里。\n") + snapshot
}

func yesNo(l Language, b bool) string {
	if b {
		return l.in("yes", "是")
	}
	return l.in("no", "否")
}

// oneLine makes text from outside fit into a line of ours: no line breaks, no control characters, at most n characters.
func oneLine(s string, n int) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r < ' ' || r == 0x7f:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd")))
	if runes := []rune(s); len(runes) > n {
		return strings.TrimSpace(string(runes[:n])) + "…"
	}
	return s
}
