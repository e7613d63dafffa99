package cron

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

const layout = "2006-01-02 15:04 MST"

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr, zone, after string
		want              []string
	}{
		{"*/20 * * * *", "UTC", "2026-11-15 16:41 UTC", []string{"2026-11-15 17:00 UTC", "2026-11-15 17:20 UTC"}},
		{"30 9 * * 1-5", "UTC", "2026-11-13 09:30 UTC", []string{"2026-11-16 09:30 UTC", "2026-11-17 09:30 UTC"}},
		{"0 12 * * SUN", "UTC", "2026-11-15 12:00 UTC", []string{"2026-11-22 12:00 UTC"}},
		{"0 12 * * 7", "UTC", "2026-11-15 11:59 UTC", []string{"2026-11-15 12:00 UTC"}},
		{"0 0 29 feb *", "UTC", "2096-03-01 00:00 UTC", []string{"2104-02-29 00:00 UTC"}},
		{"0 0 31 * *", "UTC", "2026-08-31 00:00 UTC", []string{"2026-10-31 00:00 UTC", "2026-12-31 00:00 UTC"}},
		{"0 0 13 * 5", "UTC", "2026-11-06 00:00 UTC", []string{"2026-11-13 00:00 UTC", "2026-11-20 00:00 UTC", "2026-11-27 00:00 UTC", "2026-12-04 00:00 UTC", "2026-12-11 00:00 UTC", "2026-12-13 00:00 UTC"}},
		{"0 0 30 2 *", "UTC", "2026-11-06 00:00 UTC", []string{""}},
		{"@every 90m", "UTC", "2026-11-06 00:10 UTC", []string{"2026-11-06 01:40 UTC"}},
		// Clocks jump from 02:00 to 03:00: what is due in between is due at 03:00, once; an hourly job just goes on.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28 12:00 CET", []string{"2026-03-29 03:00 CEST", "2026-03-30 02:30 CEST"}},
		{"59 1,2 * * *", "Europe/Berlin", "2026-03-29 01:00 CET", []string{"2026-03-29 01:59 CET", "2026-03-29 03:00 CEST", "2026-03-30 01:59 CEST"}},
		{"30 * * * *", "Europe/Berlin", "2026-03-29 00:40 CET", []string{"2026-03-29 01:30 CET", "2026-03-29 03:30 CEST"}},
		// Clocks go back from 03:00 to 02:00: once at the first 02:30; an hourly job twice.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00 CEST", []string{"2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"}},
		{"30 * * * *", "Europe/Berlin", "2026-10-25 01:40 CEST", []string{"2026-10-25 02:30 CEST", "2026-10-25 02:30 CET", "2026-10-25 03:30 CET"}},
		// Midnight does not exist.
		{"15 0 * * *", "America/Havana", "2026-03-07 12:00 CST", []string{"2026-03-08 01:00 CDT", "2026-03-09 00:15 CDT"}},
		{"15 0 8 3 *", "America/Havana", "2026-01-07 12:00 CST", []string{"2026-03-08 01:00 CDT"}},
	} {
		loc, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Parse(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.ParseInLocation(layout, c.after, loc)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			at = e.Next(at)
			got := ""
			if !at.IsZero() {
				got = at.Format(layout)
			}
			if got != want {
				t.Errorf("%q after %s: got %q, want %q", c.expr, c.after, got, want)
				break
			}
		}
	}
}

func TestWrongTimesAreExplained(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":              "0 fields",
		"* * * *":       "4 fields",
		"60 * * * *":    "from 0 to 59",
		"* 24 * * *":    "from 0 to 23",
		"* * 0 * *":     "from 1 to 31",
		"* * * foo *":   `"foo" is no month`,
		"* * * * 8":     "from 0 to 7",
		"*/0 * * * *":   "no step",
		"5-1 * * * *":   "backwards",
		"1,,2 * * * *":  "no minute",
		"@every 5s":     "between a minute",
		"@every soon":   "not an interval",
		"-1 * * * *":    "no minute",
		"* * * * 1-":    "no day of week",
		"1/2/3 * * * *": "no step",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// Whatever can be parsed moves on in time and ends.
func FuzzNext(f *testing.F) {
	f.Add("*/5 2 29 2 0", int64(1774747800))
	f.Add("0 0 * * *", int64(0))
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		for _, zone := range []string{"Europe/Berlin", "America/Havana", "Australia/Lord_Howe"} {
			loc, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Unix(unix%(1<<32), 0).In(loc)
			for range 3 {
				next := e.Next(at)
				if next.IsZero() {
					break
				}
				if !next.After(at) {
					t.Fatalf("%q after %s: %s", text, at, next)
				}
				at = next
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{"*/5 * * * *", "0 9 * * 1-5", "0 0 29 2 *"} {
		e, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			at := time.Date(2026, 3, 1, 0, 0, 0, 0, loc)
			for b.Loop() {
				e.Next(at)
			}
		})
	}
}
