package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gofer/internal/proc"
	"gofer/internal/prompt/report"
	"gofer/internal/session/cost"
	"gofer/internal/session/transcript"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui"
)

// context shows what fills the window.
func (u *uiDesk) context(context.Context, string) tui.Action {
	r := u.e.contextReport()
	return tui.Action{Dialog: &dialogs.View{Title: "What fills the window", Tabs: []dialogs.Tab{{Body: windowUse(r).Page()}}}}
}

// windowUse is a report as the view draws it.
func windowUse(r report.Report) dialogs.WindowUse {
	w := dialogs.WindowUse{Model: r.Model, Window: r.MaxTokens}
	parts := map[string][]dialogs.Share{}
	add := func(category, name string, tokens int) {
		if tokens > 0 {
			parts[category] = append(parts[category], dialogs.Share{Name: name, Tokens: tokens})
		}
	}
	for _, f := range r.MemoryFiles {
		add(report.InstructionFiles, f.Path, f.Tokens)
	}
	for _, t := range r.MCPTools {
		add(report.MCPTools, t.Name, t.Tokens)
	}
	for _, t := range r.SystemTools {
		add(report.SystemTools, t.Name, t.Tokens)
	}
	for _, a := range r.Agents {
		add(report.CustomAgents, a.Type, a.Tokens)
	}
	for _, s := range r.Skills.List {
		add(report.SkillList, s.Name, s.Tokens)
	}
	b := r.Breakdown
	for _, p := range []struct {
		name   string
		tokens int
	}{{"prompts", b.User}, {"answers", b.Assistant}, {"thinking", b.Thinking}, {"tool calls", b.ToolCalls}, {"tool results", b.ToolResults}, {"reminders and files", b.Attachments}} {
		add(report.Conversation, p.name, p.tokens)
	}
	for _, c := range r.Categories {
		kind := dialogs.Used
		switch {
		case c.Name == report.FreeSpace:
			kind = dialogs.Free
		case c.Name == report.Buffer:
			kind = dialogs.Reserved
		case c.IsDeferred:
			kind = dialogs.Outside
		}
		w.Shares = append(w.Shares, dialogs.Share{Name: c.Name, Tokens: c.Tokens, Kind: kind, Parts: parts[c.Name]})
	}
	return w
}

// cost prints what the session has cost.
func (u *uiDesk) cost(ctx context.Context, _ string) tui.Action {
	text, _, err := u.e.slashCost(ctx, "")
	return tui.Action{Print: strings.TrimRight(text, "\n"), Err: err}
}

// statsDays is how far back the first page of /stats looks.
const statsDays = 30

// stats shows what all sessions have cost.
func (u *uiDesk) stats(ctx context.Context, _ string) tui.Action {
	v := &dialogs.View{Title: fmt.Sprintf("What sessions have cost, the last %d days", statsDays), Load: func() ([]dialogs.Tab, error) { return u.costTabs(ctx) }}
	return tui.Action{Dialog: v}
}

func (u *uiDesk) costTabs(ctx context.Context) ([]dialogs.Tab, error) {
	p, err := newPrices(u.e.place)
	if err != nil {
		return nil, err
	}
	kinds := []struct {
		by   cost.By
		name string
	}{{cost.Day, "Days"}, {cost.Model, "Models"}, {cost.Project, "Projects"}, {cost.Agent, "Agents"}, {cost.Tool, "Tools"}}
	var reports []*cost.Report
	for _, k := range kinds {
		reports = append(reports, cost.New(k.by, p, time.Local))
	}
	since := time.Now().AddDate(0, 0, -statsDays)
	err = transcript.Root(u.e.place.config).Requests(ctx, since, func(q transcript.Request) {
		for _, r := range reports {
			r.Add(cost.Request(q))
		}
	})
	if err != nil {
		return nil, err
	}
	var tabs []dialogs.Tab
	for i, k := range kinds {
		var b bytes.Buffer
		if err := reports[i].WriteTable(&b); err != nil {
			return nil, err
		}
		tabs = append(tabs, dialogs.Tab{Name: k.name, Body: table(b.String())})
	}
	return tabs, nil
}

// table is text whose lines are cut and not wrapped.
func table(text string) dialogs.Page {
	lines := strings.Split(strings.TrimRight(screen.Clean(text), "\n"), "\n")
	return func(c screen.Canvas) []string {
		out := make([]string, len(lines))
		for i, l := range lines {
			out[i] = screen.Cut(l, c.Width, "…")
		}
		return out
	}
}

// status shows what the session is made of.
func (u *uiDesk) status(context.Context, string) tui.Action {
	rows := u.e.statusRows()
	return tui.Action{Dialog: &dialogs.View{Title: "Status", Tabs: []dialogs.Tab{{Body: func(c screen.Canvas) []string {
		var out []string
		for _, r := range rows {
			out = append(out, twoColumns(c, r[0], screen.Clean(r[1]))...)
		}
		return out
	}}}}}
}

