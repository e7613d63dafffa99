package shellsyntax

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxCommands = 8192 // of one script, with everything that functions and wrappers unfold to
	maxDepth    = 12   // of scripts within scripts and functions within functions
	maxNesting  = 400  // of brackets in the text
	maxTree     = 1500 // of the syntax tree
	maxDirs     = 4    // places where a command may run
)

type analysis struct {
	opts    Options
	src     string
	vars    map[string]*variable
	funcs   map[string][]*syntax.FuncDecl
	alias   map[string]bool
	wild    bool // variables may get values that the tree does not show
	globs   bool // the options for globs may be changed
	shifts  bool // the parameters of functions may move
	budget  *int
	lost    *bool           // something was not looked at
	walking map[string]bool // the functions that are being walked
	depth   int
	out     []*Command
	flow    []string // what the last call printed; see prints
	via     string
	asleep  bool // inside a function that is only being defined
}

// A scope is what is true at one place of the text.
type scope struct {
	dirs    []string // where the shell may be; nil if unknown
	defined map[string]bool
	funcs   map[string]bool
	params  []string // of the function; nil if unknown
	stdin   []string // the names of files, as patterns, that come through the pipe before a command; nil if unknown
}

func (sc *scope) clone() *scope {
	c := &scope{dirs: sc.dirs, params: sc.params}
	if len(sc.defined) > 0 {
		c.defined = map[string]bool{}
		for k := range sc.defined {
			c.defined[k] = true
		}
	}
	if len(sc.funcs) > 0 {
		c.funcs = map[string]bool{}
		for k := range sc.funcs {
			c.funcs[k] = true
		}
	}
	return c
}

func (sc *scope) define(name string) {
	if sc.defined == nil {
		sc.defined = map[string]bool{}
	}
	sc.defined[name] = true
}

func (a *analysis) text(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(a.src) || from >= to {
		return ""
	}
	return a.src[from:to]
}

func (a *analysis) stmts(list []*syntax.Stmt, sc *scope) (ok []string) {
	ok = sc.dirs
	for _, s := range list {
		ok = a.stmt(s, sc)
	}
	return ok
}

// in walks the statements in a place of their own: what changes there is not seen outside.
func (a *analysis) in(via string, list []*syntax.Stmt, sc *scope) {
	before := a.via
	a.via = via
	a.stmts(list, sc.clone())
	a.via = before
}

// stmt walks one statement. Afterwards sc.dirs is where the shell may be; the result is where it is if the statement
// succeeded, which is what the right side of && may count on.
func (a *analysis) stmt(s *syntax.Stmt, sc *scope) (ok []string) {
	if *a.budget <= 0 {
		return sc.dirs
	}
	if s.Background || s.Coprocess || s.Disown {
		inner := *s
		inner.Background, inner.Coprocess, inner.Disown = false, false, false
		a.stmt(&inner, sc.clone())
		return sc.dirs
	}
	files, feed := a.redirects(s, sc)
	call, simple := s.Cmd.(*syntax.CallExpr)
	if simple {
		ok = a.call(call, files, feed, sc)
	} else {
		if len(files) > 0 {
			a.emit(&Command{Source: a.redirectText(s), Text: a.redirectText(s), Files: files, ReadOnly: true, Dirs: sc.dirs})
		}
		ok = a.command(s.Cmd, sc)
	}
	if s.Negated {
		return sc.dirs
	}
	return ok
}

func (a *analysis) redirectText(s *syntax.Stmt) string {
	var parts []string
	for _, r := range s.Redirs {
		if r.Hdoc == nil {
			parts = append(parts, a.text(r))
		}
	}
	return strings.Join(parts, " ")
}

func (a *analysis) emit(c *Command) {
	*a.budget--
	if *a.budget <= 0 {
		return
	}
	if c.Via == "" {
		c.Via = a.via
	}
	c.Dormant = c.Dormant || a.asleep
	a.out = append(a.out, c)
}

