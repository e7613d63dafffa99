package main

import (
	"slices"
	"time"
)

// median is the middle of d, 0 if there is none. d is left as it is.
func median[T int | int64 | float64 | time.Duration](d []T) T {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Clone(d)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// least is the smallest of d, 0 if there is none.
func least[T int | int64 | float64 | time.Duration](d []T) T {
	if len(d) == 0 {
		return 0
	}
	return slices.Min(d)
}

// most is the largest of d, 0 if there is none.
func most[T int | int64 | float64 | time.Duration](d []T) T {
	if len(d) == 0 {
		return 0
	}
	return slices.Max(d)
}

// slope is what one more turn costs: the difference between long and short runs, spread over the turns between them. What
// both have alike, such as the start, falls out.
func slope(short, long time.Duration, turns int) time.Duration {
	return (long - short) / time.Duration(turns)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
