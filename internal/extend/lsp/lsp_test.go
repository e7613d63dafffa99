package lsp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gofer/internal/extend/lsp"
	"gofer/internal/proc"
	"gofer/internal/tool"
)

// The test binary is also the supervisor of package proc and, with serverVar set, a language server of one of several bad sorts.
const serverVar = "GOFER_TEST_SERVER"

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.Supervise())
	}
	if sort := os.Getenv(serverVar); sort != "" {
		os.Exit(misbehave(sort))
	}
	os.Exit(m.Run())
}

// misbehave is a server that greets and then does what its sort says.
func misbehave(sort string) int {
	in := bufio.NewReader(os.Stdin)
	send := func(message string) { fmt.Printf("Content-Length: %d\r\n\r\n%s", len(message), message) }
	switch sort {
	case "hang":
		select {}
	case "crash":
		fmt.Fprintln(os.Stderr, "the license is missing")
		return 3
	case "garbage":
		fmt.Print("hello, this is not the protocol\n")
		select {}
	}
	for {
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				if sort == "stubborn" {
					select {} // it stays although nobody is there
				}
				return 0
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			fmt.Sscanf(line, "Content-Length: %d", &length)
		}
		body := make([]byte, length)
		io.ReadFull(in, body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				TextDocument struct {
					URI     string
					Version int
				}
			}
		}
		json.Unmarshal(body, &m)
		switch {
		case m.Method == "initialize":
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{}}}`, m.ID))
		case m.Method == "shutdown" && sort == "stubborn":
		case m.Method == "textDocument/didOpen" && sort == "dies":
			fmt.Fprintln(os.Stderr, "out of memory")
			return 1
		case m.Method == "textDocument/didOpen" && sort == "late":
			// It speaks when a file named go is there: after the change was waited for.
			for {
				if _, err := os.Stat("go"); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":%q,"diagnostics":[{"range":{},"severity":1,"message":"wrong after all"}]}}`, m.Params.TextDocument.URI))
		case len(m.ID) > 0:
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":null}`, m.ID))
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// bench is a pool in a folder, with what it warned of and told late.
type bench struct {
	*lsp.Pool
	dir      string
	warnings chan string
	late     chan string
}

func newBench(t *testing.T, change func(*lsp.Options)) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	runner := proc.New(proc.Self())
	t.Cleanup(func() { runner.Close() })
	b := &bench{dir: dir, warnings: make(chan string, 10), late: make(chan string, 10)}
	o := lsp.Options{Runner: runner, Dir: func() string { return dir }, Warn: func(s string) { b.warnings <- s }, Late: func(_, s string) { b.late <- s }}
	change(&o)
	b.Pool = lsp.New(t.Context(), o)
	t.Cleanup(b.Close)
	return b
}

// bad is a pool whose server for .x files misbehaves.
func bad(t *testing.T, sort string) *bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return newBench(t, func(o *lsp.Options) {
		o.Servers = []lsp.Config{{Name: sort, Command: self, Env: map[string]string{serverVar: sort}, Languages: map[string]string{".x": "x"}}}
		o.Starting, o.ColdWait, o.WarmWait = 2*time.Second, 100*time.Millisecond, 100*time.Millisecond
	})
}

func (b *bench) ask(t *testing.T, input string) (string, error) {
	t.Helper()
	call, err := b.Tool(func() string { return b.dir }).Bind("1", json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	res, err := tool.Run(t.Context(), call)
	return res.Text(), err
}

func TestBadServersCostOneWarningAndABoundedWait(t *testing.T) {
	t.Parallel()
	for sort, want := range map[string]string{"hang": "did not answer within", "crash": "the license is missing", "garbage": "cannot be used", "dies": "out of memory"} {
		t.Run(sort, func(t *testing.T) {
			t.Parallel()
			b := bad(t, sort)
			file := filepath.Join(b.dir, "a.x")
			write(t, file, "text")
			if got := b.Changed(t.Context(), file); got != "" {
				t.Errorf("the change came with %q", got)
			}
			if got := <-b.warnings; !strings.Contains(got, want) {
				t.Errorf("warned of %q, want %q in it", got, want)
			}
		})
	}
}

func TestAServerThatKeepsDyingIsGivenUp(t *testing.T) {
	t.Parallel()
	b := bad(t, "crash")
	file := filepath.Join(b.dir, "a.x")
	write(t, file, "text")
	var err error
	for range 4 {
		if _, err = b.ask(t, `{"operation":"documentSymbol","filePath":"a.x"}`); err == nil {
			t.Fatal("a server that crashed answered")
		}
	}
	if !strings.Contains(err.Error(), "not started again") {
		t.Errorf("the last error is %v", err)
	}
}

func TestAStubbornServerIsKilled(t *testing.T) {
	t.Parallel()
	b := bad(t, "stubborn")
	file := filepath.Join(b.dir, "a.x")
	write(t, file, "text")
	b.Changed(t.Context(), file)
	b.Close() // returns only when the process is gone
	if _, err := b.ask(t, `{"operation":"documentSymbol","filePath":"a.x"}`); err == nil {
		t.Error("a closed pool answers")
	}
}

func TestFindingsThatComeLateAreToldLater(t *testing.T) {
	t.Parallel()
	b := bad(t, "late")
	file := filepath.Join(b.dir, "a.x")
	write(t, file, "text")
	if got := b.Changed(t.Context(), file); got != "" {
		t.Errorf("the change came with %q", got)
	}
	write(t, filepath.Join(b.dir, "go"), "")
	if got := <-b.late; got != "a.x:1:1: error: wrong after all" {
		t.Errorf("told late: %q", got)
	}
}

func TestALanguageWithoutItsServer(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *lsp.Options) {
		o.Servers = lsp.Known()
		o.Look = func(string) (string, error) { return "", exec.ErrNotFound }
	})
	write(t, filepath.Join(b.dir, "go.mod"), "module m\n")
	write(t, filepath.Join(b.dir, "a.go"), "package m\n")
	if b.Useful() {
		t.Error("servers that are not installed count as useful")
	}
	if got := b.Changed(t.Context(), filepath.Join(b.dir, "a.go")); got != "" {
		t.Errorf("Changed: %q", got)
	}
	if _, err := b.ask(t, `{"operation":"documentSymbol","filePath":"a.go"}`); err == nil || !strings.Contains(err.Error(), "gopls, is not installed") {
		t.Errorf("the error is %v", err)
	}
	if _, err := b.ask(t, `{"operation":"documentSymbol","filePath":"none.go"}`); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("the error is %v", err)
	}
}

