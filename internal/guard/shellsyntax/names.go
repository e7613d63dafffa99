package shellsyntax

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A variable is what the whole text says about one name, regardless of order: in a loop, what is assigned below is
// seen above.
type variable struct {
	values  []string // every literal value that is assigned to it
	unknown bool     // it is also given values that cannot be known
	foreign bool     // and these may be more than numbers
}

func (v *variable) lose() { v.unknown, v.foreign = true, true }

// assigned reports whether the text gives name a value.
func (a *analysis) assigned(name string) bool { return a.vars[name] != nil }

func (a *analysis) variable(name string) *variable {
	v := a.vars[name]
	if v == nil {
		if a.vars == nil {
			a.vars = map[string]*variable{}
		}
		v = &variable{}
		a.vars[name] = v
	}
	return v
}

// collect learns the names that the text defines, before any command is looked at.
func (a *analysis) collect(f *syntax.File) {
	none := &scope{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			if n.Name != nil {
				if a.funcs == nil {
					a.funcs = map[string][]*syntax.FuncDecl{}
				}
				a.funcs[n.Name.Value] = append(a.funcs[n.Name.Value], n)
			}
		case *syntax.Assign:
			a.collectAssign(n, none)
		case *syntax.ForClause:
			if it, ok := n.Loop.(*syntax.WordIter); ok {
				a.collectLoop(it, none)
			}
		case *syntax.DeclClause:
			for _, arg := range n.Args {
				if arg.Naked && arg.Name == nil {
					if o := a.one(arg.Value, none); !strings.HasPrefix(o, "-") || strings.ContainsAny(o, "n"+Wild) {
						a.wild = true // a reference to another variable, or something that is only known at run time
					}
				}
			}
		case *syntax.ParamExp:
			if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				a.variable(n.Param.Value).lose()
			}
		case *syntax.BinaryArithm:
			if n.Op >= syntax.Assgn || strings.HasSuffix(n.Op.String(), "=") {
				a.arithmeticName(n.X)
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				a.arithmeticName(n.X)
			}
		case *syntax.Redirect:
			if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
				a.variable(strings.Trim(n.N.Value, "{}")).unknown = true
			}
		case *syntax.CoprocClause:
			a.variable("COPROC").lose()
		}
		return true
	})
	// Which commands set variables is known only when the variables that may name a command are.
	known := &scope{defined: map[string]bool{}}
	for name := range a.vars {
		known.defined[name] = true
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			for _, words := range a.words(call.Args[0], known) {
				if len(words) > 0 {
					a.collectCall(words[0].Pattern, call, none)
				}
			}
		}
		return true
	})
}

func (a *analysis) arithmeticName(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) == 0 {
		return
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		if isName(p.Value) {
			a.variable(p.Value).unknown = true
		}
	case *syntax.ParamExp:
		if p.Param != nil {
			a.variable(p.Param.Value).unknown = true
		}
	}
}

func (a *analysis) collectAssign(n *syntax.Assign, none *scope) {
	if n.Name == nil || n.Naked {
		return
	}
	v := a.variable(n.Name.Value)
	if n.Name.Value == "IFS" {
		a.wild = true
	}
	if n.Append || n.Index != nil || n.Array != nil {
		v.lose()
		return
	}
	if isNumber(n.Value) {
		v.unknown = true
		return
	}
	v.add(a.assignedValue(n.Value, none))
}

// isNumber reports whether the word is nothing but an arithmetic expansion.
func isNumber(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.ArithmExp)
	return ok
}

// assignedValue is the value of an assignment, in which globs stay as they are.
func (a *analysis) assignedValue(w *syntax.Word, sc *scope) string {
	value := a.one(w, sc)
	if strings.ContainsAny(value, Wild) {
		return string(AnyText)
	}
	return value
}

func (v *variable) add(value string) {
	if value == string(AnyText) {
		v.lose()
		return
	}
	v.values = append(v.values, value)
}

