//go:build unix

package gofer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"gofer/internal/llm/script"
)

// The bytes of a request are a prefix of the next one up to its last messages: through parallel calls, and through a resume in another
// process. That is what the provider's cache lives on.
func TestRequestsOnlyGrow(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	for range 30 {
		src.WriteString("turn\ntext I look at several things at once.\ncall Bash {\"command\":\"seq 1 40\"}\ncall Read {\"file_path\":\"/etc/hostname\"}\ncall Glob {\"pattern\":\"*.none\"}\n")
	}
	src.WriteString("turn\ntext half\n")
	for range 29 {
		src.WriteString("turn\nthink hm\ncall Bash {\"command\":\"seq 1 {{n}}\"}\ncall Bash {\"command\":\"echo {{depth}}\"}\n")
	}
	src.WriteString("turn\ntext whole\n")
	server := script.Serve(t, src.String())
	id := uuid.NewString()
	first := goferCommand(t, server, "-p", "begin", "--session-id", id, "--allowedTools", "Read")
	if out, err := first.CombinedOutput(); err != nil || string(out) != "half\n" {
		t.Fatalf("%s %v", out, err)
	}
	second := goferCommand(t, server, "-p", "go on", "--resume", id, "--output-format", "json")
	second.Dir, second.Env = first.Dir, first.Env
	out, err := second.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v", out, err)
	}
	requests := server.Requests()
	if len(requests) != 61 {
		t.Fatalf("%d requests", len(requests))
	}
	read, all := 0, 0
	for i, r := range requests[1:] {
		before := requests[i]
		// Only the last two messages of the request before may differ: their cache marks have moved on.
		decoded := before.Decoded()
		tail := 0
		for _, m := range decoded.Messages[max(0, len(decoded.Messages)-3):] {
			raw, _ := json.Marshal(m)
			tail += len(raw) + 100
		}
		if r.SharedPrefix < len(before.Body)-tail {
			t.Errorf("request %d shares %d of %d bytes with the one before", i+2, r.SharedPrefix, len(before.Body))
		}
		read, all = read+r.Usage.CacheRead, all+r.Usage.Prompt()
	}
	share := float64(read) / float64(all)
	if share < 0.97 {
		t.Errorf("%.1f %% of the input came from the cache", share*100)
	}
	var result struct {
		Share float64 `json:"cache_read_share"`
	}
	if err := json.Unmarshal(out, &result); err != nil || result.Share < 0.97 {
		t.Errorf("the result says %v (%v)", result.Share, fmt.Sprint(err))
	}
}
