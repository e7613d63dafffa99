// Package gofer_test drives the whole binary: every file below testdata/script is one story, told with real files, shells
// and processes, and with the scripted model behind real HTTP.
package gofer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gofer/internal/app"
	"gofer/internal/guard/sandbox"
	"gofer/internal/llm/script"
	"gofer/internal/proc"
	"gofer/internal/ui/tui/tty"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.Supervise())
	}
	if sandbox.IsHelper(os.Args) {
		os.Exit(sandbox.Help())
	}
	if tty.IsWatcher(os.Args) {
		os.Exit(tty.Watch())
	}
	if tools := os.Getenv("GOFER_TEST_MCP"); tools != "" {
		os.Exit(serveTestTools(tools))
	}
	if dir := os.Getenv("GOFER_TEST_CONFORMANCE"); dir != "" {
		os.Exit(beClient(dir))
	}
	if os.Getenv("GOFER_TEST_BROWSER") != "" {
		os.Exit(browse(os.Args[len(os.Args)-1]))
	}
	if os.Getenv("GOFER_TEST_MAIN") != "" {
		os.Exit(app.Main(os.Args[1:], app.OS()))
	}
	testscript.Main(m, map[string]func(){
		"gofer": func() { os.Exit(app.Main(os.Args[1:], app.OS())) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o700); err != nil {
				return err
			}
			env.Setenv("HOME", home)
			env.Setenv("SHELL", "/bin/sh")
			env.Setenv("GORACE", quickExit)
			env.Setenv("TMPDIR", env.WorkDir)
			env.Setenv("PATH", os.Getenv("PATH"))
			env.Setenv("GOPLS", goplsDir())
			env.Values["servers"] = &[]*script.Server{}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "walls":
				return wallsHold(), nil
			}
			return false, fmt.Errorf("there is no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":    serve,
			"requests": requests,
			"sent":     sent,
			"matches":  matches,
		},
	})
}

// wallsHold says whether the kernel can hold what the sandbox promises.
func wallsHold() bool {
	box, err := sandbox.New(sandbox.Policy{WriteDirs: []string{os.TempDir()}, TempDir: os.TempDir(), ReadDeny: []string{filepath.Join(os.TempDir(), "no-such-file")}})
	if err != nil {
		return false
	}
	defer box.Close()
	return box.Enforced()
}

// quickExit keeps the race detector from waiting a second at the end of every run.
const quickExit = "atexit_sleep_ms=0"

// serve FILE starts the scripted model and points gofer to it.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve FILE")
	}
	s, err := script.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	server := script.NewServer(s)
	url, err := server.Start()
	ts.Check(err)
	ts.Defer(func() { server.Close() })
	*ts.Value("servers").(*[]*script.Server) = []*script.Server{server}
	ts.Setenv("ANTHROPIC_BASE_URL", url)
	ts.Setenv("ANTHROPIC_API_KEY", "test")
}

func server(ts *testscript.TestScript) *script.Server {
	list := *ts.Value("servers").(*[]*script.Server)
	if len(list) == 0 {
		ts.Fatalf("no scripted model: use serve FILE first")
	}
	return list[0]
}

// requests N checks how many requests the model got, and that it refused none of them as invalid.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requests N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server(ts).Wait(want, ctx)
	got := server(ts).Requests()
	for i, r := range got {
		if r.Invalid {
			ts.Fatalf("request %d was refused: %s", i+1, r.Refused)
		}
	}
	if len(got) != want {
		ts.Fatalf("%d requests, want %d", len(got), want)
	}
}

// sent N REGEXP checks the body of request N; N counts from 1, and -1 is the last.
func sent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sent N REGEXP")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	all := server(ts).Requests()
	if n < 0 {
		n += len(all) + 1
	}
	if n < 1 || n > len(all) {
		ts.Fatalf("there is no request %d: %d came", n, len(all))
	}
	body := string(all[n-1].Body)
	if regexp.MustCompile(args[1]).MatchString(body) == neg {
		ts.Fatalf("request %d:\n%s\nmatch for %s: %v", n, body, args[1], neg)
	}
}

// matches FILE REGEXP [COUNT] checks how often a file matches, line by line.
func matches(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: matches FILE REGEXP COUNT")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	re, got := regexp.MustCompile(args[1]), 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if re.MatchString(line) {
			got++
		}
	}
	if got != want {
		ts.Fatalf("%d lines of %s match %s, want %d", got, args[0], args[1], want)
	}
}
