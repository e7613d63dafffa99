package prompt

import (
	"fmt"
	"slices"
	"strings"
)

// Session is what the guidance depends on: which tools there are and whether a person can answer.
type Session struct {
	Tools    []string // names of the tools that the model has
	Unasked  bool     // nobody is there to answer questions: a script runs gofer
	Git      bool     // say how to commit and open pull requests
	Language Language
}

// Guidance is the section about this session. It speaks only of tools that are there.
func (s Session) Guidance() string {
	l := s.Language
	has := func(name string) bool { return slices.Contains(s.Tools, name) }
	var lines []string
	add := func(when bool, eng, chn string) {
		if when {
			lines = append(lines, "- "+l.in(eng, chn))
		}
	}
	add(s.Unasked, "Nobody can answer questions in this session. Where something is unclear, take the careful reading, go on, and say in the end what you assumed.",
		"本次会话中无人能回答问题。若有不明之处，取谨慎的理解继续工作，并在最后说明你的假设。")
	add(!s.Unasked && has("AskUserQuestion"), "Ask with AskUserQuestion when only the user can decide; give the choices you see.",
		"只有用户才能决定的事，用 AskUserQuestion 询问，并列出你看到的选择。")
	add(has("TodoWrite") || has("TaskCreate"), "Keep a list of the steps of larger work with the tool for it, and mark each step when it is done, not later.",
		"较大的工作用相应的工具列出步骤，每完成一步立即标记。")
	add(has("Agent") || has("Task"), "Give wide searches and separate pieces of work to agents, several at once where they do not depend on each other; do small things yourself.",
		"大范围的搜索和独立的工作交给子智能体，互不依赖的可同时进行；小事自己做。")
	add(has("Skill"), "When a skill fits the task, load it with Skill before you begin.", "若有适合任务的技能，先用 Skill 加载再开始。")
	add(has("ToolSearch"), "More tools exist than you see: find them with ToolSearch.", "现有工具多于你所看到的：用 ToolSearch 查找。")
	if text := gitLine(l); s.Git && has("Bash") {
		lines = append(lines, "- "+text)
	}
	if len(lines) == 0 {
		return ""
	}
	return l.in("# This session\n", "# 本次会话\n") + strings.Join(lines, "\n")
}

func gitLine(l Language) string {
	return l.in("When asked to commit: look at status, diff and the last messages first; add the files of this change by name, nothing with secrets; write in the project's style, one or two sentences that say why. A failed hook means no commit was made: mend it and make a new commit, do not amend. Pull requests: read all commits of the branch, then gh pr create with what changed, why, and how it was tested.",
		"被要求提交时：先看状态、差异和最近的提交说明；按名字添加属于本次改动的文件，绝不包含密钥；按项目的风格写一两句话说明原因。钩子失败意味着没有提交成功：修复后建立新的提交，不要 amend。发起合并请求时：阅读分支的全部提交，再用 gh pr create 说明改了什么、为何改、如何测试。")
}

// ReplyIn is the section that sets the language of replies; language is the user's word for it, such as "german".
func ReplyIn(l Language, language string) string {
	language = oneLine(language, 60)
	if language == "" {
		return ""
	}
	return fmt.Sprintf(l.in("# Language\nWrite to the user in %s. Code, names and quoted output stay as they are; comments follow the language of the project.",
		"# 语言\n用%s与用户交流。代码、名称和引用的输出保持原样；注释沿用项目的语言。"), language)
}

// BuiltinStyle is the text of an output style that gofer brings along: explanatory or learning; "" for any other name.
func BuiltinStyle(l Language, name string) string {
	switch name = strings.ToLower(name); name {
	case "explanatory", "learning":
		return l.text("style-" + name + ".md")
	}
	return ""
}

// Style is the section of an output style that is not the default one.
func Style(l Language, name, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return fmt.Sprintf(l.in("# Output style: %s\n%s", "# 输出风格：%s\n%s"), oneLine(name, 60), text)
}

// ScratchpadAt is the section about a folder for files that nobody wants to keep.
func ScratchpadAt(l Language, dir string) string {
	if dir == "" {
		return ""
	}
	return fmt.Sprintf(l.in("# Scratchpad\nPut temporary files (notes, throw-away scripts, intermediate results) below %s, not into the project nor the system's temporary folder. It needs no permission.",
		"# 草稿目录\n临时文件（笔记、一次性脚本、中间结果）放在 %s 之下，不要放进项目或系统临时目录。此处无需许可。"), dir)
}

// Budget is the section about a limit of tokens for the whole task.
func Budget(l Language, tokens int) string {
	if tokens <= 0 {
		return ""
	}
	return fmt.Sprintf(l.in("# Budget\nThis task has a budget of %d tokens. Spend them on the task to its end: do not stop early, and do not waste them.",
		"# 预算\n本任务的预算为 %d 个 token。用来把任务做完：不要提前停下，也不要浪费。"), tokens)
}

// ServerInstructions is the section with what MCP servers say about their use. They are written by others, so each is cut.
func ServerInstructions(l Language, servers []Section) string {
	const most = 2000
	var parts []string
	for _, s := range servers {
		if text := cut(l, inert(strings.TrimSpace(s.Text)), most); text != "" {
			parts = append(parts, "## "+oneLine(s.Name, 100)+"\n"+text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return l.in("# MCP servers\nWhat they say about the use of their tools:\n\n", "# MCP 服务器\n它们对自己工具用法的说明：\n\n") + strings.Join(parts, "\n\n")
}
