package gofer_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestTheOfficialEditorClientDrivesGofer runs the suite in test/acp: the unmodified client of the Agent Client Protocol against this very program.
func TestTheOfficialEditorClientDrivesGofer(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: run test/tools.sh")
	}
	dir := filepath.Join("test", "acp")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@agentclientprotocol", "sdk")); err != nil {
		t.Fatal("the client is not installed: run test/tools.sh")
	}
	suites, err := filepath.Glob(filepath.Join(dir, "*.test.mjs"))
	if err != nil || len(suites) == 0 {
		t.Fatalf("the suite is not there: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, suite := range suites {
		t.Run(filepath.Base(suite), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, "--test", "--test-reporter=spec", filepath.Base(suite))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOFER_BINARY="+self, "GOFER_TEST_MAIN=1", "TMPDIR="+t.TempDir(), "GORACE="+quickExit)
			cmd.WaitDelay = 10 * time.Second
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
