package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"gofer/internal/cli"
	"gofer/internal/llm/catalog"
	"gofer/internal/prompt/report"
	"gofer/internal/session/transcript"
	dialogs "gofer/internal/ui/dialog"
)

// A sessionsCommand is one of the things that gofer sessions does.
type sessionsCommand struct {
	name, words, help string
	run               func(context.Context, *sessionsRun) error
}

func sessionsCommands() []sessionsCommand {
	return []sessionsCommand{
		{"list", "", "the sessions of this folder, the newest first (--all: of all folders)", listSessions},
		{"show", "SESSION", "the whole conversation", showSession},
		{"context", "SESSION", "what fills the model's window", sessionContext},
		{"search", "TEXT", "where something was said, in all sessions (--here: of this folder)", searchSessions},
		{"export", "SESSION", "the conversation as Markdown, JSON or text (--format, -o FILE)", exportSession},
		{"rm", "SESSION…", "delete sessions and all that is kept for them", removeSessions},
		{"fsck", "[SESSION…]", "check sessions (--all: every one) and write repaired copies (--fix)", checkSessions},
	}
}

// sessionsFlags are the options of all of them.
type sessionsFlags struct {
	All    bool   `flag:"all,a" help:"sessions of all folders"`
	Here   bool   `flag:"here" help:"sessions of this folder only"`
	Limit  int    `flag:"limit,n" arg:"n" help:"the newest so many"`
	JSON   bool   `flag:"json" help:"for programs"`
	Format string `flag:"format,f" enum:"md|json|text" help:"the form of an export"`
	Output string `flag:"output,o" arg:"file" help:"where an export goes"`
	Fix    bool   `flag:"fix" help:"write a repaired copy of what is broken"`
	Help   bool   `flag:"help,h" help:"print this"`
}

// A sessionsRun is one call of gofer sessions.
type sessionsRun struct {
	out   io.Writer
	root  transcript.Root
	dir   string // the folder of this project
	flags sessionsFlags
	words []string
}

