// Package cli reads command lines the way the scripts of other agents write them.
//
// Flags are the fields of a struct. Both --flag=value and --flag value work. A list flag takes commas or spaces, may be
// repeated, and takes every following word that is not a flag; a flag with an optional value takes the next word unless it is a
// flag. These two rules are why none of the usual libraries fits. A flag that is not known is an error that names it.
package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// An Optional is a flag whose value may be left out.
type Optional struct {
	Set   bool
	Value string
}

// A List is a flag that takes several values.
type List struct {
	Set    bool
	Values []string
}

// A Lister splits one word of a list flag into its values.
type Lister func(string) []string

// SplitCommas is the Lister for plain lists.
func SplitCommas(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
}

type flag struct {
	names  []string // without dashes, the long one first
	value  reflect.Value
	metric string
	help   string
	hidden bool
	list   Lister
}

// An Error is a mistake in the command line.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Parse reads args into the struct that into points to and returns the words that are no flags. Fields have tags
// `flag:"print,p"`, `help:"…"`, `arg:"name"` (what the value is called in help), `enum:"a|b"` and `hidden:"1"`. Types are bool,
// string, int, float64, *string (to tell "" from absent), []string (one value each time the flag is given), Optional and List.
func Parse(args []string, into any, lists map[string]Lister) (words []string, err error) {
	flags := flagsOf(into, lists)
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(words, args[i+1:]...), nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			words = append(words, arg)
			continue
		case !strings.HasPrefix(arg, "--") && len(arg) > 2 && arg[2] != '=':
			// Short flags in one word: all but the last must be switches.
			expanded, ok := expandShort(arg, flags)
			if ok {
				args = slices.Replace(slices.Clone(args), i, i+1, expanded...)
				arg = args[i]
			}
		}
		name, value, hasValue := strings.Cut(arg, "=")
		f := find(flags, name)
		if f == nil {
			return nil, errorf("unknown option '%s'%s", name, nearest(flags, name))
		}
		used, err := f.take(name, value, hasValue, args[i+1:])
		if err != nil {
			return nil, err
		}
		i += used
	}
	return words, nil
}

func expandShort(arg string, flags []*flag) ([]string, bool) {
	var out []string
	for i, c := range arg[1:] {
		f := find(flags, "-"+string(c))
		if f == nil {
			return nil, false
		}
		if f.value.Kind() != reflect.Bool {
			rest := arg[1+i+1:]
			if rest != "" {
				return append(out, "-"+string(c)+"="+strings.TrimPrefix(rest, "=")), true
			}
		}
		out = append(out, "-"+string(c))
	}
	return out, true
}

func flagsOf(into any, lists map[string]Lister) []*flag {
	var flags []*flag
	v := reflect.ValueOf(into).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		tag := field.Tag.Get("flag")
		if tag == "" {
			continue
		}
		f := &flag{names: strings.Split(tag, ","), value: v.FieldByIndex(field.Index), help: field.Tag.Get("help"),
			metric: field.Tag.Get("arg"), hidden: field.Tag.Get("hidden") != "", list: SplitCommas}
		if l := lists[f.names[0]]; l != nil {
			f.list = l
		}
		if enum := field.Tag.Get("enum"); enum != "" && f.metric == "" {
			f.metric = enum
		}
		flags = append(flags, f)
	}
	return flags
}

func find(flags []*flag, dashed string) *flag {
	name := strings.TrimLeft(dashed, "-")
	long := strings.HasPrefix(dashed, "--")
	for _, f := range flags {
		for _, n := range f.names {
			if n == name && long == (len(n) > 1) {
				return f
			}
		}
	}
	return nil
}

// take sets the flag and returns how many of the following words it used.
func (f *flag) take(name, value string, hasValue bool, rest []string) (int, error) {
	next := func() (string, bool) {
		if len(rest) > 0 && (rest[0] == "-" || !strings.HasPrefix(rest[0], "-")) {
			return rest[0], true
		}
		return "", false
	}
	switch target := f.value.Addr().Interface().(type) {
	case *bool:
		if hasValue {
			on, err := strconv.ParseBool(value)
			if err != nil {
				return 0, errorf("option '%s' is a switch: it takes true or false, not %q", name, value)
			}
			*target = on
			return 0, nil
		}
		*target = true
		return 0, nil
	case *Optional:
		target.Set = true
		if hasValue {
			target.Value = value
			return 0, nil
		}
		if word, ok := next(); ok {
			target.Value = word
			return 1, nil
		}
		return 0, nil
	case *List:
		target.Set = true
		if hasValue {
			target.Values = append(target.Values, f.list(value)...)
			return 0, nil
		}
		used := 0
		for _, word := range rest {
			if strings.HasPrefix(word, "-") && word != "-" {
				break
			}
			target.Values = append(target.Values, f.list(word)...)
			used++
		}
		if used == 0 {
			return 0, errorf("option '%s <%s...>' needs a value", name, f.metric)
		}
		return used, nil
	}
	used := 0
	if !hasValue {
		// A value may begin with a dash only in the form --flag=value; text values of prompts are the exception.
		if len(rest) == 0 {
			return 0, errorf("option '%s <%s>' needs a value", name, f.metric)
		}
		value, used = rest[0], 1
	}
	return used, f.set(name, value)
}

func (f *flag) set(name, value string) error {
	switch target := f.value.Addr().Interface().(type) {
	case *string:
		if strings.Contains(f.metric, "|") && !slices.Contains(strings.Split(f.metric, "|"), value) {
			return errorf("option '%s' must be one of %s, not %q", name, strings.ReplaceAll(f.metric, "|", ", "), value)
		}
		*target = value
	case **string:
		*target = &value
	case *[]string:
		*target = append(*target, value)
	case *int:
		n, err := strconv.Atoi(value)
		if err != nil {
			return errorf("option '%s' takes a whole number, not %q", name, value)
		}
		*target = n
	case *float64:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || n != n {
			return errorf("option '%s' takes a number, not %q", name, value)
		}
		*target = n
	default:
		panic(fmt.Sprintf("cli: flag %s has the type %T", name, target))
	}
	return nil
}

// nearest suggests a known flag for a mistyped one.
func nearest(flags []*flag, dashed string) string {
	name := strings.TrimLeft(dashed, "-")
	best, bestDistance := "", 3
	for _, f := range flags {
		for _, n := range f.names {
			if d := distance(n, name); len(n) > 1 && !f.hidden && d < bestDistance {
				best, bestDistance = n, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean --%s?)", best)
}

// distance is the number of letters to add, drop or change between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Help describes the flags that are not hidden, one a line.
func Help(into any) string {
	var lines [][2]string
	width := 0
	for _, f := range flagsOf(into, nil) {
		if f.hidden {
			continue
		}
		var names []string
		for _, n := range slices.Backward(f.names) {
			if len(n) == 1 {
				names = append(names, "-"+n)
			} else {
				names = append(names, "--"+n)
			}
		}
		left := strings.Join(names, ", ")
		switch f.value.Addr().Interface().(type) {
		case *bool:
		case *Optional:
			left += " [" + f.metric + "]"
		case *List:
			left += " <" + f.metric + "...>"
		default:
			left += " <" + f.metric + ">"
		}
		width = max(width, min(len(left), 40))
		lines = append(lines, [2]string{left, f.help})
	}
	var b strings.Builder
	for _, l := range lines {
		if len(l[0]) > width {
			fmt.Fprintf(&b, "  %s\n  %-*s  %s\n", l[0], width, "", l[1])
			continue
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", width, l[0], l[1])
	}
	return b.String()
}
