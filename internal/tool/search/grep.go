package search

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gofer/internal/tool"
	"gofer/internal/tool/search/match"
)

//go:embed grep.md
var grepDoc string

type grepIn struct {
	Pattern    string `json:"pattern" minlen:"1" desc:"regular expression"`
	Path       string `json:"path,omitempty" desc:"file or folder; default: the working directory"`
	Glob       string `json:"glob,omitempty" desc:"only files that match, e.g. *.{ts,tsx} or !vendor/"`
	Type       string `json:"type,omitempty" desc:"only files of a type, e.g. go, js, py, rust, md"`
	OutputMode mode   `json:"output_mode,omitempty" enum:"files_with_matches|content|count" desc:"default files_with_matches"`
	After      int    `json:"-A,omitempty" min:"0" desc:"lines of context after each match"`
	Before     int    `json:"-B,omitempty" min:"0" desc:"lines before"`
	Around     int    `json:"-C,omitempty" min:"0" desc:"lines before and after"`
	Context    int    `json:"context,omitempty" min:"0" desc:"same as -C"`
	Numbers    *bool  `json:"-n,omitempty" desc:"line numbers; default true"`
	IgnoreCase bool   `json:"-i,omitempty" desc:"ignore case"`
	Only       bool   `json:"-o,omitempty" desc:"only the matching part of each line"`
	Multiline  bool   `json:"multiline,omitempty" desc:"matches may span lines; . matches line breaks"`
	HeadLimit  *int   `json:"head_limit,omitempty" min:"0" desc:"most entries to return; default 250, 0 for all"`
	Offset     int    `json:"offset,omitempty" min:"0" desc:"entries to skip"`
	Hidden     bool   `json:"hidden,omitempty" desc:"also hidden files"`
}

// grepData is the result for programs.
type grepData struct {
	Mode          mode     `json:"mode"`
	NumFiles      int      `json:"numFiles"`
	Filenames     []string `json:"filenames"`
	Content       string   `json:"content,omitempty"`
	NumLines      *int     `json:"numLines,omitempty"`
	NumMatches    *int     `json:"numMatches,omitempty"`
	AppliedLimit  *int     `json:"appliedLimit,omitempty"`
	AppliedOffset *int     `json:"appliedOffset,omitempty"`
}

func grepTool(env *Env) *tool.Tool {
	return tool.Define(tool.Spec[grepIn]{
		Name: "Grep", Doc: grepDoc, Hint: "search file contents with a regular expression",
		Traits: func(grepIn) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Access: func(in grepIn) []tool.Access { return []tool.Access{{Verb: tool.Read, Target: env.resolve(in.Path)}} },
		Title:  func(in grepIn) string { return "Searching for " + in.Pattern + env.where(in.Path) },
		Run: func(ctx context.Context, in grepIn, _ tool.Call) (tool.Result, error) {
			g := &grepCall{env: env, in: in}
			return g.run(ctx)
		},
	})
}

// A grepCall is one call of Grep.
type grepCall struct {
	env     *Env
	in      grepIn
	req     *request
	skipped skipped
	limit   int // entries to return
	named   bool
}

func (g *grepCall) run(ctx context.Context) (tool.Result, error) {
	pattern, err := match.Compile(g.in.Pattern, match.Options{IgnoreCase: g.in.IgnoreCase, Multiline: g.in.Multiline})
	if err != nil {
		return tool.Result{}, err
	}
	abs, info, err := g.env.locate(g.in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return tool.Result{}, fmt.Errorf("%s is neither a file nor a folder and cannot be searched", g.in.Path)
	}
	g.named = !info.IsDir()
	g.req = &request{
		pattern: pattern, mode: g.in.OutputMode, only: g.in.Only, named: g.named,
		before: max(g.in.Before, g.in.Around, g.in.Context), after: max(g.in.After, g.in.Around, g.in.Context),
		numbers: g.in.Numbers == nil || *g.in.Numbers,
	}
	if g.req.mode == "" {
		g.req.mode = modeFiles
	}
	if g.limit = g.env.GrepLimit; g.in.HeadLimit != nil {
		g.limit = *g.in.HeadLimit
	}
	if g.limit == 0 {
		g.limit = math.MaxInt32
	}
	greppers := g.greppers(ctx)
	if err := g.search(ctx, abs, greppers); err != nil {
		return tool.Result{}, err
	}
	if g.req.mode == modeContent {
		return g.content(greppers[0].lines), nil
	}
	var files []found
	for _, p := range greppers {
		files = append(files, p.files...)
	}
	if g.req.mode == modeCount {
		return g.counts(files), nil
	}
	return g.fileNames(files), nil
}

// maxKept bounds the lines that are kept for a result without a limit.
const maxKept = 100_000

func (g *grepCall) greppers(ctx context.Context) []*grepper {
	// One line more than is shown tells whether there are more.
	lines := &collector{limit: min(g.in.Offset+g.limit+1, maxKept)}
	n := workers()
	if g.named {
		n = 1
	}
	var all []*grepper
	for range n {
		all = append(all, &grepper{ctx: ctx, scanner: newFileScanner(ctx, g.req), skipped: &g.skipped, lines: lines})
	}
	return all
}

