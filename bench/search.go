package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// measureSearch runs bench/search, which knows how searches are compared, and takes over its figures.
func measureSearch(ctx context.Context, b *runner) {
	if _, err := exec.LookPath("rg"); err != nil {
		b.table.note("ripgrep (rg) is not installed: Grep and Glob are not compared")
		return
	}
	report, err := b.runSearch(ctx)
	if err != nil {
		b.table.note("bench/search: %v", err)
	}
	b.table.searches(report)
}

// runSearch runs bench/search with a folder of its own for the tree that it makes, which goes whatever happens.
func (b *runner) runSearch(ctx context.Context) (string, error) {
	where, err := newPlace()
	if err != nil {
		return "", err
	}
	defer where.close()
	program := filepath.Join(where.dir, "search.exe")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./bench/search").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building it: %w: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, program, "-runs", strconv.Itoa(b.times(5)))
	if b.quick {
		cmd.Args = append(cmd.Args, "-only", "go")
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+where.temp, "TEMP="+where.temp, "TMP="+where.temp)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err = cmd.Run()
	return out.String(), err
}

// searches reads the report of bench/search: a title before each tree, and lines of a name, two times, their ratio and how the
// answers compare.
func (t *table) searches(report string) {
	line := regexp.MustCompile(`^(.+?)\s+([\d.]+)\s+([\d.]+)\s+[\d.]+\s+(= ?\d+|\S+)`)
	asked := regexp.MustCompile(`^(Glob .*|Grep (literal|rare|common)( expression|, count|, content)?)$`)
	heading := regexp.MustCompile(`gofer ms\s+rg ms`)
	previous, tree := "", ""
	for text := range strings.Lines(report) {
		text = strings.TrimRight(text, "\n")
		if heading.MatchString(text) {
			tree = previous
		}
		if text != "" {
			previous = text
		}
		m := line.FindStringSubmatch(text)
		if m == nil || tree == "" {
			continue
		}
		ours, err := strconv.ParseFloat(m[2], 64)
		theirs, err2 := strconv.ParseFloat(m[3], 64)
		if err != nil || err2 != nil {
			continue
		}
		name := m[1]
		if !strings.HasPrefix(name, "Glob") {
			name = "Grep " + name
		}
		t.column("rg")
		goal := ""
		if asked.MatchString(name) {
			goal = "≤ 1.5 × rg"
		}
		r := t.add(name+", "+tree, "ms", goal)
		r.one("gofer", ours)
		r.one("rg", theirs)
		if !strings.HasPrefix(m[4], "=") {
			t.note("%s, %s: the answers differ, %s", name, tree, m[4])
		}
	}
}
