package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// A table is all that was found.
type table struct {
	When     time.Time         `json:"when"`
	System   string            `json:"system"`
	Cores    int               `json:"cores"`
	Load     string            `json:"load,omitempty"`
	Versions map[string]string `json:"versions"`
	Rows     []row             `json:"rows"`
	Notes    []string          `json:"notes,omitempty"`

	subjects []string // in the order of their columns
}

// A row is one figure of all subjects.
type row struct {
	Figure string           `json:"figure"`
	Unit   string           `json:"unit"`
	Goal   string           `json:"goal,omitempty"`
	Values map[string]value `json:"values"`
}

// A value is the median of some runs and the least of them.
type value struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
}

func newTable() *table {
	return &table{When: time.Now().UTC().Truncate(time.Second), System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Load: load(), Versions: map[string]string{}}
}

// load is how busy the machine is by itself, where that can be had cheaply.
func load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(data))
	if len(fields) < 1 {
		return ""
	}
	return fields[0]
}

func (t *table) subject(name, version string) {
	t.Versions[name] = version
	t.column(name)
}

// column adds a column, if there is none of that name.
func (t *table) column(name string) {
	for _, have := range t.subjects {
		if have == name {
			return
		}
	}
	t.subjects = append(t.subjects, name)
}

func (t *table) add(figure, unit, goal string) row {
	r := row{Figure: figure, Unit: unit, Goal: goal, Values: map[string]value{}}
	t.Rows = append(t.Rows, r)
	return r
}

// note adds a line below the table. What programs say when they fail is long: the end of it says most.
func (t *table) note(format string, args ...any) {
	words := []rune(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	if head, rest := 100, 300; len(words) > head+rest {
		words = append(append(words[:head:head], []rune(" … ")...), words[len(words)-rest:]...)
	}
	t.Notes = append(t.Notes, string(words))
}

func (r row) times(subject string, d []time.Duration) {
	if len(d) > 0 {
		r.Values[subject] = value{milliseconds(median(d)), milliseconds(least(d))}
	}
}

// peak is the largest of some measurements of memory. Of memory the most counts, so there is no median.
func (r row) peak(subject string, bytes []int64) {
	if m := most(bytes); m > 0 {
		r.one(subject, megabytes(m))
	}
}

func (r row) one(subject string, v float64) { r.Values[subject] = value{v, v} }

func (t *table) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(t)
}

// write prints the table for people: medians, with the least in brackets, and how the best of the others compares.
func (t *table) write(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s, %d cores", t.When.Format(time.RFC3339), t.System, t.Cores)
	if t.Load != "" {
		fmt.Fprintf(w, ", load %s at the start", t.Load)
	}
	for _, s := range t.subjects {
		if v := t.Versions[s]; v != "" {
			fmt.Fprintf(w, ", %s %s", s, v)
		}
	}
	fmt.Fprint(w, "\nMedians, the least in brackets.\n\n")
	lines := [][]string{t.heading()}
	for _, r := range t.Rows {
		lines = append(lines, t.line(r))
	}
	if err := writeAligned(w, lines); err != nil {
		return err
	}
	for _, n := range t.Notes {
		fmt.Fprintf(w, "\n- %s", n)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// compared tells whether there is anything to compare gofer with.
func (t *table) compared() bool { return len(t.subjects) > 1 }

func (t *table) heading() []string {
	cells := append([]string{"", ""}, t.subjects...)
	if t.compared() {
		cells = append(cells, "best other ÷ gofer")
	}
	return append(cells, "goal")
}

func (t *table) line(r row) []string {
	cells := []string{r.Figure, r.Unit}
	for _, s := range t.subjects {
		cells = append(cells, r.cell(s))
	}
	if t.compared() {
		cells = append(cells, r.ratio())
	}
	return append(cells, r.Goal)
}

// writeAligned writes lines of equally many cells: the first and the last to the left, figures to the right.
func writeAligned(w io.Writer, lines [][]string) error {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, cells := range lines {
		var b strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 || i == len(cells)-1 {
				b.WriteString(c + pad + "  ")
			} else {
				b.WriteString(pad + c + "  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (r row) cell(subject string) string {
	v, ok := r.Values[subject]
	switch {
	case !ok:
		return "–"
	case v.Median == v.Least:
		return number(v.Median)
	}
	return number(v.Median) + " (" + number(v.Least) + ")"
}

// ratio says how many times as much the best of the others needs.
func (r row) ratio() string {
	mine, ok := r.Values["gofer"]
	best := 0.0
	for s, v := range r.Values {
		if s != "gofer" && (best == 0 || v.Median < best) {
			best = v.Median
		}
	}
	if !ok || mine.Median <= 0 || best <= 0 || r.Unit == "%" {
		return ""
	}
	return fmt.Sprintf("%.1f×", best/mine.Median)
}

// number writes three digits or more, as many as mean something.
func number(v float64) string {
	switch {
	case v >= 100 || v <= -100 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
