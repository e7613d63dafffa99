package shellsyntax

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// inside finds the commands that are substituted into a word, and the expansions that run code from a value.
func (a *analysis) inside(n syntax.Node, sc *scope) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			a.in("$( )", n.Stmts, sc)
			return false
		case *syntax.ProcSubst:
			a.in("<( )", n.Stmts, sc)
			return false
		case *syntax.ParamExp:
			if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && !strings.Contains("QEAaKkULu", n.Exp.Word.Lit()) {
				a.emit(&Command{Source: a.text(n), Text: a.text(n), Doubt: "the value of the variable is run as a prompt"})
			}
			if _, all := n.Index.(*syntax.Word); n.Excl && n.Names == 0 && !all {
				a.emit(&Command{Source: a.text(n), Text: a.text(n), Doubt: "the name of the variable is in another variable"})
			}
			if why := a.arithmeticDoubt(n.Index, n.Slice); why != "" {
				a.emit(&Command{Source: a.text(n), Text: a.text(n), Doubt: why})
			}
		case *syntax.ArithmExp:
			if why := a.evaluated(n.X); why != "" {
				a.emit(&Command{Source: a.text(n), Text: a.text(n), Doubt: why})
			}
		}
		return true
	})
}

func (a *analysis) arithmeticDoubt(index syntax.ArithmExpr, slice *syntax.Slice) string {
	if slice != nil {
		for _, x := range []syntax.ArithmExpr{slice.Offset, slice.Length} {
			if x != nil {
				if why := a.evaluated(x); why != "" {
					return why
				}
			}
		}
	}
	if index == nil {
		return ""
	}
	return a.evaluated(index)
}

// evaluated says why an arithmetic expression may run a command: bash evaluates the values of variables in it as
// expressions again, and a[$(cmd)] in such a value runs cmd.
func (a *analysis) evaluated(x syntax.Node) (why string) {
	const doubt = "arithmetic evaluates a value that may hold a command"
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			why = doubt // its output is evaluated
			return false
		case *syntax.SglQuoted:
			if smuggles(n.Value) {
				why = doubt
			}
		case *syntax.ParamExp:
			if n.Param != nil && strings.Trim(n.Param.Value, "123456789@*") == "" {
				why = doubt // an argument, which may be anything
			}
		case *syntax.Lit:
			name := strings.TrimLeft(n.Value, "$")
			if smuggles(unescapeQuoted(n.Value)) || a.tainted(name) {
				why = doubt
			}
		}
		return true
	})
	return why
}

// tainted reports whether the variable may hold text that arithmetic would run.
func (a *analysis) tainted(name string) bool {
	v := a.vars[name]
	if v == nil {
		return false
	}
	return a.wild || v.foreign || slices.ContainsFunc(v.values, smuggles)
}

func smuggles(s string) bool {
	return strings.Contains(s, "$(") || strings.Contains(s, "`") || strings.Contains(s, "${")
}

// expression lists a test or an arithmetic command. Neither writes, but both may run what is substituted in them.
func (a *analysis) expression(name string, n syntax.Node, sc *scope) {
	a.inside(n, sc)
	c := &Command{Name: name, Source: a.text(n), Text: a.text(n), ReadOnly: true, Dirs: sc.dirs}
	if t, ok := n.(*syntax.TestClause); ok {
		c.Doubt = a.testDoubt(t, sc)
	} else {
		c.Doubt = a.evaluated(n)
	}
	a.emit(c)
}

func (a *analysis) testDoubt(t *syntax.TestClause, sc *scope) (why string) {
	syntax.Walk(t, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
				for _, x := range []syntax.TestExpr{n.X, n.Y} {
					if w, ok := x.(*syntax.Word); ok && (smuggles(a.one(w, sc)) || a.evaluated(w) != "") {
						why = "a comparison of numbers evaluates a value that may hold a command"
					}
				}
			}
		case *syntax.UnaryTest:
			if w, ok := n.X.(*syntax.Word); ok && n.Op == syntax.TsVarSet && strings.ContainsAny(a.one(w, sc), "[$`"+Wild) {
				why = "-v evaluates the name that it is given"
			}
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		}
		return true
	})
	return why
}

// declaration lists declare, local, export and their kin.
func (a *analysis) declaration(d *syntax.DeclClause, sc *scope) {
	a.inside(d, sc)
	name := d.Variant.Value
	c := &Command{Name: name, Source: a.text(d), Text: strings.Join(strings.Fields(a.text(d)), " "), ReadOnly: name != "export", Dirs: sc.dirs}
	for _, f := range strings.Fields(c.Text) {
		c.Args = append(c.Args, Word{Pattern: f})
	}
	for _, arg := range d.Args {
		switch {
		case arg.Naked && arg.Name == nil:
			if o := a.one(arg.Value, sc); strings.ContainsAny(o, "xni"+Wild) {
				c.ReadOnly = false
			}
		case arg.Name != nil:
			c.Assigns = append(c.Assigns, arg.Name.Value)
			if !arg.Naked {
				sc.define(arg.Name.Value)
			}
			if weightyVariable(arg.Name.Value) {
				c.Doubt = arg.Name.Value + " changes what later commands do"
			}
			if arg.Index != nil && a.evaluated(arg.Index) != "" {
				c.Doubt = a.evaluated(arg.Index)
			}
		}
	}
	a.emit(c)
}