// statusRows are the facts about the session, name by name.
func (e *engine) statusRows() [][2]string {
	rows := [][2]string{
		{"Version", Version + " (protocol " + Protocol + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"},
		{"Session", e.place.session},
		{"Folder", e.dir.Cwd()},
	}
	if e.transcript != nil {
		rows = append(rows, [2]string{"Transcript", shortHome(e.place.transcript(), e.place.home)})
	}
	req := e.brain.request()
	model := e.brain.info().ID
	if req.Effort != "" {
		model += ", effort " + req.Effort
	}
	rows = append(rows, [2]string{"Model", model}, [2]string{"Key", e.keySource()}, [2]string{"Permission mode", e.hookFacts().PermissionMode})
	if dirs := e.workDirs()[1:]; len(dirs) > 0 {
		rows = append(rows, [2]string{"Further folders", strings.Join(dirs, ", ")})
	}
	box := "off"
	if e.box != nil {
		box = "on"
	}
	rows = append(rows, [2]string{"Sandbox", box})
	for _, f := range e.settings.Current().Files() {
		if f.Exists {
			rows = append(rows, [2]string{"Settings, " + f.Layer.String(), shortHome(f.Path, e.place.home)})
		}
	}
	for _, f := range e.told.instructions.List() {
		rows = append(rows, [2]string{"Instructions", shortHome(f.Path, e.place.home)})
	}
	if e.servers.hub != nil {
		for _, st := range e.servers.hub.Status() {
			rows = append(rows, [2]string{"MCP server", st.Name + ": " + string(st.State)})
		}
	}
	return rows
}

// doctor looks whether everything is in order.
func (u *uiDesk) doctor(ctx context.Context, _ string) tui.Action {
	v := &dialogs.View{Title: "Doctor", Load: func() ([]dialogs.Tab, error) {
		runner := proc.New(u.e.world.Self)
		defer runner.Close()
		c := &checkup{Version: Version}
		c.folders(u.e.place)
		snap := c.settings(u.e.place)
		c.credentials(u.e.world, snap)
		c.programs(ctx, u.e.world, runner)
		c.kernel(snap, u.e.place, nil)
		c.terminal(u.e.world)
		return []dialogs.Tab{{Body: c.page()}}, nil
	}}
	return tui.Action{Dialog: v}
}

func (c *checkup) page() dialogs.Page {
	return func(canvas screen.Canvas) []string {
		var out []string
		for _, f := range c.Findings {
			mark := canvas.Theme.Good.Paint("✓")
			switch f.State {
			case warning:
				mark = canvas.Theme.Warn.Paint("!")
			case broken:
				mark = canvas.Theme.Bad.Paint("✗")
			}
			inner := canvas
			inner.Width -= 2
			for i, line := range twoColumns(inner, screen.Clean(f.Name), screen.Clean(f.Value)) {
				if i == 0 {
					line = mark + " " + line
				} else {
					line = "  " + line
				}
				out = append(out, line)
			}
			if f.Fix != "" {
				for _, line := range screen.Wrap("→ "+screen.Clean(f.Fix), canvas.Width-4) {
					out = append(out, "    "+canvas.Theme.Faint.Paint(line))
				}
			}
		}
		return out
	}
}

// largestDiff bounds what /diff shows.
const largestDiff = 4 << 20

// diff shows what has changed in the repository since the last commit.
func (u *uiDesk) diff(ctx context.Context, _ string) tui.Action {
	dir := u.e.dir.Cwd()
	return tui.Action{Dialog: &dialogs.View{Title: "What has changed since the last commit", Full: true, Load: func() ([]dialogs.Tab, error) {
		text, err := repositoryDiff(ctx, dir)
		if err != nil {
			return nil, err
		}
		if text == "" {
			return []dialogs.Tab{{Body: dialogs.Text("Nothing has changed.")}}, nil
		}
		return []dialogs.Tab{{Body: diffPage(text)}}, nil
	}}}
}

// repositoryDiff is what git says of the changes in a folder, files that it does not know yet included. Nothing of the repository's
// own configuration is run for it.
func repositoryDiff(ctx context.Context, dir string) (string, error) {
	git := func(args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "--no-optional-locks"}, args...)...)
		cmd.Dir = dir
		return cmd.Output()
	}
	if _, err := git("rev-parse", "--is-inside-work-tree"); err != nil {
		return "", fmt.Errorf("%s is in no git repository", dir)
	}
	base := "HEAD"
	if _, err := git("rev-parse", "--verify", "-q", "HEAD"); err != nil {
		base = "--cached" // there is no commit yet
	}
	out, err := git("diff", "--no-ext-diff", "--no-textconv", "--no-color", base)
	if err != nil {
		return "", fmt.Errorf("git diff: %w", err)
	}
	text := string(out)
	names, _ := git("ls-files", "--others", "--exclude-standard", "-z")
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if name == "" || len(text) > largestDiff {
			continue
		}
		text += newFile(filepath.Join(dir, name), name)
	}
	if len(text) > largestDiff {
		text = text[:largestDiff] + "\n… the rest is left out"
	}
	return text, nil
}

// newFile is a file that git does not know yet, as a diff.
func newFile(path, name string) string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largestPreview {
		return fmt.Sprintf("diff --git a/%s b/%s\nnew file, not shown\n", name, name)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.IndexByte(data, 0) >= 0 {
		return fmt.Sprintf("diff --git a/%s b/%s\nnew file, not text\n", name, name)
	}
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return fmt.Sprintf("diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n+%s", name, name, name, len(lines), strings.Join(lines, "+"))
}
