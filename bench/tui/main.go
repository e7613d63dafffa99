//go:build unix

// Command tui measures the terminal UI: how soon the first prompt is there, how long a key takes to be painted in a long session, and what
// memory, processor and bytes it costs. It drives the built binary in a real pseudo terminal.
//
//	go build -o bin/gofer ./cmd/gofer && go run ./bench/tui -gofer bin/gofer
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"gofer/internal/llm/script"
)

var (
	gofer    = flag.String("gofer", "bin/gofer", "the binary")
	sessions = flag.Int("sessions", 5000, "old sessions that are there at the start")
	lines    = flag.Int("lines", 100_000, "lines of the long session")
	keysSent = flag.Int("keys", 300, "keys that are pressed in the long session")
	runs     = flag.Int("runs", 20, "starts that are measured")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	bin, err := filepath.Abs(*gofer)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "gofer-bench-tui-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := furnish(home); err != nil {
		return err
	}
	var answer strings.Builder
	for i := range *lines {
		fmt.Fprintf(&answer, "This is line %d of a long answer, with some **bold** words.\n", i)
		if i%20 == 19 {
			answer.WriteByte('\n')
		}
	}
	src := "chunk 4000\nwindow 100000000\nmax_output 100000000\nturn\n  text <<LONGEND\n" + answer.String() + "\nThe very end.\nLONGEND\nsection titles\n  when no tools\n  turn\n    text A title\n"
	s, err := script.Parse("bench", []byte(src))
	if err != nil {
		return err
	}
	server := script.NewServer(s)
	url, err := server.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	var starts []time.Duration
	for range *runs {
		d, err := firstPrompt(bin, home, url)
		if err != nil {
			return err
		}
		starts = append(starts, d)
	}
	report(fmt.Sprintf("first prompt (%d old sessions, 20 dead servers)", *sessions), starts)
	return longSession(bin, home, url, answer.Len())
}

func report(what string, list []time.Duration) {
	slices.Sort(list)
	at := func(p float64) time.Duration {
		return list[min(len(list)-1, int(p*float64(len(list))))].Round(10 * time.Microsecond)
	}
	fmt.Printf("%-55s median %-8v p99 %-8v max %v\n", what, at(0.5), at(0.99), list[len(list)-1].Round(10*time.Microsecond))
}

// furnish makes a home with many old sessions and servers that do not answer.
func furnish(home string) error {
	var servers []string
	for i := range 20 {
		servers = append(servers, fmt.Sprintf(`"dead%d": {"type": "http", "url": "http://192.0.2.%d:9/mcp"}`, i, i+1))
	}
	project := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, filepath.Join(home, "project"))
	dir := filepath.Join(home, ".claude", "projects", project)
	for _, d := range []string{dir, filepath.Join(home, "project")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	for i := range *sessions {
		file := filepath.Join(dir, fmt.Sprintf("00000000-0000-4000-8000-%012d.jsonl", i))
		if err := os.WriteFile(file, []byte(`{"type":"user","uuid":"u","message":{"role":"user","content":"old"}}`+"\n"), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"mcpServers": {`+strings.Join(servers, ",")+`}}`), 0o600)
}

// A terminal is a line with gofer at its other end.
type terminal struct {
	cmd *exec.Cmd
	tty *os.File

	mu    sync.Mutex
	more  *sync.Cond
	data  []byte
	total int
	ended bool
}

func open(bin, home, url string) (*terminal, error) {
	x := &terminal{cmd: exec.Command(bin)}
	x.more = sync.NewCond(&x.mu)
	x.cmd.Dir = filepath.Join(home, "project")
	x.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "SHELL=/bin/sh", "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=bench", "CLAUDE_CODE_MAX_RETRIES=0"}
	var err error
	x.tty, err = pty.StartWithSize(x.cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return nil, err
	}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := x.tty.Read(buf)
			x.mu.Lock()
			x.data = append(x.data, buf[:n]...)
			x.total += n
			if len(x.data) > 1<<20 {
				x.data = append([]byte(nil), x.data[len(x.data)-1<<16:]...)
			}
			x.ended = err != nil
			x.more.Broadcast()
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return x, nil
}

// until waits for something to be written, and forgets what came before it.
func (x *terminal) until(text string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		if at := bytes.Index(x.data, []byte(text)); at >= 0 {
			x.data = x.data[at+len(text):]
			return nil
		}
		if x.ended {
			return fmt.Errorf("gofer ended before it wrote %q", text)
		}
		x.more.Wait()
	}
}

func (x *terminal) close() {
	x.cmd.Process.Signal(syscall.SIGTERM)
	x.cmd.Wait()
	x.tty.Close()
}

func firstPrompt(bin, home, url string) (time.Duration, error) {
	began := time.Now()
	x, err := open(bin, home, url)
	if err != nil {
		return 0, err
	}
	defer x.close()
	err = x.until("─────")
	return time.Since(began), err
}

func longSession(bin, home, url string, size int) error {
	x, err := open(bin, home, url)
	if err != nil {
		return err
	}
	defer x.close()
	if err := x.until("? for keys"); err != nil {
		return err
	}
	began := time.Now()
	x.mu.Lock()
	before := x.total
	x.mu.Unlock()
	x.tty.WriteString("tell me\r")
	if err := x.until("The very end."); err != nil {
		return err
	}
	x.mu.Lock()
	written := x.total - before
	x.mu.Unlock()
	fmt.Printf("%-55s %v, %d bytes of text cost %d bytes (%.2f times)\n", fmt.Sprintf("%d lines streamed", *lines), time.Since(began).Round(time.Millisecond), size, written, float64(written)/float64(size))
	time.Sleep(2 * time.Second) // what follows a turn
	memory := resident(x.cmd.Process.Pid)
	used := cpu(x.cmd.Process.Pid)
	time.Sleep(10 * time.Second)
	fmt.Printf("%-55s %.1f MB, idle %.3f %% of a core\n", "then", float64(memory)/1e6, 100*float64(cpu(x.cmd.Process.Pid)-used)/float64(10*time.Second))
	var list []time.Duration
	for i := range *keysSent {
		key := string(rune('a' + i%26))
		x.mu.Lock()
		x.data = nil
		x.mu.Unlock()
		pressed := time.Now()
		x.tty.WriteString(key)
		if err := x.until(key); err != nil {
			return err
		}
		list = append(list, time.Since(pressed))
		time.Sleep(20 * time.Millisecond) // nobody types faster
	}
	report("key to paint", list)
	return nil
}

func resident(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var total, pages int64
	fmt.Sscan(string(data), &total, &pages)
	return pages * int64(os.Getpagesize())
}

func cpu(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	var user, system int64
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}
