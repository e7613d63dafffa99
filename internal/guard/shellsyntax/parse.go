package shellsyntax

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Parse analyses a command.
func Parse(command string, opts Options) *Script {
	budget, lost := maxCommands, false
	a := &analysis{opts: opts, budget: &budget, lost: &lost}
	sc := &scope{}
	if opts.Dir != "" {
		sc.dirs = []string{opts.Dir}
	}
	s := &Script{}
	if len(command) > MaxLength {
		s.Partial = true
		s.Err = fmt.Errorf("it is longer than %d bytes", MaxLength)
		return s
	}
	s.Err = a.script(command, sc, syntax.LangBash)
	s.Commands = a.out
	s.Moves = opts.Dir == "" || len(sc.dirs) != 1 || sc.dirs[0] != opts.Dir
	s.Partial = lost || budget <= 0
	return s
}

// script walks a whole text. What could be understood before an error is walked as well, and the rest is
// searched roughly, because a shell runs the lines before the one that it cannot parse.
func (a *analysis) script(src string, sc *scope, lang syntax.LangVariant) error {
	a.src = src
	if strings.ContainsAny(src, Wild) {
		a.rough(strings.NewReplacer("\x00", " ", "\x01", " ", "\x02", " ", "\x03", " ").Replace(src), sc)
		return fmt.Errorf("it holds control characters")
	}
	if nesting(src) > maxNesting {
		*a.lost = true
		a.rough(src, sc)
		return errNested
	}
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(src), "")
	if err != nil {
		a.rough(src, sc)
		return err
	}
	if deep(file) {
		*a.lost = true
		a.rough(src, sc)
		return errNested
	}
	a.collect(file)
	a.stmts(file.Stmts, sc)
	if *a.budget <= 0 {
		return fmt.Errorf("it runs more than %d commands", maxCommands)
	}
	return nil
}

func nesting(s string) int {
	depth, most := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '{', '`':
			depth++
			most = max(most, depth)
		case ')', '}':
			depth = max(depth-1, 0)
		}
	}
	return most
}

// deep reports whether the tree is so deep that walking it again and again would take long.
func deep(file *syntax.File) bool {
	depth, most := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		most = max(most, depth)
		return true
	})
	return most > maxTree
}

// rough lists what looks like commands in a text that cannot be parsed, so that rules that deny still meet them.
func (a *analysis) rough(src string, sc *scope) {
	split := func(r rune) bool { return strings.ContainsRune(";&|\n(){}`$", r) }
	for _, line := range strings.FieldsFunc(src, split) {
		var args []Word
		for _, f := range strings.Fields(line) {
			args = append(args, Word{Pattern: strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(f)})
		}
		if len(args) == 0 || *a.budget <= 0 {
			continue
		}
		for c := range slices.Values(a.simple(args, nil, nil, sc)) {
			c.Doubt = "the text could not be parsed"
			a.out = append(a.out, c)
		}
	}
}
