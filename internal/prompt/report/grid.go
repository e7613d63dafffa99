package report

import "math"

// A Square is one of the equal parts into which the window is drawn.
type Square struct {
	Color      string  `json:"color"`
	IsFilled   bool    `json:"isFilled"`
	Category   string  `json:"categoryName"`
	Tokens     int     `json:"tokens"`
	Percentage int     `json:"percentage"`
	Fullness   float64 `json:"squareFullness"`
}

const rows = 10

// grid draws the window as ten rows of squares, twenty wide when it is very large. Every category that has anything gets a square;
// the free space gives them up.
func grid(categories []Category, window int) [][]Square {
	columns := 10
	if window >= 1_000_000 {
		columns = 20
	}
	all := rows * columns
	var squares []Square
	var tail []Square // the buffer stands at the end
	for _, c := range categories {
		if c.IsDeferred || c.Name == FreeSpace || window == 0 {
			continue
		}
		exact := float64(c.Tokens) / float64(window) * float64(all)
		n := max(1, int(math.Round(exact)))
		for i := range n {
			s := Square{Color: c.Color, IsFilled: true, Category: c.Name, Tokens: c.Tokens, Percentage: percent(c.Tokens, window), Fullness: 1}
			if i == n-1 {
				s.Fullness = math.Round(100*min(1, max(0, exact-float64(n-1)))) / 100
			}
			if c.Name == Buffer {
				tail = append(tail, s)
			} else {
				squares = append(squares, s)
			}
		}
	}
	free := Square{Color: "gray", Category: FreeSpace}
	for _, c := range categories {
		if c.Name == FreeSpace {
			free.Tokens, free.Percentage = c.Tokens, percent(c.Tokens, window)
		}
	}
	squares = squares[:min(len(squares), all)]
	tail = tail[:min(len(tail), all-len(squares))]
	for len(squares)+len(tail) < all {
		squares = append(squares, free)
	}
	squares = append(squares, tail...)
	out := make([][]Square, rows)
	for i := range out {
		out[i] = squares[i*columns : (i+1)*columns]
	}
	return out
}

func percent(n, of int) int {
	if of == 0 {
		return 0
	}
	return int(math.Round(100 * float64(n) / float64(of)))
}
