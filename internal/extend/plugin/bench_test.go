package plugin_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/extend/plugin"
)

// BenchmarkLoadTwenty loads twenty installed plugins of a marketplace with five hundred.
func BenchmarkLoadTwenty(b *testing.B) {
	s := &plugin.Store{Dir: b.TempDir()}
	var entries, records []string
	var wanted []plugin.Wanted
	for i := range 500 {
		entries = append(entries, fmt.Sprintf(`{"name": "p%d", "source": "./p%d", "description": %q}`, i, i, strings.Repeat("x", 400)))
	}
	for i := range 20 {
		root := filepath.Join(s.Dir, "cache", "m", fmt.Sprint("p", i), "1.0.0")
		writeFiles(b, root, ".claude-plugin/plugin.json", fmt.Sprintf(`{"name": "p%d", "version": "1.0.0"}`, i), "commands/a.md", "x", "commands/b.md", "x", "agents/a.md", "x",
			"skills/s/SKILL.md", "x", "hooks/hooks.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}`)
		records = append(records, fmt.Sprintf(`"p%d@m": [{"scope": "user", "installPath": %q, "version": "1.0.0"}]`, i, root))
		wanted = append(wanted, plugin.Wanted{ID: fmt.Sprintf("p%d@m", i)})
	}
	writeFiles(b, s.Dir, "marketplaces/m/.claude-plugin/marketplace.json", market("m", entries...),
		"known_marketplaces.json", fmt.Sprintf(`{"m": {"source": {"source": "github", "repo": "a/b"}, "installLocation": %q}}`, filepath.Join(s.Dir, "marketplaces", "m")),
		"installed_plugins.json", `{"version": 2, "plugins": {`+strings.Join(records, ",")+`}}`)
	for b.Loop() {
		if list, faults := s.Load(wanted, "/work"); len(list) != 20 || faults != nil {
			b.Fatal(len(list), faults)
		}
	}
}
