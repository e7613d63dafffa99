// Command search measures Grep and Glob against ripgrep and prints the ratios of their wall times.
//
// Runs are interleaved, so that a busy moment of the machine hits both alike; medians are compared. Grep and Glob are
// called as the model calls them, in process; ripgrep is a process, because that is how a harness without a search of
// its own would use it. Before a pattern is measured the two results are compared: a ratio of different answers means nothing.
//
//	go run ./bench/search [-runs 11] [-files 200000] [-only go|big] [-dir FOLDER]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gofer/internal/tool"
	"gofer/internal/tool/search"
)

func main() {
	runs := flag.Int("runs", 11, "runs of each")
	files := flag.Int("files", 200_000, "files of the large tree")
	only := flag.String("only", "", "go or big: measure one tree only")
	dir := flag.String("dir", "", "measure this folder only")
	flag.Parse()
	if err := run(*runs, *files, *only, *dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(runs, files int, only, dir string) error {
	if _, err := exec.LookPath("rg"); err != nil {
		return fmt.Errorf("ripgrep (rg) is not installed, so there is nothing to compare with")
	}
	source, err := goSource()
	if err != nil {
		return err
	}
	fmt.Printf("%d cores, rg -j%d, %d interleaved runs, warm cache; ms are medians, answers are ours = theirs or ours/theirs\n", runtime.NumCPU(), runtime.GOMAXPROCS(0), runs)
	if dir != "" {
		return measure(dir, dir, runs)
	}
	if only != "big" {
		if err := measure("Go source tree", source, runs); err != nil {
			return err
		}
	}
	if only == "go" {
		return nil
	}
	big, err := os.MkdirTemp("", "gofer-bench-search-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(big)
	if err := plant(source, big, files); err != nil {
		return err
	}
	return measure(fmt.Sprintf("tree of %d files", files), big, runs)
}

func goSource() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its source tree: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src"), nil
}

// plant makes a tree of n files of 1 to 6 KB, cut from real source code, in folders of up to 100.
func plant(source, into string, n int) error {
	var text []byte
	err := filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || len(text) > 24<<20 {
			return err
		}
		data, err := os.ReadFile(path)
		text = append(text, data...)
		return err
	})
	if err != nil {
		return err
	}
	extensions := []string{".go", ".go", ".go", ".ts", ".py", ".md", ".json", ".txt"}
	at := 0
	for i := range n {
		dir := filepath.Join(into, fmt.Sprintf("part%02d", i/10_000), fmt.Sprintf("module%03d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		size := 1000 + i*7919%5000
		if at+size > len(text) {
			at = 0
		}
		name := fmt.Sprintf("file%06d%s", i, extensions[i%len(extensions)])
		if err := os.WriteFile(filepath.Join(dir, name), text[at:at+size], 0o600); err != nil {
			return err
		}
		at += size
	}
	return nil
}

// A contest is one thing that both are asked.
type contest struct {
	name  string
	tool  string
	input map[string]any
	rg    []string
	must  bool // the ratio counts for the goal
}

func contests() []contest {
	grep := func(name, pattern string, must bool, fold bool) contest {
		c := contest{name: name, tool: "Grep", must: must, input: map[string]any{"pattern": pattern, "output_mode": "files_with_matches"}, rg: []string{"-l", "-e", pattern}}
		if fold {
			c.input["-i"] = true
			c.rg = append(c.rg, "-i")
		}
		return c
	}
	counted := func(name, pattern string, must bool) contest {
		return contest{name: name, tool: "Grep", must: must, input: map[string]any{"pattern": pattern, "output_mode": "count"}, rg: []string{"-c", "-e", pattern}}
	}
	glob := func(pattern string) contest {
		return contest{name: "Glob " + pattern, tool: "Glob", must: true, input: map[string]any{"pattern": pattern}, rg: []string{"--files", "-g", pattern}}
	}
	const rare, common, free = `func\s\(\w+\s\*\w+\)\sServeHTTP\(`, `return\s+\w+,\s*err`, `[a-z]{3}_[0-9]{4}`
	content := contest{name: "common, content", tool: "Grep", must: true, input: map[string]any{"pattern": common, "output_mode": "content"}, rg: []string{"-n", "-e", common}}
	return []contest{
		grep("literal", "ErrUnexpectedEOF", true, false), grep("rare expression", rare, true, false), grep("common expression", common, true, false),
		counted("literal, count", "ErrUnexpectedEOF", true), counted("common, count", common, true), content,
		grep("literal -i", "unexpectedeof", false, true), grep("session -i", "sessionkey", false, true), grep("alternatives", "ErrUnexpectedEOF|ErrShortWrite|ErrNoProgress", false, false),
		grep("no literal", free, false, false), counted("no literal, count", free, false), grep("word -i", `\bTODO\b.*bug`, false, true), counted("\\w{20,}", `\w{30,}`, false),
		glob("*.go"), glob("**/*_test.go"), glob("*.md"), glob("*"),
	}
}

func measure(title, root string, runs int) error {
	tools := map[string]*tool.Tool{}
	for _, t := range search.Tools(search.Env{Cwd: func() string { return root }}) {
		tools[t.Name] = t
	}
	fmt.Printf("\n%s\n%-22s %9s %9s %7s %7s %7s %10s\n", title, "", "gofer ms", "rg ms", "ratio", "best", "cpu", "answers")
	for _, c := range contests() {
		verdict, err := compare(c, tools[c.tool], root)
		if err != nil {
			return err
		}
		var ours, theirs []time.Duration
		var ourCPU, theirCPU time.Duration
		for range runs {
			before := cpuTime()
			d, err := call(c, tools[c.tool], nil)
			if err != nil {
				return err
			}
			ourCPU += cpuTime() - before
			ours = append(ours, d)
			r, err := ripgrep(c, root)
			if err != nil {
				return err
			}
			theirCPU += r.cpu
			theirs = append(theirs, r.took)
		}
		a, b := median(ours), median(theirs)
		mark := ""
		if ratio := float64(a) / float64(b); c.must && ratio > 1.5 {
			mark = "  above the goal of 1.5"
		}
		best := float64(ours[0]) / float64(theirs[0]) // of the quickest runs: the least disturbed by other work
		cpu := float64(ourCPU) / float64(theirCPU)
		fmt.Printf("%-22s %9.1f %9.1f %7.2f %7.2f %7.2f %10s%s\n", c.name, ms(a), ms(b), float64(a)/float64(b), best, cpu, verdict, mark)
	}
	return nil
}

func call(c contest, t *tool.Tool, result *tool.Result) (time.Duration, error) {
	input, err := json.Marshal(c.input)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	bound, err := t.Bind("1", input)
	if err != nil {
		return 0, err
	}
	r, err := tool.Run(context.Background(), bound)
	if result != nil {
		*result = r
	}
	return time.Since(begun), err
}

// A reply is what ripgrep said and what it took.
type reply struct {
	out       []byte
	took, cpu time.Duration
}

func ripgrep(c contest, root string) (reply, error) {
	args := append([]string{"--no-config", "-j" + strconv.Itoa(runtime.GOMAXPROCS(0))}, c.rg...)
	cmd := exec.Command("rg", args...)
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout = &out
	begun := time.Now()
	err := cmd.Run()
	r := reply{out: out.Bytes(), took: time.Since(begun)}
	if cmd.ProcessState != nil {
		r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 {
		err = nil // no match
	}
	return r, err
}

// compare asks both the same without limits and says whether the answers agree.
func compare(c contest, t *tool.Tool, root string) (string, error) {
	said, err := ripgrep(c, root)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSuffix(string(said.out), "\n"), "\n")
	if len(said.out) == 0 {
		lines = nil
	}
	all := contest{input: map[string]any{}}
	for k, v := range c.input {
		all.input[k] = v
	}
	if c.tool == "Grep" {
		all.input["head_limit"] = 0
	}
	var r tool.Result
	if _, err := call(all, t, &r); err != nil {
		return "", err
	}
	data, err := json.Marshal(r.Data)
	if err != nil {
		return "", err
	}
	var got struct {
		Mode       string
		NumFiles   int
		NumMatches int
		Filenames  []string
		Content    string
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return "", err
	}
	switch {
	case c.tool == "Glob":
		return agree(got.NumFiles, len(lines)), nil
	case got.Mode == "content":
		return agree(got.NumMatches, len(lines)), nil
	case got.Mode == "count":
		slices.Sort(lines)
		ours := strings.Split(got.Content, "\n")
		slices.Sort(ours)
		if slices.Equal(ours, lines) {
			return fmt.Sprintf("= %d", got.NumMatches), nil
		}
		return agree(len(ours), len(lines)) + "?", nil
	}
	slices.Sort(lines)
	slices.Sort(got.Filenames)
	if slices.Equal(lines, got.Filenames) {
		return fmt.Sprintf("= %d", len(lines)), nil
	}
	return agree(len(got.Filenames), len(lines)) + "?", nil
}

func agree(ours, theirs int) string {
	if ours == theirs {
		return fmt.Sprintf("= %d", ours)
	}
	return fmt.Sprintf("%d/%d", ours, theirs)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