// runSessions is gofer sessions.
func runSessions(ctx context.Context, w World, args []string) error {
	r := &sessionsRun{out: w.Stdout}
	var err error
	if r.words, err = cli.Parse(args, &r.flags, nil); err != nil {
		return err
	}
	if r.flags.Help {
		fmt.Fprint(w.Stdout, sessionsHelp())
		return nil
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	r.root, r.dir = transcript.Root(p.config), p.projectDir()
	name := "list"
	if len(r.words) > 0 {
		name, r.words = r.words[0], r.words[1:]
	}
	all := sessionsCommands()
	i := slices.IndexFunc(all, func(c sessionsCommand) bool { return c.name == name })
	if i < 0 {
		return usage("sessions does not know %q\n\n%s", name, sessionsHelp())
	}
	c := all[i]
	switch n := len(r.words); {
	case c.words == "" && n > 0:
		return usage("gofer sessions %s takes no argument, but got %q", c.name, r.words[0])
	case c.words != "" && !strings.HasPrefix(c.words, "[") && n == 0:
		return usage("usage: gofer sessions %s %s", c.name, c.words)
	case c.words == "SESSION" && n > 1:
		return usage("gofer sessions %s takes one session; put words of a title in quotes", c.name)
	}
	return c.run(ctx, r)
}

func sessionsHelp() string {
	var b strings.Builder
	b.WriteString("Usage: gofer sessions COMMAND\n\n")
	for _, c := range sessionsCommands() {
		fmt.Fprintf(&b, "  %-20s %s\n", c.name+" "+c.words, c.help)
	}
	b.WriteString("\nSESSION is an id or its beginning, a file, or words of a title or first prompt.\n\n")
	return b.String() + cli.Help(&sessionsFlags{})
}

func (r *sessionsRun) filter(all bool) transcript.Filter {
	f := transcript.Filter{Limit: r.flags.Limit}
	if !all {
		f.Project = r.dir
	}
	return f
}

func (r *sessionsRun) json(v any) error {
	enc := json.NewEncoder(r.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func listSessions(_ context.Context, r *sessionsRun) error {
	list, err := r.root.List(r.filter(r.flags.All))
	if err != nil {
		return err
	}
	if r.flags.JSON {
		return r.json(append([]transcript.Summary{}, list...))
	}
	if len(list) == 0 {
		fmt.Fprintln(r.out, "There are no sessions here. gofer sessions list --all shows those of other folders.")
		return nil
	}
	for _, s := range list {
		where := s.Branch
		if r.flags.All {
			where = s.Cwd
		}
		fmt.Fprintf(r.out, "%s  %8s  %7s  %5d  %s\n", s.ID, age(time.Since(s.Modified)), dialogs.Bytes(s.Size), s.Messages, strings.TrimSpace(oneLine(s.Title(), 80)+"  "+inBrackets(where)))
	}
	return nil
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return "[" + s + "]"
}

// oneLine cuts a text that a stranger may have written: nothing of it reaches the terminal but letters.
func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

func showSession(_ context.Context, r *sessionsRun) error {
	s, err := r.root.Find(r.dir, r.words[0])
	if err != nil {
		return err
	}
	format := r.flags.Format
	if r.flags.JSON {
		format = transcript.JSON
	}
	return transcript.Export(r.out, s.Path, firstOf(format, transcript.Text))
}

// sessionContext shows what a resumed session would bring into the window. Tools and system prompt come on top of it.
func sessionContext(_ context.Context, r *sessionsRun) error {
	s, err := r.root.Find(r.dir, r.words[0])
	if err != nil {
		return err
	}
	state, err := transcript.Load(s.Path, "")
	if err != nil {
		return err
	}
	m := catalog.Lookup(firstOf(state.Kept[keptModel], state.Model, "default"))
	in := report.Input{Model: m.ID, Window: m.Window, Messages: state.Messages}
	if system := state.Kept[keptSystem]; system != "" {
		in.System = []report.Section{{Name: "this session", Text: system}}
	}
	made := report.Make(in)
	if r.flags.JSON {
		return r.json(made)
	}
	fmt.Fprint(r.out, made.Text())
	return nil
}

func exportSession(_ context.Context, r *sessionsRun) error {
	s, err := r.root.Find(r.dir, r.words[0])
	if err != nil {
		return err
	}
	format := r.flags.Format
	if format == "" {
		switch filepath.Ext(r.flags.Output) {
		case ".json":
			format = transcript.JSON
		case ".txt":
			format = transcript.Text
		default:
			format = transcript.Markdown
		}
	}
	if r.flags.Output == "" || r.flags.Output == "-" {
		return transcript.Export(r.out, s.Path, format)
	}
	f, err := os.OpenFile(r.flags.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("exporting the session: %w", err)
	}
	if err := transcript.Export(f, s.Path, format); err != nil {
		f.Close()
		return fmt.Errorf("exporting the session: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("exporting the session: %w", err)
	}
	fmt.Fprintln(r.out, r.flags.Output)
	return nil
}

func searchSessions(ctx context.Context, r *sessionsRun) error {
	hits, err := r.root.Search(ctx, r.filter(!r.flags.Here), strings.Join(r.words, " "))
	if err != nil {
		return err
	}
	if r.flags.JSON {
		return r.json(append([]transcript.Hit{}, hits...))
	}
	last := ""
	for _, h := range hits {
		if h.Session.ID != last {
			last = h.Session.ID
			fmt.Fprintf(r.out, "%s  %8s  %s\n", last, age(time.Since(h.Session.Modified)), oneLine(h.Session.Title(), 80))
		}
		fmt.Fprintf(r.out, "    %-9s  %s\n", h.Role, oneLine(h.Snippet, 160))
	}
	if len(hits) == 0 {
		fmt.Fprintln(r.out, "Nothing was found.")
	}
	return nil
}

func removeSessions(_ context.Context, r *sessionsRun) error {
	for _, ref := range r.words {
		s, err := r.root.Find(r.dir, ref)
		if err != nil {
			return err
		}
		if err := r.root.Remove(s); err != nil {
			return fmt.Errorf("session %s was not deleted: %w", s.ID, err)
		}
		fmt.Fprintf(r.out, "deleted %s  %s\n", s.ID, oneLine(s.Title(), 80))
	}
	return nil
}

func checkSessions(_ context.Context, r *sessionsRun) error {
	list, err := r.chosen()
	if err != nil {
		return err
	}
	checks := []*transcript.Check{}
	bad := 0
	for _, s := range list {
		c, err := transcript.Verify(s.Path)
		if err != nil {
			return fmt.Errorf("checking %s: %w", s.Path, err)
		}
		checks = append(checks, c)
		if len(c.Problems) > 0 {
			bad++
		}
		if !r.flags.JSON {
			if err := r.report(s, c); err != nil {
				return err
			}
		}
	}
	if r.flags.JSON {
		if err := r.json(checks); err != nil {
			return err
		}
	}
	if bad > 0 && !r.flags.Fix {
		return fmt.Errorf("%d of %d sessions have problems; they can still be resumed. --fix writes repaired copies", bad, len(list))
	}
	return nil
}

// chosen are the sessions that were named, or those of the folder.
func (r *sessionsRun) chosen() ([]transcript.Summary, error) {
	if len(r.words) == 0 {
		return r.root.List(r.filter(r.flags.All))
	}
	var list []transcript.Summary
	for _, ref := range r.words {
		s, err := r.root.Find(r.dir, ref)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (r *sessionsRun) report(s transcript.Summary, c *transcript.Check) error {
	if len(c.Problems) == 0 {
		fmt.Fprintf(r.out, "%s  ok, %d records\n", s.ID, c.Records)
		return nil
	}
	fmt.Fprintf(r.out, "%s  %d problems\n", s.ID, len(c.Problems))
	for _, p := range c.Problems {
		fmt.Fprintf(r.out, "    line %d: %s\n", p.Line, oneLine(p.What, 200))
	}
	if !r.flags.Fix {
		return nil
	}
	id := uuid.NewString()
	path, err := transcript.Repair(s.Path, filepath.Dir(s.Path), id)
	if err != nil {
		return fmt.Errorf("repairing a copy of %s: %w", s.ID, err)
	}
	fmt.Fprintf(r.out, "    a repaired copy: gofer --resume %s (%s)\n", id, path)
	return nil
}
