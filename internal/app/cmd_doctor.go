package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gofer/internal/cli"
	"gofer/internal/config"
	"gofer/internal/guard"
	"gofer/internal/guard/sandbox"
	"gofer/internal/proc"
)

// A finding is one thing that the doctor looked at.
type finding struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	State string `json:"state"` // ok, warning or error
	Fix   string `json:"fix,omitempty"`
}

const (
	fine    = "ok"
	warning = "warning"
	broken  = "error"
)

// A checkup is all that the doctor says.
type checkup struct {
	Version   string            `json:"version"`
	Findings  []finding         `json:"findings"`
	Abilities sandbox.Abilities `json:"abilities"`
	Enabled   bool              `json:"sandboxEnabled"`
	Sandbox   sandbox.Report    `json:"sandbox"` // what the settings of this folder would give
	Proof     *sandbox.Report   `json:"proof,omitempty"`
	Probes    []sandbox.Probe   `json:"probes,omitempty"`
}

func (c *checkup) add(name, state, fix, format string, args ...any) {
	c.Findings = append(c.Findings, finding{name, fmt.Sprintf(format, args...), state, fix})
}

// runDoctor is gofer doctor: what is here, what works, and with --prove what really holds.
func runDoctor(ctx context.Context, w World, args []string) error {
	var f struct {
		JSON    bool     `flag:"json" help:"print JSON"`
		Prove   bool     `flag:"prove" help:"attack the sandbox and the rules, and say what holds"`
		Verbose bool     `flag:"verbose" help:"with --prove: print every attack"`
		Without cli.List `flag:"without" arg:"features" help:"act as if the kernel lacked these"`
	}
	words, err := cli.Parse(args, &f, nil)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		return usage("doctor takes no arguments, but got %q: gofer doctor [--prove] [--verbose] [--json]", words[0])
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	var without []sandbox.Feature
	for _, name := range f.Without.Values {
		without = append(without, sandbox.Feature(name))
	}
	runner := proc.New(proc.Self())
	defer runner.Close()
	c := &checkup{Version: Version}
	c.add("gofer", fine, "", "%s on %s/%s", Version, runtime.GOOS, runtime.GOARCH)
	c.folders(p)
	snap := c.settings(p)
	c.credentials(w, snap)
	c.programs(ctx, w, runner)
	c.kernel(snap, p, without)
	c.terminal(w)
	if f.Prove {
		if err := c.prove(ctx, runner, without); err != nil {
			return err
		}
	}
	if f.JSON {
		err = c.writeJSON(w.Stdout)
	} else {
		c.write(w.Stdout, f.Verbose)
	}
	if err == nil && (slices.ContainsFunc(c.Findings, func(f finding) bool { return f.State == broken }) || len(c.through()) > 0) {
		err = errResult // it has been shown
	}
	return err
}

// folders looks whether gofer can keep what it must.
func (c *checkup) folders(p place) {
	for _, dir := range []struct{ name, path string }{{"config folder", p.config}, {"transcripts", filepath.Join(p.config, "projects")}, {"temp folder", os.TempDir()}} {
		if err := tryWriting(dir.path); err != nil {
			c.add(dir.name, broken, "make it writable, or set GOFER_CONFIG_DIR or TMPDIR to a folder that is", "%s cannot be written: %v", dir.path, err)
			continue
		}
		c.add(dir.name, fine, "", "%s", dir.path)
	}
}

// tryWriting writes a file in the folder, or in the nearest one above it that exists, and removes it.
func tryWriting(dir string) error {
	for {
		info, err := os.Stat(dir)
		if errors.Is(err, os.ErrNotExist) && filepath.Dir(dir) != dir {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no folder", dir)
		}
		break
	}
	f, err := os.CreateTemp(dir, ".gofer-doctor-")
	if err != nil {
		return err
	}
	_, err = f.WriteString("written to see whether it can be\n")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// settings reads the settings and tells what is wrong with them. Where they cannot be read the defaults count.
func (c *checkup) settings(p place) *config.Snapshot {
	store, err := config.Open(config.Options{ConfigDir: p.config, ProjectDir: p.cwd, Trust: config.Trusted})
	if err != nil {
		c.add("settings", broken, "mend the file", "%v", err)
		return &config.Snapshot{}
	}
	snap := store.Current()
	var names []string
	for _, f := range snap.Files() {
		if f.Exists {
			names = append(names, f.Path)
		}
	}
	c.add("settings", fine, "", "%s", firstOf(strings.Join(names, ", "), "no files, the defaults count"))
	for _, problem := range snap.Problems {
		state := warning
		if problem.Severity > config.Warning {
			state = broken
		}
		c.add("settings", state, "", "%s", problem)
	}
	return snap
}

// credentials tells which there are, and nothing of what they are.
func (c *checkup) credentials(w World, snap *config.Snapshot) {
	env := environment(w, snap)
	var there []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS"} {
		if env(name) != "" {
			there = append(there, name)
		}
	}
	if snap.Settings.APIKeyHelper != "" {
		there = append(there, "apiKeyHelper")
	}
	if len(there) == 0 {
		c.add("credentials", warning, "export ANTHROPIC_API_KEY=…, or run gofer demo, which needs none", "none")
		return
	}
	c.add("credentials", fine, "", "%s", strings.Join(there, ", "))
}

