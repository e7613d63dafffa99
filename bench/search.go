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
	cmd := exec.CommandContext(ctx, program, "-runs", strconv.Itoa(b.times(2)))
	if b.quick {
		cmd.Args = append(cmd.Args, "-only", "go")
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+where.temp, "TEMP="+where.temp, "TMP="+where.temp)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err = cmd.Run()
	return out.String(), err
}

// searches reads the report of bench/search: a title before each tree, a line with the names of the columns, and lines of a
// name, figures, and how the answers compare.
func (t *table) searches(report string) {
	line := regexp.MustCompile(`^(.+?)((?:\s+\d+\.\d+)+)\s+(= ?\d+|\d+/\d+)`)
	gaps := regexp.MustCompile(`\s{2,}`)
	asked := regexp.MustCompile(`^(Glob .*|Grep (literal|rare|common)( expression|, count|, content)?)$`)
	previous, tree := "", ""
	var columns []string
	for text := range strings.Lines(report) {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "gofer ms") {
			tree, columns = previous, gaps.Split(text, -1)
		}
		if text != "" {
			previous = text
		}
		m := line.FindStringSubmatch(text)
		if m == nil || tree == "" {
			continue
		}
		figures := map[string]float64{}
		for i, f := range strings.Fields(m[2]) {
			if i < len(columns) {
				figures[columns[i]], _ = strconv.ParseFloat(f, 64)
			}
		}
		name := m[1]
		if !strings.HasPrefix(name, "Glob") {
			name = "Grep " + name
		}
		goal := ""
		if asked.MatchString(name) {
			goal = "≤ 1.5 × rg"
		}
		if cpu, ok := figures["cpu"]; ok {
			goal = strings.TrimSpace(fmt.Sprintf("%s (CPU: %.2f × rg)", goal, cpu))
		}
		t.column("rg")
		r := t.add(name+", "+tree, "ms", goal)
		r.one("gofer", figures["gofer ms"])
		r.one("rg", figures["rg ms"])
		if !strings.HasPrefix(m[3], "=") {
			t.note("%s, %s: the answers differ, %s", name, tree, m[3])
		}
	}
}
