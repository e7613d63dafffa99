package outstyle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/extend/plugin/outstyle"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	user, project := t.TempDir(), t.TempDir()
	put := func(dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(user, "plain.md", "Just text.\r\nMore.")
	put(user, "named.md", "---\nname: Named One\ndescription: says so\nkeep-coding-instructions: true\n---\n\nBody\n---\nmore\n")
	put(user, "bad.md", "---\nname: [\n---\nx")
	put(user, "open.md", "---\nname: x\n")
	put(user, "empty.md", "---\nname: x\n---\n")
	put(user, "binary.md", "a\x00b")
	put(user, "huge.md", strings.Repeat("x", 300<<10))
	put(user, "README.md", "not a style")
	put(project, "plain.md", "The project's.")
	styles, problems := outstyle.Load(outstyle.Source{Path: user}, outstyle.Source{Path: filepath.Join(user, "none")},
		outstyle.Source{Path: project}, outstyle.Source{Path: filepath.Join(user, "named.md"), Prefix: "kit"})
	byName := map[string]outstyle.Style{}
	for _, s := range styles {
		byName[s.Name] = s
	}
	if len(styles) != 3 || byName["plain"].Text != "The project's." || byName["plain"].KeepCoding {
		t.Errorf("styles %+v", styles)
	}
	if s := byName["Named One"]; s.Text != "Body\n---\nmore" || s.Description != "says so" || !s.KeepCoding {
		t.Errorf("named %+v", s)
	}
	if byName["kit:Named One"].File == "" {
		t.Errorf("the plugin's style has no prefix: %+v", styles)
	}
	if len(problems) != 5 {
		t.Errorf("problems %v", problems)
	}
}
