package cron

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// An Expr says when something is due: five fields of cron in a time zone's own time, or an interval. Parse makes one.
//
// Where clocks are changed, a time that does not exist that day is due as soon as the clocks have jumped, and a time that comes twice is due the first
// time only. A job of every hour just goes on.
type Expr struct {
	minute, hour, day, month, weekday uint64
	anyDay, anyWeekday                bool
	every                             time.Duration // not 0: an interval, and all else is empty
}

// shortest is the shortest interval: that of cron itself.
const shortest = time.Minute

type field struct {
	name     string
	min, max int
	names    []string // of the values from min on
}

// Parse reads "minute hour day-of-month month day-of-week" or "@every 90m". The error is for the model.
func Parse(text string) (Expr, error) {
	if interval, ok := strings.CutPrefix(strings.TrimSpace(text), "@every "); ok {
		return parseEvery(strings.TrimSpace(interval))
	}
	parts := strings.Fields(text)
	if len(parts) != 5 {
		return Expr{}, fmt.Errorf(`%q has %d fields; five are needed: minute hour day-of-month month day-of-week, such as "30 9 * * 1-5"`, text, len(parts))
	}
	var e Expr
	for i, f := range []struct {
		field
		into *uint64
	}{
		{field{"minute", 0, 59, nil}, &e.minute},
		{field{"hour", 0, 23, nil}, &e.hour},
		{field{"day of month", 1, 31, nil}, &e.day},
		{field{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}, &e.month},
		{field{"day of week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}, &e.weekday},
	} {
		var err error
		if *f.into, err = f.parse(parts[i]); err != nil {
			return Expr{}, err
		}
	}
	e.weekday |= e.weekday >> 7 & 1 // 7 is Sunday too
	e.anyDay, e.anyWeekday = strings.HasPrefix(parts[2], "*"), strings.HasPrefix(parts[4], "*")
	return e, nil
}

func parseEvery(text string) (Expr, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return Expr{}, fmt.Errorf(`%q is not an interval; write it as "10m", "2h" or "1h30m"`, text)
	case d < shortest || d > 366*24*time.Hour:
		return Expr{}, fmt.Errorf("the interval is %s; it must be between a minute and a year", d)
	}
	return Expr{every: d}, nil
}

// parse returns the values of one field as a set of bits.
func (f field) parse(text string) (set uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(item, "/")
		by := 1
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 || by > f.max {
				return 0, fmt.Errorf("%q is no step of the %s", step, f.name)
			}
		}
		from, to := f.min, f.max
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if from, err = f.value(first); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if to, err = f.value(last); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
			if to < from {
				return 0, fmt.Errorf("the range %q of the %s runs backwards", span, f.name)
			}
		}
		for v := from; v <= to; v += by {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("%q is no %s; it must be from %d to %d", text, f.name, f.min, f.max)
	}
	return n, nil
}

// horizon is how far Next looks: the 29th of February may be eight years away.
const horizon = 9

// Next returns the first time after a time at which e is due, in that time's zone; the zero time if there is none. Intervals count from after.
func (e Expr) Next(after time.Time) time.Time {
	after = after.Round(0)
	if e.every > 0 {
		return after.Add(e.every)
	}
	t := after.Add(-time.Duration(after.Second())*time.Second - time.Duration(after.Nanosecond()))
	t, due := e.pastMinute(t)
	for last := t.Year() + horizon; t.Year() < last; {
		switch {
		case due:
			return t
		case e.month>>int(t.Month())&1 == 0:
			t, due = e.startOf(t.Year(), t.Month()+1, 1, t.Location())
		case !e.onDay(t):
			t, due = e.startOf(t.Year(), t.Month(), t.Day()+1, t.Location())
		case e.hour>>t.Hour()&1 == 0:
			t, due = e.nextHour(t)
		case e.minute>>t.Minute()&1 == 0 || !e.everyHour() && secondTime(t):
			t, due = e.pastMinute(t)
		default:
			return t
		}
	}
	return time.Time{}
}

// pastMinute returns the next minute that may be due.
func (e Expr) pastMinute(t time.Time) (time.Time, bool) {
	rest := e.minute >> (t.Minute() + 1)
	if rest == 0 {
		return e.nextHour(t)
	}
	next := t.Add(time.Duration(bits.TrailingZeros64(rest)+1) * time.Minute)
	return next, next.Hour() != t.Hour() && e.leaps(t.Hour(), next)
}

// nextHour returns the beginning of the next hour, and whether a time that is due was leapt over on the way.
func (e Expr) nextHour(t time.Time) (time.Time, bool) {
	next := t.Add(time.Duration(60-t.Minute()) * time.Minute)
	if next.Day() != t.Day() {
		return next, e.leaps(-1, next)
	}
	return next, e.leaps(t.Hour(), next)
}

// startOf returns the first moment of a day, and whether a time that is due was leapt over: in some zones clocks change at midnight.
func (e Expr) startOf(year int, month time.Month, day int, loc *time.Location) (time.Time, bool) {
	t := time.Date(year, month, day, 0, 0, 0, 0, loc)
	if t.Hour() == 0 {
		if secondTime(t) {
			t = t.Add(-time.Hour)
		}
		return t, false
	}
	if t.Hour() > 12 { // still the day before
		_, t = t.ZoneBounds()
	} else {
		t, _ = t.ZoneBounds()
	}
	t = t.In(loc)
	return t, e.leaps(-1, t)
}

// leaps reports whether between an hour of a day and t, on the same day, an hour that is due does not exist.
func (e Expr) leaps(hour int, t time.Time) bool {
	if e.everyHour() || e.month>>int(t.Month())&1 == 0 || !e.onDay(t) {
		return false
	}
	for h := hour + 1; h < t.Hour(); h++ {
		if e.hour>>h&1 == 1 {
			return true
		}
	}
	return false
}

func (e Expr) everyHour() bool { return e.hour == 1<<24-1 }

// onDay follows cron: if both the day of the month and the day of the week are given, either will do.
func (e Expr) onDay(t time.Time) bool {
	day, weekday := e.day>>t.Day()&1 == 1, e.weekday>>int(t.Weekday())&1 == 1
	if e.anyDay || e.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// secondTime reports whether the clocks have shown this time before on the same day.
func secondTime(t time.Time) bool {
	before := t.Add(-time.Hour)
	return before.Hour() == t.Hour() && before.Minute() == t.Minute()
}
