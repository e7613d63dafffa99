package cost

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	type row struct {
		Row
		CacheShare float64 `json:"cacheReadShare"`
	}
	rows := []row{}
	for _, x := range r.Rows() {
		rows = append(rows, row{x, x.CacheShare()})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		By    By    `json:"by"`
		Rows  []row `json:"rows"`
		Total row   `json:"total"`
	}{r.by, rows, row{r.Total(), r.Total().CacheShare()}})
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	rows := r.Rows()
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "No requests were found.")
		return err
	}
	name := width(rows, string(r.by))
	_, err := fmt.Fprintf(w, "%-*s  %9s  %9s  %9s  %9s  %9s  %6s  %10s\n", name, r.by, "requests", "input", "output", "written", "read", "cached", "cost")
	for _, x := range append(rows, r.Total()) {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s  %9s  %9s  %9s  %9s  %9s  %5.1f%%  %10s\n", pad(x.Key, name), count(x.Requests), count(x.Input), count(x.Output),
			count(x.CacheWrite), count(x.CacheRead), 100*x.CacheShare(), Dollars(x.USD))
	}
	return err
}

// WritePlot draws a bar for each row, as long as its cost, on lines of so many columns.
func (r *Report) WritePlot(w io.Writer, columns int) error {
	rows := r.Rows()
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "No requests were found.")
		return err
	}
	name, most := width(rows, ""), 0.0
	for _, x := range rows {
		most = max(most, x.USD)
	}
	room := max(10, columns-name-14)
	for _, x := range rows {
		if _, err := fmt.Fprintf(w, "%s  %10s %s\n", pad(x.Key, name), Dollars(x.USD), bar(x.USD, most, room)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s  %10s, %.1f%% of the input from the cache\n", pad("total", name), Dollars(r.Total().USD), 100*r.Total().CacheShare())
	return err
}

// bar draws value as a part of most, in eighths of a column.
func bar(value, most float64, room int) string {
	if most <= 0 {
		return ""
	}
	eighths := int(math.Round(value / most * float64(room) * 8))
	if value > 0 {
		eighths = max(eighths, 1)
	}
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return s
}

const maxName = 48

func width(rows []Row, title string) int {
	n := max(len("total"), len(title))
	for _, x := range rows {
		n = max(n, utf8.RuneCountInString(x.Key))
	}
	return min(n, maxName)
}

// pad makes a name n columns wide. Of a long one the end stays, which is what tells paths apart.
func pad(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		r = append([]rune("…"), r[len(r)-n+1:]...)
	}
	return string(r) + strings.Repeat(" ", n-len(r))
}

// count writes a number of tokens short.
func count(x float64) string {
	switch {
	case x >= 1e9:
		return fmt.Sprintf("%.2fG", x/1e9)
	case x >= 1e6:
		return fmt.Sprintf("%.2fM", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.1fk", x/1e3)
	case x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

// Dollars writes an amount so that small ones are still seen.
func Dollars(usd float64) string {
	if usd != 0 && math.Abs(usd) < 0.1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}