func (a *analysis) collectLoop(it *syntax.WordIter, none *scope) {
	v := a.variable(it.Name.Value)
	if !it.InPos.IsValid() {
		v.lose()
	}
	for _, w := range it.Items {
		for _, list := range a.words(w, none) {
			for _, item := range list {
				if strings.ContainsRune(item.Pattern, AnyText) {
					v.lose()
				}
				v.values = append(v.values, item.Pattern)
			}
		}
	}
}

// collectCall finds the builtins that set variables by name.
func (a *analysis) collectCall(name string, n *syntax.CallExpr, none *scope) {
	switch name {
	case "read", "mapfile", "readarray", "getopts", "printf", "wait", "unset", "let", "select", "declare", "typeset", "local", "export", "readonly":
		for _, w := range n.Args[1:] {
			arg := a.one(w, none)
			if strings.ContainsAny(arg, Wild) && name != "printf" && name != "wait" {
				a.wild = true
			}
			arg = strings.TrimPrefix(arg, "-v")
			if before, _, ok := strings.Cut(arg, "="); ok {
				arg = before
			}
			if before, _, ok := strings.Cut(arg, "["); ok {
				arg = before
			}
			if isName(arg) {
				a.variable(arg).lose()
			}
		}
		if name == "read" || name == "mapfile" || name == "readarray" {
			a.variable("REPLY").lose()
			a.variable("MAPFILE").lose()
		}
	case "eval", "source", ".", "trap":
		a.wild = true
	case "shift":
		a.shifts = true
	case "set":
		a.shifts = true
		a.globs = true
	case "shopt":
		a.globs = true
	case "builtin", "command":
		if len(n.Args) > 1 {
			a.collectCall(a.one(n.Args[1], none), &syntax.CallExpr{Args: n.Args[1:]}, none)
		}
	}
	if strings.ContainsAny(name, Wild) {
		a.wild = true
	}
}

// harmlessVariable reports whether a variable may be set for one command without changing which program
// runs or what it runs in turn.
func harmlessVariable(name string) bool {
	switch name {
	case "NODE_ENV", "CI", "TERM", "TZ", "LANG", "LANGUAGE", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM",
		"GOOS", "GOARCH", "GOARM", "CGO_ENABLED", "GOMAXPROCS", "GOTRACEBACK", "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED",
		"PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "RAILS_ENV", "RACK_ENV", "APP_ENV", "DEBUG", "VERBOSE", "CARGO_TERM_COLOR", "TERM_PROGRAM":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// weightyVariable reports whether setting a variable of the shell itself changes what later commands mean. A name in
// lower case is the script's own, except for the few that programs know.
func weightyVariable(name string) bool {
	if harmlessVariable(name) {
		return false
	}
	for _, prefix := range []string{"LD_", "DYLD_", "GIT_", "BASH", "PYTHON", "NODE_", "NPM_", "npm_", "PERL", "RUBY", "LESS", "MAN", "SSH_", "GO", "CARGO", "RUST", "JAVA", "MAVEN",
		"DOCKER_", "XDG_", "FZF_", "RIPGREP_", "GREP_", "HTTP", "http", "ALL_PROXY", "all_proxy", "PIP_", "GEM_", "CC", "CXX", "MAKE", "TAR_", "RSYNC_", "ZDOTDIR", "CDPATH"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "PATH", "IFS", "ENV", "HOME", "PWD", "OLDPWD", "SHELL", "SHELLOPTS", "GLOBIGNORE", "EXECIGNORE", "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "FPATH", "fpath", "path",
		"PAGER", "EDITOR", "VISUAL", "BROWSER", "POSIXLY_CORRECT", "TMPDIR", "USER", "LOGNAME", "INPUTRC", "HISTFILE", "FIGNORE", "AWKPATH", "AWKLIBPATH", "CLASSPATH", "LOCPATH", "NLSPATH":
		return true
	}
	return false
}