// programs looks for what gofer and its commands like to have.
func (c *checkup) programs(ctx context.Context, w World, runner *proc.Runner) {
	for _, p := range []struct{ name, missing, fix string }{
		{"git", warning, "install git: without it there are no worktrees and no repository facts"},
		{"bash", warning, "install bash: without it commands run in sh"},
		{"rg", fine, ""},
	} {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		got, err := runner.Capture(ctx, proc.Cmd{Argv: []string{p.name, "--version"}}, nil, 4<<10)
		cancel()
		if err != nil || got.Exit.Code != 0 {
			c.add(p.name, p.missing, p.fix, "not found")
			continue
		}
		line, _, _ := strings.Cut(string(got.Stdout), "\n")
		c.add(p.name, fine, "", "%s", line)
	}
	if runtime.GOOS != "windows" {
		c.add("shell", fine, "", "%s", firstOf(w.Env("SHELL"), "not set"))
	}
}

// kernel tells what the kernel can do, and what the sandbox of this folder would be.
func (c *checkup) kernel(snap *config.Snapshot, p place, without []sandbox.Feature) {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	c.add("kernel", fine, "", "%s", firstOf(strings.TrimSpace(string(release)), runtime.GOOS))
	c.Abilities = sandbox.Detect(sandbox.Policy{Without: without, Bwrap: snap.Settings.Sandbox.BwrapPath})
	a := &c.Abilities
	have := func(f sandbox.Feature, name string, ok bool, value string) {
		if ok {
			c.add(name, fine, "", "%s", value)
			return
		}
		c.add(name, warning, "", "%s", firstOf(a.Why[f], "not available"))
	}
	if runtime.GOOS == "linux" {
		have(sandbox.Landlock, "Landlock", a.Landlock > 0, fmt.Sprintf("ABI %d", a.Landlock))
		have(sandbox.Seccomp, "seccomp", a.Seccomp, "works")
		have(sandbox.Notify, "checked connections", a.Notify, "work")
		have(sandbox.Mounts, "own mounts", a.Mounts != "", map[string]string{"mounts": "by root's rights", "bwrap": "by " + a.Bwrap, "userns": "by user namespaces"}[a.Mounts])
	}
	c.Enabled = snap.Settings.Sandbox.Enabled
	policy := sandboxPolicy(snap, p)
	policy.Without, policy.Require = without, false
	box, err := sandbox.New(policy)
	if err == nil {
		c.Sandbox = box.Report()
		box.Close()
	}
	switch {
	case err != nil:
		c.add("sandbox", broken, "", "%v", err)
	case !c.Enabled:
		c.add("sandbox", fine, "set sandbox.enabled to true to use it", "not switched on; here it would be %s", c.Sandbox)
	case c.Sandbox.State == sandbox.Enforced:
		c.add("sandbox", fine, "", "%s", c.Sandbox)
	default:
		state := warning
		if snap.Settings.Sandbox.FailIfUnavailable {
			state = broken
		}
		c.add("sandbox", state, strings.Join(c.Sandbox.Fix, "; "), "%s", c.Sandbox)
	}
	for _, note := range c.Sandbox.Notes {
		c.add("sandbox", fine, "", "%s", note)
	}
}

func (c *checkup) terminal(w World) {
	kind := "none"
	if isTerminal(w.Stdout) {
		kind = firstOf(w.Env("TERM"), "unknown")
		if w.Env("COLORTERM") != "" {
			kind += ", " + w.Env("COLORTERM")
		}
		if w.Env("NO_COLOR") != "" {
			kind += ", no colours (NO_COLOR)"
		}
	}
	locale := firstOf(w.Env("LC_ALL"), w.Env("LC_CTYPE"), w.Env("LANG"), "no locale")
	c.add("terminal", fine, "", "%s, %s", kind, locale)
}

// prove attacks the sandbox and the rules.
func (c *checkup) prove(ctx context.Context, runner *proc.Runner, without []sandbox.Feature) error {
	probes, report, err := sandbox.Prove(ctx, runner, "", without, nil)
	if err != nil {
		return fmt.Errorf("the attack could not be carried out: %w", err)
	}
	rules, err := attackRules()
	if err != nil {
		return err
	}
	c.Probes, c.Proof = append(probes, rules...), &report
	return nil
}

