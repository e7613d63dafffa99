package app

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"gofer/internal/guard"
	"gofer/internal/guard/trust"
)

// terminalPeople asks the person at the terminal, line by line.
func terminalPeople(w World) people {
	lines := bufio.NewReader(w.Stdin)
	read := func() (string, error) {
		line, err := lines.ReadString('\n')
		return strings.TrimSpace(line), err
	}
	return people{
		watched: true,
		askTrust: func(dir string, s trust.State, surfaces []string) bool {
			what := "asks to run code of its own: " + strings.Join(surfaces, ", ")
			if s.Verdict == trust.Changed {
				what = "has changed what it runs: " + strings.Join(s.Changed, ", ")
			}
			fmt.Fprintf(w.Stderr, "%s %s.\nDo you trust this folder? Its hooks, servers and allow rules count only then. [y/N] ", dir, what)
			answer, err := read()
			return err == nil && strings.HasPrefix(strings.ToLower(answer), "y")
		},
		asker: guard.AskFunc(func(ctx context.Context, r guard.Request) (guard.Answer, error) {
			fmt.Fprintf(w.Stderr, "\n%s wants to: %s\n  %s\n", r.Tool, r.Title, r.Decision.Reason)
			always := ""
			if len(r.Suggestions) > 0 {
				always = describeUpdate(r.Suggestions[0])
				fmt.Fprintf(w.Stderr, "[y] once   [a] always (%s)   [n] no   or say what to do instead: ", always)
			} else {
				fmt.Fprint(w.Stderr, "[y] once   [n] no   or say what to do instead: ")
			}
			answer, err := read()
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
		}),
	}
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
