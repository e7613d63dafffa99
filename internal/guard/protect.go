package guard

import (
	"path"
	"strings"

	"gofer/internal/guard/shellsyntax"
)

// protected says why a change of the file is asked for in every mode but bypass, whatever rules allow: such files decide
// what runs later, or what may run. It is empty for all others.
func (p *Policy) protected(file string) string {
	for _, own := range p.Protected {
		if within(file, path.Clean(slash(own))) {
			return "it holds settings of gofer"
		}
	}
	for rest := strings.ToLower(file); rest != ""; { // the disks of some systems do not tell .GIT from .git
		var name string
		name, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		switch name {
		case ".git":
			return "what is in .git decides what git runs"
		case ".claude", ".gofer":
			// A worktree of gofer's is a project of its own: what is below its root is judged as in any other.
			if tree, in := strings.CutPrefix(rest, "worktrees/"); in && strings.Contains(tree, "/") {
				_, rest, _ = strings.Cut(tree, "/")
				continue
			}
			return "it holds settings, hooks and instructions of the agent"
		case ".vscode", ".idea", ".devcontainer", ".husky":
			return "editors run what is set up there"
		case ".ssh", ".gnupg":
			return "it holds keys and who may use them"
		}
		if rest == "" {
			if why := startUp(name); why != "" {
				return why
			}
		}
	}
	return ""
}

func startUp(name string) string {
	switch name {
	case ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
		".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".envrc", "config.fish", ".xprofile", ".xinitrc":
		return "shells run it when they start"
	case ".gitconfig", ".gitmodules":
		return "it decides what git runs"
	case ".mcp.json", ".claude.json", "managed-settings.json", "permissions.yaml":
		return "it decides which programs and rules the agent has"
	case ".ripgreprc", ".npmrc", ".yarnrc", ".pypirc", ".netrc":
		return "it decides what other programs run or who they are"
	}
	return ""
}

// removalRefused says why removing the path with all below it is refused in every mode: root, home, or a folder that the
// working directory is in. The path may be a pattern.
func (p *Policy) removalRefused(file string) string {
	file = path.Clean(file)
	if root, rest, ok := strings.Cut(file, "/"+string(shellsyntax.AnyPath)); ok && strings.Trim(rest, "/"+shellsyntax.Wild) == "" {
		file = path.Clean(root + "/") // everything that find finds below it
	}
	wild := strings.ContainsAny(file, shellsyntax.Wild)
	hit := func(folder string) bool {
		if folder == "" {
			return false
		}
		if !wild {
			return file == folder
		}
		if !strings.HasPrefix(file, "/") {
			return false // nothing is known of it
		}
		last := path.Base(file)
		if path.Dir(file) == folder && strings.Trim(last, string(shellsyntax.AnyName)+string(shellsyntax.AnyChar)) == "" {
			return true // all that is in it
		}
		return !strings.ContainsRune(file, shellsyntax.AnyText) && fitWild(split(folder), split(file))
	}
	if hit("/") {
		return "it would remove everything on this machine"
	}
	if home := path.Clean(slash(p.Home)); p.Home != "" && home != "." && hit(home) {
		return "it would remove the home folder"
	}
	for _, d := range append([]string{slash(p.Dir)}, p.WorkDirs...) {
		if d == "" {
			continue
		}
		d = path.Clean(d)
		if wild && hit(d) && path.Dir(file) != d {
			return "it would remove a working directory with others beside it"
		}
		for up := path.Dir(d); up != "/" && up != "."; up = path.Dir(up) {
			if hit(up) {
				return "it would remove " + up + ", in which the working directory is"
			}
		}
	}
	return ""
}

// fitWild reports whether the elements of a folder fit the wild elements one by one.
func fitWild(folder, wild []string) bool {
	if len(folder) != len(wild) {
		return false
	}
	for i, name := range folder {
		if !overlapText(escapeGlob(name), wild[i]) || wild[i] != name && strings.HasPrefix(name, ".") && wild[i][0] != '.' {
			return false
		}
	}
	return true
}
