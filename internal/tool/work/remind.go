package work

import (
	"context"
	"iter"
	"strings"
	"unicode"
)

// quietReplies is after how many replies of the model without a use of the tools it is reminded of its list.
const quietReplies = 10

// Reply counts one reply of the model. It returns a reminder with the list as it stands when the tools have not been used for some
// replies and there is something left to do; otherwise it is empty. The same list gives the same text.
func (k *Kit) Reply(ctx context.Context) string {
	k.mu.Lock()
	k.quiet++
	due := k.quiet >= quietReplies
	if due {
		k.quiet = 0
	}
	k.mu.Unlock()
	if !due {
		return ""
	}
	open := k.Open(ctx)
	switch {
	case open == "":
		return ""
	case k.env.UseTasks:
		return "The tasks have not changed for a while. Mark what is done and what you are at with TaskUpdate, and delete what no longer matters. Open are:\n" + open
	}
	return "The todo list has not changed for a while. Mark what is done and what you are at with TodoWrite, and drop what no longer matters. It says:\n" + open
}

// Open returns the list as it stands, while something on it is left to do; otherwise it is empty.
func (k *Kit) Open(ctx context.Context) string {
	if k.env.UseTasks {
		return k.openTasks(ctx)
	}
	return k.openTodos()
}

func (k *Kit) used() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.quiet = 0
}

func (k *Kit) openTodos() string {
	todos, err := k.env.Todos.Read()
	if err != nil || countTodos(todos).open() == 0 {
		return ""
	}
	return todoLines(todos)
}

func (k *Kit) openTasks(ctx context.Context) string {
	tasks, err := k.env.Board.List(ctx)
	if err != nil || countTasks(tasks).open() == 0 {
		return ""
	}
	return rowLines(rowsOf(tasks), func(r taskRow) bool { return r.Status != completed })
}

const verifyText = "Several steps are done, but none of them checked the work. Before you report: run the tests or the program, or have an agent look at the changes, and fix what that shows. Add the check to the list."

// needsCheck reports whether it is time to say that nobody has checked the work: when the third step is done, and when all are, if no step
// of the list is a check.
func needsCheck(done, doneBefore, open int, steps iter.Seq[string]) bool {
	if done < 3 || done <= doneBefore || doneBefore >= 3 && open > 0 {
		return false
	}
	for s := range steps {
		if isCheck(s) {
			return false
		}
	}
	return true
}

// isCheck guesses from the words of a step whether it checks other work.
func isCheck(step string) bool {
	for _, word := range strings.FieldsFunc(strings.ToLower(step), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch word {
		case "test", "tests", "testing", "tested", "check", "checks", "checking", "verify", "verifying", "verifies", "verified", "verification",
			"validate", "validating", "validation", "review", "reviewing", "confirm", "confirming", "lint", "qa":
			return true
		}
	}
	for _, word := range []string{"测试", "验证", "检查", "复核"} {
		if strings.Contains(step, word) {
			return true
		}
	}
	return false
}
