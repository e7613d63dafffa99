package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/config"
	"gofer/internal/guard"
	"gofer/internal/guard/sandbox"
)

// sandboxPolicy is what the settings say about the walls around commands. Further working directories come from extra.
func sandboxPolicy(snap *config.Snapshot, p place, extra ...string) sandbox.Policy {
	set := snap.Settings.Sandbox
	abs := func(paths []string) []string {
		var out []string
		for _, path := range paths {
			path = expandHome(strings.TrimSuffix(path, "/**"), p.home)
			if strings.HasPrefix(path, "//") {
				path = path[1:]
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(p.cwd, path)
			}
			out = append(out, filepath.Clean(path))
		}
		return out
	}
	pol := sandbox.Policy{
		WriteDirs: slices.Concat([]string{p.cwd}, abs(extra), abs(snap.Settings.Permissions.AdditionalDirectories), abs(set.Filesystem.AllowWrite)),
		TempDir:   os.TempDir(),
		ReadDeny:  abs(set.Filesystem.DenyRead),
		ReadAllow: abs(set.Filesystem.AllowRead),
		WriteDeny: abs(set.Filesystem.DenyWrite),
		Require:   set.FailIfUnavailable, AcceptPartial: set.WeakerNested, Bwrap: set.BwrapPath,
		Net: sandbox.Net{
			Hosts: slices.Clone(set.Network.AllowedDomains), DenyHosts: slices.Clone(set.Network.DeniedDomains), LocalBinding: set.Network.AllowLocalBinding,
			UnixSockets: abs(set.Network.AllowUnixSockets), AllUnixSockets: set.Network.AllowAllSockets, HTTPPort: set.Network.HTTPProxyPort, SocksPort: set.Network.SocksProxyPort,
		},
	}
	protect(&pol, snap, p)
	addRules(&pol, snap, p)
	return pol
}

// protect adds the files that decide what runs later, and what may run.
func protect(pol *sandbox.Policy, snap *config.Snapshot, p place) {
	for _, f := range snap.Files() {
		pol.WriteDeny = append(pol.WriteDeny, f.Path)
	}
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json", ".mcp.json"} {
		pol.WriteDeny = append(pol.WriteDeny, filepath.Join(p.cwd, name))
	}
	for _, dir := range slices.Clone(pol.WriteDirs) {
		git := filepath.Join(dir, ".git")
		if common := commonGit(git); common != "" { // a worktree: its repository is elsewhere, and commits go there
			pol.WriteDeny = append(pol.WriteDeny, git)
			pol.WriteDirs = append(pol.WriteDirs, common)
			git = common
		}
		if _, err := os.Stat(git); err == nil {
			pol.WriteDeny = append(pol.WriteDeny, filepath.Join(git, "hooks"), filepath.Join(git, "config"))
		}
	}
}

// commonGit is the folder of the repository that a worktree's .git file leads to.
func commonGit(file string) string {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := os.ReadFile(file)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	// Only what git itself has made: a file of the project must not choose what can be written.
	back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	if err != nil || filepath.Clean(strings.TrimSpace(string(back))) != filepath.Clean(file) || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return ""
	}
	return filepath.Dir(filepath.Dir(dir))
}

// addRules lets the kernel hold what permission rules say about files and hosts.
func addRules(pol *sandbox.Policy, snap *config.Snapshot, p place) {
	for _, behavior := range []guard.Behavior{guard.Deny, guard.Allow} {
		for _, r := range snap.Rules(behavior.String()) {
			rule, err := guard.ParseRule(r.Text)
			if err != nil || rule.Content == "" {
				continue // the gate tells about it
			}
			pattern := sandbox.Pattern(rule.Content, r.Root, p.cwd, p.home)
			domain, isDomain := strings.CutPrefix(rule.Content, "domain:")
			switch {
			case rule.Tool == "WebFetch" && isDomain && behavior == guard.Allow:
				pol.Net.Hosts = append(pol.Net.Hosts, domain)
			case rule.Tool == "WebFetch" && isDomain:
				pol.Net.DenyHosts = append(pol.Net.DenyHosts, domain)
			case rule.Tool == "Read" && behavior == guard.Deny:
				pol.ReadDeny = append(pol.ReadDeny, pattern)
			case rule.Tool == "Edit" && behavior == guard.Deny && filepath.IsAbs(pattern) && !strings.ContainsAny(pattern, `*?[\`):
				pol.WriteDeny = append(pol.WriteDeny, pattern)
			}
		}
	}
}
