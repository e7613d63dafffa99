package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parse returns the commands of a script, or nil if it is not valid.
func parse(command string) []*syntax.Stmt {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	return f.Stmts
}

// words returns the leading plain words of the simple command at the end of a statement: the one whose exit code counts.
func lastWords(s *syntax.Stmt) []string {
	if s == nil || s.Negated || s.Background {
		return nil
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return lastWords(c.Y)
	case *syntax.TimeClause:
		return lastWords(c.Stmt)
	case *syntax.TestClause:
		return []string{"[["}
	case *syntax.CallExpr:
		return plainWords(c)
	}
	return nil
}

func plainWords(c *syntax.CallExpr) []string {
	var words []string
	for _, w := range c.Args {
		lit := w.Lit()
		if lit == "" {
			break
		}
		words = append(words, lit)
	}
	return words
}

// answerOf says what exit code 1 of a command means when it is an answer and not a failure; else "".
func answerOf(command string, code int) string {
	if code != 1 {
		return ""
	}
	stmts := parse(command)
	if len(stmts) == 0 {
		return ""
	}
	words := lastWords(stmts[len(stmts)-1])
	if len(words) == 0 {
		return ""
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if name == "git" && len(words) > 1 {
		name += " " + words[1]
	}
	switch name {
	case "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "git grep":
		return "nothing matched"
	case "diff", "cmp", "colordiff", "git diff":
		return "there are differences"
	case "test", "[", "[[":
		return "the condition is false"
	case "find":
		return "some folders could not be searched"
	case "pgrep", "pidof", "pkill":
		return "no process matched"
	case "which", "type", "command":
		return "not found"
	}
	return ""
}

// printsNothing reports whether a command does its work in silence.
func printsNothing(command string) bool {
	stmts := parse(command)
	if len(stmts) == 0 {
		return false
	}
	words := lastWords(stmts[len(stmts)-1])
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "mv", "cp", "rm", "mkdir", "rmdir", "chmod", "chown", "chgrp", "touch", "ln", "cd", "export", "unset", "wait", ":", "true":
		return true
	}
	return false
}

// sleeps reports whether a command begins with a sleep of two seconds or more: that is waiting by guess.
func sleeps(command string) bool {
	if !strings.HasPrefix(strings.TrimSpace(command), "sleep") {
		return false
	}
	stmts := parse(command)
	if len(stmts) == 0 || stmts[0].Background {
		return false
	}
	first := stmts[0]
	for {
		b, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		first = b.X
	}
	call, ok := first.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	words := plainWords(call)
	if len(words) != 2 || words[0] != "sleep" {
		return false
	}
	number, unit := strings.TrimRight(words[1], "smhd"), 1.0
	if strings.ContainsAny(words[1], "mhd") {
		unit = 60
	}
	n, err := strconv.ParseFloat(number, 64)
	return err == nil && n*unit >= 2
}

// changesDir reports whether a command may leave the shell in another folder.
func changesDir(command string) bool {
	stmts := parse(command)
	if stmts == nil {
		return true
	}
	found := false
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
				return false // these have a folder of their own
			case *syntax.CallExpr:
				if words := plainWords(n); len(words) > 0 {
					switch words[0] {
					case "cd", "pushd", "popd", "eval", "source", ".", "builtin", "command":
						found = true
					}
				}
			}
			return !found
		})
	}
	return found
}