// attackRules tries to get commands past the permission rules, which must stop what the kernel cannot know about.
func attackRules() ([]sandbox.Probe, error) {
	dir, err := os.MkdirTemp("", "gofer-prove-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{".env", ".env.example"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.Symlink(".env", filepath.Join(dir, "link")); err != nil {
		return nil, err
	}
	var rules []guard.Rule
	for text, b := range map[string]guard.Behavior{"Read(./.env)": guard.Deny, "Bash(rm:*)": guard.Deny, "Bash(git log:*)": guard.Allow} {
		r, err := guard.ParseRule(text)
		if err != nil {
			return nil, err
		}
		r.Behavior, r.Source, r.Root = b, guard.FromUser, dir
		rules = append(rules, r)
	}
	policy := guard.NewLive(guard.Base{Rules: rules, Policy: guard.Policy{Mode: guard.Default, Dir: dir, Home: dir, Disk: guard.Real{}}}).Policy()
	var probes []sandbox.Probe
	for _, command := range ruleAttacks() {
		d := guard.Explain(policy, command)
		probes = append(probes, sandbox.Probe{Group: "rules", Name: command, Held: d.Behavior != guard.Allow, Tried: true, Detail: d.Behavior.String() + ": " + d.Reason})
	}
	for _, command := range []string{"git log -3 --oneline", "cat .env.example", "ls -la | head -5"} {
		d := guard.Explain(policy, command)
		probes = append(probes, sandbox.Probe{Group: "rules", Name: command + " passes", Held: d.Behavior == guard.Allow, Tried: true, Detail: d.Behavior.String() + ": " + d.Reason})
	}
	return probes, nil
}

// ruleAttacks are commands that must not run without asking where Read(./.env) and Bash(rm:*) are denied and only
// Bash(git log:*) is allowed.
func ruleAttacks() []string {
	return []string{
		"cat .env", "cat ./.env", "cat $PWD/.env", "cat .e*", "cat link", "grep . .env", "echo $(<.env)", "echo `cat .env`", "cp .env x", "head -1 < .env", "cat <(cat .env)", "bash -c 'cat .env'",
		"env cat .env", "xargs cat <<< .env", "find . -name .env -exec cat {} +", "f() { cat .env; }; f", "git log; rm x", "git log && rm x", "git log | rm x", "git log & rm x", "git log\nrm x",
		"git log $(rm x)", "git log `rm x`", "git log <(rm x)", "sudo rm x", "timeout 5 rm x", "bash -c 'rm x'", "eval rm x", "git log > x", "git log --output=x", "git -c core.pager='rm x' log",
		"PAGER='rm x' git log", "command rm x", "\\rm x", "r''m x", "/bin/rm x", "git log --ext-diff",
	}
}

// through lists the probes that got through.
func (c *checkup) through() []sandbox.Probe {
	return slices.DeleteFunc(slices.Clone(c.Probes), func(p sandbox.Probe) bool { return p.Held || !p.Tried })
}

func (c *checkup) writeJSON(out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(c)
}

func (c *checkup) write(out io.Writer, all bool) {
	marks := map[string]string{fine: " ", warning: "!", broken: "✗"}
	for _, f := range c.Findings {
		fmt.Fprintf(out, "%s %-20s %s\n", marks[f.State], f.Name, f.Value)
		if f.Fix != "" && f.State != fine {
			fmt.Fprintf(out, "  %-20s → %s\n", "", f.Fix)
		}
	}
	if c.Proof == nil {
		return
	}
	fmt.Fprintf(out, "\nThe sandbox under attack: %s\n", c.Proof)
	var groups []string
	count := map[string][3]int{} // held, got through, not tried
	for _, p := range c.Probes {
		if !slices.Contains(groups, p.Group) {
			groups = append(groups, p.Group)
		}
		n := count[p.Group]
		verdict := "held"
		switch {
		case !p.Tried:
			n[2]++
			verdict = "not tried"
		case p.Held:
			n[0]++
		default:
			n[1]++
			verdict = "GOT THROUGH"
		}
		count[p.Group] = n
		if all || p.Tried && !p.Held {
			fmt.Fprintf(out, "  %-11s  %s: %s  (%s)\n", verdict, p.Group, strings.ReplaceAll(p.Name, "\n", "⏎"), p.Detail)
		}
	}
	for _, g := range groups {
		n := count[g]
		fmt.Fprintf(out, "  %-16s %3d held, %d got through, %d not tried\n", g, n[0], n[1], n[2])
	}
	if n := len(c.through()); n > 0 {
		fmt.Fprintf(out, "%d attacks got through.\n", n)
	} else {
		fmt.Fprintln(out, "Everything held.")
	}
}