// gopls finds the real server. test/tools.sh installs it.
func gopls(t *testing.T) func(string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("gopls")
	if err != nil {
		out, _ := exec.Command("go", "env", "GOPATH").Output()
		path = filepath.Join(strings.TrimSpace(string(out)), "bin", "gopls")
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatal("gopls is not installed; run test/tools.sh")
		}
	}
	return func(name string) (string, error) {
		if name == "gopls" {
			return path, nil
		}
		return "", exec.ErrNotFound
	}
}

func TestGopls(t *testing.T) {
	t.Parallel()
	look := gopls(t)
	b := newBench(t, func(o *lsp.Options) {
		o.Servers, o.Look = lsp.Known(), look
		o.ColdWait, o.WarmWait = time.Minute, time.Minute // the machine may be busy; what is waited for comes
	})
	a, other := filepath.Join(b.dir, "a.go"), filepath.Join(b.dir, "b.go")
	write(t, filepath.Join(b.dir, "go.mod"), "module m\n\ngo 1.24\n")
	good := "package m\n\n// Greet greets 你好 someone.\nfunc Greet(name string) string { return \"你好, \" + name }\n"
	write(t, a, good)
	write(t, other, "package m\n\nvar greeting = Greet(\"you\")\n")
	if !b.Useful() || !b.Idle() {
		t.Fatal("a Go module is of use to gopls, and nothing is started to know that")
	}
	if got := b.Changed(t.Context(), a); got != "" {
		t.Errorf("good code came with %q", got)
	}
	write(t, a, strings.Replace(good, "name }", "nme }", 1))
	if got := b.Changed(t.Context(), a); !strings.Contains(got, "a.go:4:") || !strings.Contains(got, "error: undefined: nme") {
		t.Errorf("broken code came with %q", got)
	}
	// The same mistake further down is not news.
	write(t, a, "package m\n\n\n\n"+strings.TrimPrefix(strings.Replace(good, "name }", "nme }", 1), "package m\n"))
	if got := b.Changed(t.Context(), a); got != "" {
		t.Errorf("the same mistake was told again: %q", got)
	}
	// A change here that breaks another file.
	write(t, a, strings.Replace(good, "Greet(name string)", "Greet(name string, often int)", 1))
	if got := b.Changed(t.Context(), a); !strings.Contains(got, "b.go:3:") || !strings.Contains(got, "not enough arguments") {
		t.Errorf("the break of b.go came with %q", got)
	}
	write(t, a, good)
	if got := b.Changed(t.Context(), a); got != "" {
		t.Errorf("mended code came with %q", got)
	}
	for _, c := range []struct{ input, want string }{
		{`{"operation":"goToDefinition","filePath":"b.go","line":3,"symbol":"Greet"}`, "a.go:4:6: func Greet"},
		{`{"operation":"goToDefinition","filePath":"b.go","line":3,"character":17}`, "a.go:4:6: func Greet"},
		{`{"operation":"findReferences","filePath":"a.go","line":4,"symbol":"Greet"}`, "b.go:3:16: var greeting"},
		{`{"operation":"hover","filePath":"b.go","line":3,"symbol":"Greet"}`, "func Greet(name string) string"},
		{`{"operation":"documentSymbol","filePath":"a.go"}`, "4: function Greet"},
		{`{"operation":"workspaceSymbol","filePath":"a.go","query":"Greet"}`, "a.go:4: function Greet"},
		{`{"operation":"incomingCalls","filePath":"a.go","line":4,"symbol":"Greet"}`, "b.go"},
		{`{"operation":"diagnostics","filePath":"a.go"}`, "finds nothing wrong"},
		{`{"operation":"findReferences","filePath":"a.go","line":4,"symbol":"name"}`, "a.go:4:"},
	} {
		got, err := b.ask(t, c.input)
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v; want %q in it", c.input, got, err, c.want)
		}
	}
	for _, c := range []struct{ input, want string }{
		{`{"operation":"hover","filePath":"a.go"}`, "give the line, from 1 to 5"},
		{`{"operation":"hover","filePath":"a.go","line":4}`, "give symbol"},
		{`{"operation":"hover","filePath":"a.go","line":4,"symbol":"missing"}`, `does not hold "missing"`},
	} {
		if _, err := b.ask(t, c.input); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.input, err, c.want)
		}
	}
	// What others change is seen as well.
	write(t, other, "package m\n\nvar greeting = Greet(1)\n")
	b.Touched(other)
	if got, err := b.ask(t, `{"operation":"diagnostics","filePath":"b.go"}`); err != nil || !strings.Contains(got, "cannot use 1") {
		t.Errorf("after a change from outside: %q, %v", got, err)
	}
}
