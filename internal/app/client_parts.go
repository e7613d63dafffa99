package app

import (
	"path/filepath"
	"slices"
	"strings"
)

// addPlugins takes the plugins that a client brings with its first line, as if the command line named them.
func (f *Flags) addPlugins(list []clientPlugin) {
	for _, p := range list {
		if p.NoMCP {
			f.PluginDirsNoMCP = append(f.PluginDirsNoMCP, p.Path)
		} else {
			f.PluginDirs = append(f.PluginDirs, p.Path)
		}
	}
}

// hasPlugins says whether all of a client's plugins were taken when the session began.
func (e *engine) hasPlugins(list []clientPlugin) bool {
	return !slices.ContainsFunc(list, func(p clientPlugin) bool {
		return !slices.Contains(e.flags.PluginDirs, p.Path) && !slices.Contains(e.flags.PluginDirsNoMCP, p.Path)
	})
}

// planReminder tells the model that it plans, in the client's words if it has its own.
func (e *engine) planReminder(ours string) string {
	own := strings.TrimSpace(e.flags.wishes.planInstructions())
	if own == "" {
		return ours
	}
	return "Plan mode is on. Change nothing: calls that write are refused, except for the plan file " + e.plan.file + ". Work as follows:\n\n" + own +
		"\n\nWhen the plan is complete, write it to the plan file or pass it on, and call ExitPlanMode."
}

// ruleRoot is the folder that a rule of settings is relative to. Rules of a project whose settings lie elsewhere are about the working directory all the same.
func (e *engine) ruleRoot(root string) string {
	if e.place.root != "" && root == e.place.root {
		return e.place.cwd
	}
	return root
}

// memoryPaths is where memories are kept, for a program that shows them.
func (e *engine) memoryPaths() map[string]string {
	if e.told.memory == nil {
		return nil
	}
	return map[string]string{"auto": e.memoryDir() + string(filepath.Separator)}
}
