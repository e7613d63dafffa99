package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"gofer/internal/guard"
	"gofer/internal/guard/trust"
	"gofer/internal/llm"
	"gofer/internal/tool/person"
)

// A dialog asks the person at the terminal, line by line.
type dialog struct {
	out   io.Writer
	lines *bufio.Reader
	dir   string                 // to which the paths in calls are relative
	plan  func() (string, error) // reads the plan that was written to its file; nil: it cannot be
}

// terminalPeople asks the person at the terminal.
func terminalPeople(w World) people {
	d := &dialog{out: w.Stderr, lines: bufio.NewReader(w.Stdin), dir: w.Dir}
	return people{watched: true, askTrust: d.trust, asker: guard.AskFunc(d.permission)}
}

func (d *dialog) read() (string, error) {
	line, err := d.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

func (d *dialog) trust(dir string, s trust.State, surfaces []string) bool {
	what := "asks to run code of its own: " + strings.Join(surfaces, ", ")
	if s.Verdict == trust.Changed {
		what = "has changed what it runs: " + strings.Join(s.Changed, ", ")
	}
	if len(surfaces) == 0 {
		what = "is new to you, or brings rules about what may run without asking"
	}
	d.say("%s %s.\nDo you trust this folder? Its hooks, servers and allow rules count only then. [y/N] ", dir, what)
	answer, err := d.read()
	return err == nil && strings.HasPrefix(strings.ToLower(answer), "y")
}

func (d *dialog) permission(_ context.Context, r guard.Request) (guard.Answer, error) {
	switch r.Tool {
	case person.AskName:
		return d.questions(r.Input)
	case person.ExitPlanName:
		var in struct{ Plan string }
		if json.Unmarshal(r.Input, &in) == nil && in.Plan == "" && d.plan != nil {
			in.Plan, _ = d.plan() // the tool has looked that it is there
		}
		if in.Plan != "" {
			d.say("\nThe plan:\n%s\n", in.Plan)
		}
	}
	if r.Tool != person.ExitPlanName {
		d.say("\n%s\n%s", heading(r), d.what(r))
	}
	d.say("  %s\n", r.Decision.Reason)
	always := ""
	if len(r.Suggestions) > 0 {
		always = fmt.Sprintf("   [a] always (%s)", describeUpdate(r.Suggestions[0]))
	}
	d.say("[y] once%s   [n] no   or say what to do instead: ", always)
	answer, err := d.read()
	if err != nil {
		return guard.Answer{}, guard.ErrNoAnswer
	}
	switch strings.ToLower(answer) {
	case "y", "yes", "1":
		return guard.Answer{Allow: true}, nil
	case "a", "always", "2":
		if always != "" {
			return guard.Answer{Allow: true, Updates: r.Suggestions[:1]}, nil
		}
	case "n", "no", "":
		return guard.Answer{}, nil
	}
	return guard.Answer{Message: "The user did not allow this call, and says: " + answer}, nil
}

// questions puts the model's questions to the person, and the answers into the input.
func (d *dialog) questions(input json.RawMessage) (guard.Answer, error) {
	var in map[string]any
	var asked struct {
		Questions []struct {
			Question string
			Options  []struct{ Label, Description string }
		}
	}
	if err := errors.Join(json.Unmarshal(input, &in), json.Unmarshal(input, &asked)); err != nil {
		return guard.Answer{}, err
	}
	answers := map[string]string{}
	for _, q := range asked.Questions {
		d.say("\n%s\n", q.Question)
		for i, o := range q.Options {
			d.say("  [%d] %s  %s\n", i+1, o.Label, o.Description)
		}
		d.say("Numbers, or your own answer: ")
		line, err := d.read()
		if err != nil {
			return guard.Answer{}, guard.ErrNoAnswer
		}
		var chosen []string
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == ' ' }) {
			if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(q.Options) {
				chosen = append(chosen, q.Options[n-1].Label)
			} else {
				chosen = []string{line} // words of their own
				break
			}
		}
		answers[q.Question] = strings.Join(chosen, ", ")
	}
	in["answers"] = answers
	changed, err := llm.Marshal(in)
	return guard.Answer{Allow: true, UpdatedInput: changed}, err
}

// describeUpdate shows exactly what "always" would add.
func describeUpdate(u guard.Update) string {
	switch u.Type {
	case guard.AddRules:
		var rules []string
		for _, r := range u.Rules {
			rules = append(rules, r.String())
		}
		return fmt.Sprintf("%s %s, kept in %s", u.Behavior, strings.Join(rules, ", "), u.Destination)
	case guard.SetMode:
		return "mode " + string(u.Mode) + " for this session"
	case guard.AddDirectories:
		return "folder " + strings.Join(u.Directories, ", ")
	}
	return string(u.Type)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull && !isNull(info)
}

// isNull reports whether a file is the null device, under whatever name.
func isNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}
