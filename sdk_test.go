package gofer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gofer/internal/llm/script"
)

// sdkStage lets the suite in test/sdk start scripted models and see what they were sent: it is the scripted model of all other tests,
// with two doors for a program in another language.
type sdkStage struct {
	mu      sync.Mutex
	servers map[string]*script.Server // by URL
}

// ServeHTTP takes a script with POST and answers with the address of its model; GET ?url=… returns the bodies that it got.
func (s *sdkStage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		server := s.servers[r.URL.Query().Get("url")]
		if server == nil {
			http.Error(w, "there is no such model", http.StatusNotFound)
			return
		}
		type request struct {
			Header  http.Header     `json:"header"`
			Body    json.RawMessage `json:"body"`
			Refused string          `json:"refused"`
			Invalid bool            `json:"invalid"`
		}
		list := []request{}
		for _, got := range server.Requests() {
			list = append(list, request{got.Header, got.Body, got.Refused, got.Invalid})
		}
		json.NewEncoder(w).Encode(list)
		return
	}
	var src bytes.Buffer
	src.ReadFrom(r.Body)
	parsed, err := script.Parse("suite", src.Bytes())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	server := script.NewServer(parsed)
	url, err := server.Start()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.servers[url] = server
	json.NewEncoder(w).Encode(map[string]string{"url": url})
}

func (s *sdkStage) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.servers {
		server.Close()
	}
}

// TestTheOfficialClientLibraryDrivesGofer runs the suite in test/sdk: the unmodified library from npm against this very program. With
// GOFER_SDK_CLI=/path/to/another/cli the same suite drives that one instead, for comparison.
func TestTheOfficialClientLibraryDrivesGofer(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: run test/tools.sh")
	}
	dir := filepath.Join("test", "sdk")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@anthropic-ai", "claude-agent-sdk", "sdk.mjs")); err != nil {
		t.Fatal("the client library is not installed: run test/tools.sh")
	}
	stage := &sdkStage{servers: map[string]*script.Server{}}
	t.Cleanup(stage.close)
	web := httptest.NewServer(stage)
	t.Cleanup(web.Close)
	files, err := filepath.Glob(filepath.Join(dir, "*.test.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the suite is not there: %v", err)
	}
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, append([]string{"--test", "--test-reporter=tap"}, files...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFER_SDK_STAGE="+web.URL, "GOFER_SDK_BINARY="+self, "GOFER_SDK_SCRATCH="+t.TempDir(), "GORACE="+quickExit)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, failedCases(string(out)))
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
}

// failedCases leaves the cases out that passed.
func failedCases(tap string) string {
	var b strings.Builder
	failing := false
	for line := range strings.Lines(tap) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "not ok"):
			failing = true
		case strings.HasPrefix(text, "ok "), strings.HasPrefix(text, "# Subtest"):
			failing = false
		case strings.HasPrefix(text, "# "):
			b.WriteString(line)
		}
		if failing {
			b.WriteString(line)
		}
	}
	return b.String()
}
