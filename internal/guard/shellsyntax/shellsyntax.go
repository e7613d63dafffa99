// Package shellsyntax tells what a shell command would do, from its syntax tree and without running anything.
//
// It promises that every simple command is listed wherever it stands in the text: in lists, pipes, subshells,
// substitutions, here-documents, functions, conditions and loops, behind wrappers such as env, timeout, xargs or
// bash -c, and behind functions and aliases that the text itself defines. For each of them it says which files are
// read and written, whether the command is known to change nothing, and why, if so, it cannot be known (Doubt).
// It never guesses in the direction of danger: a word that depends on the run is a pattern, and a command
// that is not in the table is not read-only. No input makes it panic, and its work is bounded.
package shellsyntax

import (
	"errors"
	"strings"
)

// A pattern is a string in which these bytes stand for what only the run will show. Everything else is literal.
const (
	AnyText = '\x00' // any text, also none, also with slashes
	AnyName = '\x01' // any text without a slash: the * of a glob
	AnyChar = '\x02' // one character without a slash: ? or [abc] of a glob
	AnyPath = '\x03' // as a whole element of a path: any number of names, none of them ..
)

// Wild holds the bytes with a special meaning in a pattern.
const Wild = "\x00\x01\x02\x03"

// MaxLength is the length of the longest command that is looked at. Linux refuses a longer argument anyway.
const MaxLength = 128 << 10

// Options are the surroundings of a command.
type Options struct {
	Dir  string // where it starts; empty if that is not known
	Home string // the home folder; empty if that is not known
}

// A Script is a command line, analysed.
type Script struct {
	Commands []*Command // every simple command; those behind wrappers are in Inner of the wrapper
	Err      error      // why the text could not be parsed; Commands then holds what could be made out of it
	Moves    bool       // the shell may be in another folder afterwards
	Partial  bool       // the text is too long or too entangled: there may be commands in it that are not listed
}

// A Word is one argument after expansion.
type Word struct {
	Pattern string // the value; see AnyText
	Source  string // as it was written, when it is not just Pattern
	Many    bool   // it may become no word or several
}

// Known reports whether the value is the same in every run.
func (w Word) Known() bool { return !w.Many && !strings.ContainsAny(w.Pattern, Wild) }

// maybeFlag reports whether w is, or may turn out to be, an option.
func (w Word) maybeFlag() bool {
	return w.Pattern != "" && (w.Pattern[0] == '-' || w.Pattern[0] <= AnyPath)
}

// A Command is one simple command.
type Command struct {
	Name     string   // the last element of the program's name; empty if unknown or if there is none
	ByPath   bool     // the program was named by a path, so that Name may be any program
	Args     []Word   // the program's name first; empty for bare assignments and redirections
	Assigns  []string // names of the variables set before it
	Text     string   // the command in one normal form: single blanks, quotes only where needed, no assignments
	Source   string   // as it was written
	Via      string   // what it stands in, such as "$( )", "xargs" or "function f"; empty at the top
	Dirs     []string // where it may run; nil if unknown
	Files    []File   // what it reads and writes, as far as the tree shows it
	Mentions []string // pieces of the arguments of a program that may read or write any file it is told of
	Inner    []*Command
	Kind     Kind
	ReadOnly bool   // it changes nothing; Files says what it reads
	Function bool   // the name is a function of the text, whatever program has the same name
	Foreign  bool   // the program is not in the tables: it may be a wrapper around its own arguments
	Dormant  bool   // the body of a function at its definition: it runs only where the function is called
	Doubt    string // why it cannot be known what it does; empty if it can
}

// Kind says how a command relates to its Inner commands.
type Kind int

const (
	Plain     Kind = iota // a program; Inner commands come in addition
	Wrapper               // it only runs its Inner commands
	Elevating             // it runs its Inner commands with more rights or in another place
)

// Use says what is done to a file.
type Use int

const (
	Read  Use = iota // its content
	Look             // its name, size or existence
	Write            // it is made, changed or removed
)

// A File is a file that a command uses.
type File struct {
	Use    Use
	Path   string // an absolute path that is not cleaned (it may have .. behind a symlink); a pattern; AnyText alone if unknown
	Below  bool   // and all that is below it
	Hidden bool   // with Below: names that begin with a dot are included
	Remove bool   // the file goes away
	Aside  bool   // a redirection or an option made a command write that in itself does not
}

var errNested = errors.New("it is nested too deeply")

// ReadOnly reports whether command, wherever it is run, changes nothing: every simple command in it is known to
// only read, with the options it has, nothing is redirected to a file, and the shell stays where it is.
func ReadOnly(command string) bool {
	s := Parse(command, Options{Dir: "/"})
	return s.ReadOnly() && !s.Moves
}

// ReadOnly reports whether the script changes nothing.
func (s *Script) ReadOnly() bool {
	if s.Err != nil || s.Partial {
		return false
	}
	for _, c := range s.Commands {
		if !c.Dormant && !c.Harmless() {
			return false
		}
	}
	return true
}

// Harmless reports whether c and all that it runs change nothing.
func (c *Command) Harmless() bool {
	if c.Doubt != "" || c.Kind == Elevating || !c.ReadOnly && c.Kind != Wrapper {
		return false
	}
	for _, f := range c.Files {
		if f.Use == Write && !Discards(f.Path) {
			return false
		}
	}
	for _, in := range c.Inner {
		if !in.Harmless() {
			return false
		}
	}
	return true
}

// Discards reports whether writing to path leaves nothing behind, as with /dev/null.
func Discards(path string) bool {
	switch path {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	return isDescriptor(path)
}

// Stream reports whether path is a device from which anyone may read.
func Stream(path string) bool {
	switch path {
	case "/dev/null", "/dev/stdin", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty":
		return true
	}
	return isDescriptor(path)
}

func isDescriptor(path string) bool {
	n, ok := strings.CutPrefix(path, "/dev/fd/")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

// All calls f for each command of the script, those behind wrappers included.
func (s *Script) All(f func(*Command)) { each(s.Commands, f) }

func each(list []*Command, f func(*Command)) {
	for _, c := range list {
		f(c)
		each(c.Inner, f)
	}
}
