package dialog

import (
	"fmt"
	"strings"
	"testing"

	"gofer/internal/ui/screen"
	"gofer/internal/ui/words"
)

// However low the window is, the option that Enter would choose is seen.
func TestQuestionsShowTheChosenOption(t *testing.T) {
	t.Parallel()
	question := Question{Text: strings.Repeat("Which database is to be used? ", 8), Header: "Database"}
	for i := range 4 {
		question.Options = append(question.Options, Option{Label: fmt.Sprintf("Choice %c", 'A'+i), Description: strings.Repeat("long words ", 20)})
	}
	for _, size := range [][2]int{{80, 24}, {60, 13}, {60, 9}, {40, 6}} {
		q := &Questions{Questions: []Question{question, question}}
		for i := range len(question.Options) + 1 {
			text := strings.Join(q.View(canvas(size[0], size[1])).Lines, "\n")
			want := "Something else"
			if i < len(question.Options) {
				want = question.Options[i].Label
			}
			if marked := fmt.Sprintf("❯ %d %s", i+1, want); !strings.Contains(text, marked) {
				t.Errorf("%v: %q is not seen:\n%s", size, marked, text)
			}
			send(q, "down")
		}
	}
	// Where there is room for all names, no name gives way to a description.
	q := &Questions{Questions: []Question{question}}
	text := strings.Join(q.View(canvas(60, 20)).Lines, "\n")
	for _, o := range question.Options {
		if !strings.Contains(text, o.Label) {
			t.Errorf("%s is not seen:\n%s", o.Label, text)
		}
	}
}

// Every key that a hint names is read also where one line has no room for it.
func TestHintsAreWhole(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 140} {
		p := sampleSessions(400)
		drive(p)
		lines := p.View(canvas(width, 24)).Lines
		text := strings.Join(lines, "\n")
		for _, want := range []string{"Enter go on", "Tab all folders", "Ctrl-V look", "Ctrl-R rename", "Esc leave"} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d columns %q is not named:\n%s", width, want, text)
			}
		}
		if len(lines) > 24 {
			t.Errorf("at %d columns there are %d lines", width, len(lines))
		}
	}
}

// What is searched are words, and the beginning of an id: numbers within an id are nothing that a person looks for.
func TestSessionsAreFoundByTheBeginningOfTheirID(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]int{"4321": 1, "aa4": 1, "a4321": 0, "thing": 2} {
		p := &Sessions{List: func(bool, int) ([]Session, error) {
			return []Session{{ID: "aa4321bb", Path: "/a", Title: "a thing"}, {ID: "cc", Path: "/b", Title: "the thing 4321"}}, nil
		}}
		drive(p, "type:"+typed)
		if len(p.found) != want {
			t.Errorf("%q finds %d sessions", typed, len(p.found))
		}
	}
}

// A reason is said once, and in the language of the person.
func TestReasons(t *testing.T) {
	t.Parallel()
	p := &Permission{Tool: "Bash", Why: "no rule allows mkdir one", Parts: []Part{{Text: "echo one"}, {Text: "mkdir one", Asks: true, Reason: "no rule allows mkdir one"}}}
	c := canvas(80, 24)
	if text := strings.Join(p.View(c).Lines, "\n"); strings.Count(text, "no rule allows") != 1 {
		t.Errorf("the reason is not said once:\n%s", text)
	}
	c.Words = words.In("zh")
	for english, want := range map[string]string{
		"no rule allows mkdir one":                                         "没有规则允许 mkdir one",
		"no rule allows to change a.txt":                                   "没有规则允许修改 a.txt",
		"it writes /etc/x, which is outside the working directories":       "它会写入 /etc/x，该文件在工作目录之外",
		"in plan mode nothing is changed, and no rule allows to change %s": "规划模式下不做任何修改，而且没有规则允许修改 %s",
		"something that nobody has foreseen":                               "something that nobody has foreseen",
	} {
		if got := reason(c, english); got != want {
			t.Errorf("%q is %q", english, got)
		}
		if got := reason(screen.Canvas{}, english); got != english {
			t.Errorf("in English %q is %q", english, got)
		}
	}
}
