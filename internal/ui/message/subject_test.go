package message

import (
	"testing"

	"github.com/charmbracelet/colorprofile"

	"gofer/internal/event"
)

// The titles are those of the built-in tools. A line says nothing twice, whether the call runs or has ended.
func TestLinesOfCallsSayNothingTwice(t *testing.T) {
	t.Parallel()
	c := canvas(140, colorprofile.NoTTY)
	for _, k := range []struct{ name, title, running, summary, done string }{
		{"Write", "Writing b.txt", "● Write b.txt", "Created b.txt (3 lines)", "● Created b.txt (3 lines)"},
		{"Edit", "Editing a.go", "● Edit a.go", "Edited a.go (+1 −1)", "● Edited a.go (+1 −1)"},
		{"NotebookEdit", "Editing a.ipynb", "● NotebookEdit a.ipynb", "Replaced cell-1 in a.ipynb", "● Replaced cell-1 in a.ipynb"},
		{"Revert", "Reverting a.go", "● Revert a.go", "Nothing to revert in a.go", "● Nothing to revert in a.go"},
		{"Read", "Reading a.go", "● Read a.go", "Read 20 lines", "● Read a.go  20 lines"},
		{"Grep", "Searching for x in src", "● Grep x in src", "Found 3 files", "● Grep x in src  Found 3 files"},
		{"Grep", "Searching for i", "● Grep i", "Found 3 files", "● Grep i  Found 3 files"},
		{"Glob", "Looking for *.go", "● Glob *.go", "Found 3 files", "● Glob *.go  Found 3 files"},
		{"Bash", "Count the lines", "● Bash Count the lines", "exit 0 in 3ms", "● Bash Count the lines  exit 0 in 3ms"},
		{"Bash", "Running the tests", "● Bash Running the tests", "exit 0 in 3ms", "● Bash Running the tests  exit 0 in 3ms"},
		{"Bash", "exit", "● Bash exit", "exit 0 in 3ms", "● Bash exit  exit 0 in 3ms"},
		{"TaskOutput", "Output of b1", "● TaskOutput b1", "", "● TaskOutput b1"},
		{"TaskStop", "Stopping b1", "● TaskStop b1", "", "● TaskStop b1"},
		{"Monitor", `Following b1 for "error"`, `● Monitor b1 for "error"`, "", `● Monitor b1 for "error"`},
		{"TodoWrite", "Mending it", "● TodoWrite Mending it", "1 of 3 done", "● TodoWrite  1 of 3 done"},
		{"TodoWrite", "Writing the todo list", "● TodoWrite", "1 of 3 done", "● TodoWrite  1 of 3 done"},
		{"TaskCreate", "New task: Count", "● TaskCreate Count", "#1 Count: pending", "● TaskCreate  #1 Count: pending"},
		{"TaskUpdate", "Task #1 → completed", "● TaskUpdate #1 → completed", "#1 Count: completed", "● TaskUpdate  #1 Count: completed"},
		{"TaskGet", "Reading task #1", "● TaskGet #1", "#1 Count: pending", "● TaskGet  #1 Count: pending"},
		{"TaskList", "Reading the task list", "● TaskList", "2 open", "● TaskList  2 open"},
		{"Agent", "look around (Explore)", "● Agent look around (Explore)", `Explore: "look around" is done (3 tokens)`, "● Agent look around (Explore)  done (3 tokens)"},
		{"Agent", "a \"b\" (x)", "● Agent a \"b\" (x)", `x: "a \"b\"" was stopped (3 tokens)`, "● Agent a \"b\" (x)  was stopped (3 tokens)"},
		{"Agent", "look (Explore)", "● Agent look (Explore)", "Explore a1 works in the background", "● Agent look (Explore)  a1 works in the background"},
		{"SendMessage", "To ann: go on", "● SendMessage To ann: go on", "", "● SendMessage To ann: go on"},
		{"ToolSearch", "Searching tools: issues", "● ToolSearch issues", "", "● ToolSearch issues"},
		{"Sleep", "Waiting for 5s", "● Sleep 5s", "", "● Sleep 5s"},
		{"CronCreate", `Scheduling "* * * * *": look`, `● CronCreate "* * * * *": look`, "", `● CronCreate "* * * * *": look`},
		{"CronDelete", "Removing the scheduled job c1", "● CronDelete c1", "", "● CronDelete c1"},
		{"CronList", "Listing scheduled jobs", "● CronList", "2 scheduled", "● CronList  2 scheduled"},
		{"EnterWorktree", "Entering a worktree x", "● EnterWorktree x", "", "● EnterWorktree x"},
		{"EnterWorktree", "Entering a worktree", "● EnterWorktree", "", "● EnterWorktree"},
		{"ExitWorktree", "Leaving the worktree (keep)", "● ExitWorktree (keep)", "", "● ExitWorktree (keep)"},
		{"EnterPlanMode", "Planning", "● EnterPlanMode", "", "● EnterPlanMode"},
		{"Skill", "/review it", "● Skill /review it", "", "● Skill /review it"},
		{"LSP", "hover in a.go", "● LSP hover in a.go", "", "● LSP hover in a.go"},
		{"mcp__issues__search", "issues: Search", "● issues: Search", "", "● issues: Search"},
		{"Other", "Other", "● Other", "", "● Other"},
	} {
		if got := (Call{Name: k.name, Title: k.title}).head(c); got != k.running {
			t.Errorf("%s runs: %q, want %q", k.name, got, k.running)
		}
		if got := (Call{Name: k.name, Title: k.title, State: Done, Display: event.ToolDisplay{Summary: k.summary}}).head(c); got != k.done {
			t.Errorf("%s is done: %q, want %q", k.name, got, k.done)
		}
	}
}
