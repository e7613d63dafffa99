//go:build linux

package gofer_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/llm/script"
)

// waysToReadDenied are commands and calls that try to get at .env although a rule denies reading it: some by names that the
// syntax tree shows, some that only the kernel can stop.
var waysToReadDenied = []string{
	`Read {"file_path":".env"}`,
	`Read {"file_path":"link"}`,
	`Grep {"pattern":"CANARY","output_mode":"content"}`,
	`Grep {"pattern":"CANARY","path":".env","output_mode":"content"}`,
	`Bash {"command":"cat .env"}`,
	`Bash {"command":"cat ./sub/../.env"}`,
	`Bash {"command":"cat link"}`,
	`Bash {"command":"echo \"$(<.env)\""}`,
	`Bash {"command":"cp .env copy.txt && cat copy.txt"}`,
	`Bash {"command":"cat .en*"}`,
	`Bash {"command":"cat .e?v"}`,
	`Bash {"command":"head -c 100 < .env"}`,
	`Bash {"command":"tac .env; rev .env | rev"}`,
	`Bash {"command":"git diff --no-index /dev/null .env"}`,
	`Bash {"command":"awk '{print}' .env"}`,
	`Bash {"command":"sed -n p .env"}`,
	`Bash {"command":"python3 -c 'print(open(\".e\"+\"nv\").read())'"}`,
	`Bash {"command":"n=.en; cat ${n}v"}`,
	`Bash {"command":"sh tool.sh"}`,
	`Bash {"command":"(cd sub && cat ../.env)"}`,
	`Bash {"command":"bash -c 'cat .env'"}`,
	`Bash {"command":"find . -name '.env' -exec cat {} +"}`,
	`Bash {"command":"tar cf - .env | tar xfO -"}`,
	`Bash {"command":"ln .env hard; cat hard"}`,
	`Bash {"command":"dd if=.env 2>/dev/null"}`,
	`Bash {"command":"while read -r l; do echo \"$l\"; done < .env"}`,
	`Bash {"command":"xargs -a .env echo"}`,
	`Bash {"command":"env -S 'cat .env'"}`,
}

func TestADeniedFileReachesNeitherTheModelNorTheDisk(t *testing.T) {
	t.Parallel()
	if !wallsHold() {
		return // without a kernel that can hide files only the rules hold, and package guard tests those
	}
	var src strings.Builder
	for _, way := range waysToReadDenied {
		fmt.Fprintf(&src, "turn\ncall %s\n", way)
	}
	src.WriteString("turn\ncall Bash {\"command\":\"cat .env.example\"}\nturn\ntext done\n")
	server := script.Serve(t, src.String())
	cmd := goferCommand(t, server, "-p", "go", "--output-format", "stream-json", "--verbose", "--settings",
		`{"sandbox":{"enabled":true},"permissions":{"deny":["Read(./.env)"],"allow":["Bash","Read"]}}`)
	for name, text := range map[string]string{".env": "CANARY-17\n", ".env.example": "EXAMPLE-18\n", "tool.sh": "cat .e''nv\n", "sub/x": ""} {
		path := filepath.Join(cmd.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".env", filepath.Join(cmd.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v", out, err)
	}
	if strings.Contains(string(out), "CANARY-17") {
		t.Error("the output has the secret")
	}
	requests := server.Requests()
	if len(requests) != len(waysToReadDenied)+2 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, r := range requests {
		if strings.Contains(string(r.Body), "CANARY-17") {
			t.Fatalf("the model got the secret by %s", waysToReadDenied[i-1])
		}
	}
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "EXAMPLE-18") {
		t.Error("the example file could not be read")
	}
	filepath.WalkDir(cmd.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Base(path) != ".env" && filepath.Base(path) != "hard" {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "CANARY-17") {
				t.Errorf("%s has the secret", path)
			}
		}
		return nil
	})
}