func (g *grepCall) search(ctx context.Context, abs string, greppers []*grepper) error {
	root := filepath.ToSlash(abs)
	if g.named {
		file, err := openFile(abs)
		if err != nil {
			return fmt.Errorf("%s cannot be read: %w", g.in.Path, err)
		}
		defer file.close()
		greppers[0].search(file, func() string { return root })
		return context.Cause(ctx)
	}
	filter, err := newFilter(splitGlobs(g.in.Glob), splitTypes(g.in.Type), []string{root, filepath.ToSlash(g.env.Cwd())})
	if err != nil {
		return err
	}
	t := &tree{root: abs, filter: filter, rules: g.env.rules(), hidden: g.env.Hidden, all: g.in.Hidden}
	return walk(ctx, t, &g.skipped, greppers)
}

// page returns the entries of a list that the call asks for.
func page[T any](g *grepCall, all []T) []T {
	all = all[min(g.in.Offset, len(all)):]
	return all[:min(g.limit, len(all))]
}

func (g *grepCall) fileNames(files []found) tool.Result {
	slices.SortFunc(files, newestFirst)
	shown := page(g, files)
	data := grepData{Mode: g.req.mode, NumFiles: len(files), Filenames: []string{}}
	for _, f := range shown {
		data.Filenames = append(data.Filenames, g.env.show(f.path))
	}
	if len(files) == 0 {
		return g.result("No files contain a match.", data, 0, 0, "0 files")
	}
	summary := count(len(files), "file", "files")
	text := "Found " + summary + "\n" + strings.Join(data.Filenames, "\n")
	return g.result(text, data, len(shown), len(files), summary)
}

func (g *grepCall) counts(files []found) tool.Result {
	slices.SortFunc(files, func(a, b found) int { return comparePaths(a.path, b.path) })
	total := 0
	for _, f := range files {
		total += f.count
	}
	shown := page(g, files)
	data := grepData{Mode: g.req.mode, NumFiles: len(files), Filenames: []string{}, NumMatches: &total}
	if len(files) == 0 {
		return g.result("No matches found.", data, 0, 0, "0 matches")
	}
	var lines []string
	for _, f := range shown {
		name := g.env.show(f.path)
		data.Filenames = append(data.Filenames, name)
		lines = append(lines, name+":"+strconv.Itoa(f.count))
	}
	data.Content = strings.Join(lines, "\n")
	unit := count(total, "matching line", "matching lines")
	if g.req.pattern.Multiline {
		unit = count(total, "match", "matches")
	}
	summary := unit + " in " + count(len(files), "file", "files")
	return g.result(data.Content+"\n\n"+summary, data, len(shown), len(files), summary)
}

func (g *grepCall) content(c *collector) tool.Result {
	files := c.sorted()
	data := grepData{Mode: g.req.mode, NumFiles: c.count, Filenames: []string{}, NumMatches: &c.total, NumLines: new(int)}
	if c.count == 0 {
		return g.result("No matches found.", data, 0, 0, "0 matches")
	}
	p := &printer{call: g, skip: g.in.Offset, left: g.limit, cap: g.env.ResultCap}
	if g.in.HeadLimit != nil && *g.in.HeadLimit == 0 {
		p.cap = math.MaxInt // the caller wants all of it
	}
	for _, f := range files {
		p.file(f)
	}
	data.Content, *data.NumLines, data.Filenames = strings.TrimSuffix(p.out.String(), "\n"), p.printed, p.names
	summary := count(c.total, "matching line", "matching lines") + " in " + count(c.count, "file", "files")
	total := c.lines
	if p.more || total >= maxKept {
		total = math.MaxInt32
	}
	if data.Content == "" {
		data.Content = "No more lines."
	}
	return g.result(data.Content, data, p.printed, total, summary)
}

// result adds the notes. total is math.MaxInt32 when there is more, but nobody counted how much.
func (g *grepCall) result(text string, data grepData, shown, total int, summary string) tool.Result {
	notes := slices.Clone(g.req.pattern.Notes)
	if g.req.pattern.Multiline && !g.in.Multiline {
		notes = append(notes, "The pattern names a line break, so the search went over lines.")
	}
	if next := g.in.Offset + shown; shown > 0 && next < total {
		data.AppliedLimit = &shown
		of := ""
		if total < math.MaxInt32 {
			of = fmt.Sprintf(" of %d", total)
		} else if data.NumMatches != nil {
			of = " of " + summary
		}
		notes = append(notes, fmt.Sprintf("Only %d%s shown. For more use offset %d, or narrow the search by path, glob or type.", shown, of, next))
	}
	if g.in.Offset > 0 {
		data.AppliedOffset = &g.in.Offset
	}
	if total == 0 && strings.Contains(g.in.Pattern, `\|`) {
		notes = append(notes, `In the pattern \| is a literal bar; alternatives are written a|b.`)
	}
	notes = append(notes, g.skipped.notes(total == 0)...)
	if len(notes) > 0 {
		text += "\n\n(" + strings.Join(notes, " ") + ")"
	}
	r := tool.Text(text)
	r.Data = data
	r.Display = tool.Display{Summary: "Found " + summary}
	return r
}
