package message

import (
	"strconv"
	"strings"
)

// subject is what a call is about: "src/a.go" of the title "Reading src/a.go". Titles are whole sentences, since they also stand alone;
// beside the name of the tool their first words would say the same again. What a model has written, such as the description of a
// command, stays as it is.
func subject(name, title string) string {
	switch {
	case strings.EqualFold(title, name), onPanel(name) && strings.HasSuffix(title, " list"), name == "CronList", name == "EnterPlanMode":
		return "" // the name says it
	}
	for _, said := range append(sayAgain(name), name+": ", name+" ") {
		if len(title) >= len(said) && strings.EqualFold(title[:len(said)], said) {
			return title[len(said):]
		}
	}
	return title
}

// sayAgain are beginnings of a tool's titles that its name has said already.
func sayAgain(name string) []string {
	switch name {
	case "Read", "NotebookRead":
		return []string{"Reading "}
	case "Write":
		return []string{"Writing "}
	case "Edit", "MultiEdit", "NotebookEdit":
		return []string{"Editing "}
	case "Revert":
		return []string{"Reverting "}
	case "Glob":
		return []string{"Looking for "}
	case "Grep":
		return []string{"Searching for "}
	case "ToolSearch":
		return []string{"Searching tools: "}
	case "TaskOutput":
		return []string{"Output of "}
	case "TaskStop":
		return []string{"Stopping "}
	case "TaskCreate":
		return []string{"New task: "}
	case "TaskGet":
		return []string{"Reading task "}
	case "TaskUpdate":
		return []string{"Task "}
	case "Monitor":
		return []string{"Following "}
	case "Sleep":
		return []string{"Waiting for "}
	case "CronCreate":
		return []string{"Scheduling "}
	case "CronDelete":
		return []string{"Removing the scheduled job "}
	case "EnterWorktree":
		return []string{"Entering a worktree ", "Entering a worktree"}
	case "ExitWorktree":
		return []string{"Leaving the worktree "}
	}
	return nil
}

// onPanel tells the tools whose outcome stands in the panel of steps anyway.
func onPanel(name string) bool {
	switch name {
	case "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet":
		return true
	}
	return false
}

// changesFiles tells the tools whose summaries name the file and what became of it: "Edited src/a.go (+1 −1)".
func changesFiles(name string) bool {
	switch name {
	case "Write", "Edit", "MultiEdit", "NotebookEdit", "Revert":
		return true
	}
	return false
}

// summaryBeside is a summary as it stands behind the name and the subject of a call.
func summaryBeside(name, title, summary string) string {
	if name == "Agent" || name == "Task" {
		return agentFact(title, summary)
	}
	return strings.TrimPrefix(summary, name+" ")
}

// agentFact is the summary of an agent without its type and its order, which stand before it: `look around (Explore)` is followed by
// `done (…)` of `Explore: "look around" is done (…)`.
func agentFact(title, summary string) string {
	at := strings.LastIndex(title, " (")
	if at < 0 || !strings.HasSuffix(title, ")") {
		return summary
	}
	order, kind := title[:at], title[at+2:len(title)-1]
	rest, found := strings.CutPrefix(summary, kind)
	if !found {
		return summary
	}
	if told, found := strings.CutPrefix(rest, ": "+strconv.Quote(order)+" "); found {
		return strings.TrimPrefix(told, "is ")
	}
	if told, found := strings.CutPrefix(rest, " "); found {
		return told
	}
	return summary
}