func (a *analysis) command(cmd syntax.Command, sc *scope) (ok []string) {
	switch cmd := cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		return a.binary(cmd, sc)
	case *syntax.Block:
		return a.stmts(cmd.Stmts, sc)
	case *syntax.Subshell:
		a.in(a.via, cmd.Stmts, sc)
	case *syntax.IfClause:
		a.conditional(cmd, sc)
	case *syntax.WhileClause:
		a.loop(sc, cmd.Do, cmd.Cond)
	case *syntax.ForClause:
		a.forLoop(cmd, sc)
	case *syntax.CaseClause:
		a.caseClause(cmd, sc)
	case *syntax.FuncDecl:
		a.function(cmd, sc)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return a.stmt(cmd.Stmt, sc)
		}
	case *syntax.CoprocClause:
		if cmd.Name != nil {
			a.inside(cmd.Name, sc)
		}
		a.stmt(cmd.Stmt, sc.clone())
	case *syntax.DeclClause:
		a.declaration(cmd, sc)
	case *syntax.ArithmCmd:
		a.expression("((", cmd, sc)
	case *syntax.LetClause:
		a.expression("let", cmd, sc)
	case *syntax.TestClause:
		a.expression("[[", cmd, sc)
	default:
		a.emit(&Command{Source: a.text(cmd), Text: a.text(cmd), Doubt: "this form of the shell is not understood"})
	}
	return sc.dirs
}

func (a *analysis) binary(b *syntax.BinaryCmd, sc *scope) (ok []string) {
	switch b.Op {
	case syntax.AndStmt:
		left := a.stmt(b.X, sc)
		either := sc.dirs
		right := sc.clone()
		right.dirs = left
		ok = a.stmt(b.Y, right)
		sc.dirs = union(either, right.dirs)
		return ok
	case syntax.OrStmt:
		left := a.stmt(b.X, sc)
		right := sc.clone()
		ok = a.stmt(b.Y, right)
		sc.dirs = union(sc.dirs, right.dirs)
		return union(left, ok)
	}
	a.pipe(b, sc)
	return sc.dirs
}

func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	all := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	if len(all) > maxDirs {
		return nil
	}
	return all
}

func (a *analysis) conditional(c *syntax.IfClause, sc *scope) {
	ok := a.stmts(c.Cond, sc)
	then := sc.clone()
	if len(c.Cond) > 0 {
		then.dirs = ok
	}
	a.stmts(c.Then, then)
	otherwise := sc.clone()
	if c.Else != nil {
		a.conditional(c.Else, otherwise)
	}
	sc.dirs = union(then.dirs, otherwise.dirs)
}

func (a *analysis) forLoop(c *syntax.ForClause, sc *scope) {
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		for _, w := range loop.Items {
			a.inside(w, sc)
		}
		inner := sc.clone()
		inner.define(loop.Name.Value)
		a.loop(inner, c.Do, nil)
		sc.dirs = union(sc.dirs, inner.dirs)
		return
	case *syntax.CStyleLoop:
		a.expression("((", loop, sc)
	}
	a.loop(sc, c.Do, nil)
}

// loop walks what may run again and again. When it changes the folder, nobody knows where the next round is.
func (a *analysis) loop(sc *scope, body, cond []*syntax.Stmt) {
	if a.moves(body) || a.moves(cond) {
		sc.dirs = nil
	}
	inner := sc.clone()
	a.stmts(cond, inner)
	a.stmts(body, inner)
	sc.dirs = union(sc.dirs, inner.dirs)
}

// moves reports whether the statements may change the folder of the shell.
func (a *analysis) moves(list []*syntax.Stmt) (found bool) {
	none := &scope{}
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
				return false // what moves there is another shell
			}
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				name := a.one(call.Args[0], none)
				found = found || name == "cd" || name == "pushd" || name == "popd" || name == "builtin" || name == "command" || name == "eval" ||
					name == "source" || name == "." || a.funcs[name] != nil || strings.ContainsAny(name, Wild)
			}
			return !found
		})
	}
	return found
}

func (a *analysis) caseClause(c *syntax.CaseClause, sc *scope) {
	a.inside(c.Word, sc)
	after := sc.dirs
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			a.inside(p, sc)
		}
		inner := sc.clone()
		a.stmts(item.Stmts, inner)
		after = union(after, inner.dirs)
	}
	sc.dirs = after
}

// function walks the body where it is defined, for the rules that deny. What it does counts where it is called.
func (a *analysis) function(f *syntax.FuncDecl, sc *scope) {
	if f.Name == nil || f.Body == nil {
		a.emit(&Command{Source: a.text(f), Text: a.text(f), Doubt: "a function without a name"})
		return
	}
	name := f.Name.Value
	if sc.funcs == nil {
		sc.funcs = map[string]bool{}
	}
	sc.funcs[name] = true
	before, via := a.asleep, a.via
	a.asleep = name != "command_not_found_handle" // which the shell calls by itself
	a.via = "function " + name
	inner := sc.clone()
	inner.params, inner.dirs = nil, nil
	inner.defined = nil
	a.depth++
	if a.depth <= maxDepth {
		a.stmt(f.Body, inner)
	} else {
		*a.lost = true
	}
	a.depth--
	a.asleep, a.via = before, via
}
