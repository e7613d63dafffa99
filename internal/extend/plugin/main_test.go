package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/extend/plugin"
)

// TestMain lets the test program be one that installs a plugin, so that it can be killed.
func TestMain(m *testing.M) {
	if job := os.Getenv("PLUGIN_TEST_INSTALL"); job != "" {
		dir, id, _ := strings.Cut(job, " ")
		if _, err := (&plugin.Store{Dir: dir}).Install(context.Background(), id, user); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var user = plugin.Place{Scope: "user"}

// put writes files below a folder: name, content, name, content …
func put(t *testing.T, dir string, files ...string) string {
	t.Helper()
	writeFiles(t, dir, files...)
	return dir
}

func writeFiles(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// gitIn runs git in a folder.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repo makes a folder a repository with all that is in it.
func repo(t *testing.T, dir string) string {
	t.Helper()
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", "first")
	return "file://" + dir
}

func newStore(t *testing.T) *plugin.Store {
	t.Helper()
	return &plugin.Store{Dir: filepath.Join(t.TempDir(), "plugins")}
}

// add adds a marketplace, and fails the test if that fails.
func add(t *testing.T, s *plugin.Store, src plugin.Source) *plugin.Marketplace {
	t.Helper()
	m, err := s.AddMarketplace(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func install(t *testing.T, s *plugin.Store, id string) plugin.Done {
	t.Helper()
	all, err := s.Install(t.Context(), id, user)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// market is the text of a marketplace.json.
func market(name string, entries ...string) string {
	return fmt.Sprintf(`{"name": %q, "owner": {"name": "t"}, "plugins": [%s]}`, name, strings.Join(entries, ","))
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
