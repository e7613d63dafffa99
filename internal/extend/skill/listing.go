package skill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	lineMost  = 250 // characters of one description
	lineLeast = 20  // with fewer a description says nothing, and only names are left
)

// Budget is how many characters the listing may have for a window of so many tokens: one in a hundred, at four characters each.
func Budget(window int) int {
	if window <= 0 {
		window = 200_000
	}
	return window * 4 / 100
}

// An Item is a skill in a listing.
type Item struct {
	*Skill
	Brief bool    // only its name
	Score float64 // how much it was used: when not even all names fit, those with the least are left out
}

// Listing tells the skills in at most budget characters: those that come with gofer whole, of the others at most 250 characters each. When that is
// too much their descriptions shrink alike; when nothing useful would be left of them only their names stay.
func Listing(items []Item, budget int) string {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	if text := render(items, lineMost); utf8.RuneCountInString(text) <= budget {
		return text
	}
	// The largest even length that fits, by halving.
	low, high := lineLeast-1, lineMost
	for high-low > 1 {
		if mid := (low + high) / 2; utf8.RuneCountInString(render(items, mid)) <= budget {
			low = mid
		} else {
			high = mid
		}
	}
	if low >= lineLeast {
		return render(items, low)
	}
	return namesOnly(items, budget)
}

// render writes the lines, with descriptions of so many characters at most.
func render(items []Item, most int) string {
	var b strings.Builder
	for _, it := range items {
		text := it.line()
		switch {
		case it.Brief || most <= 0 && it.Origin != Bundled:
			text = ""
		case it.Origin != Bundled:
			text = cut(text, most)
		}
		b.WriteString("- " + it.Name)
		if text != "" {
			b.WriteString(": " + text)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// namesOnly lists names, and leaves out the least used ones when not even these fit.
func namesOnly(items []Item, budget int) string {
	if text := render(items, 0); utf8.RuneCountInString(text) <= budget {
		return text
	}
	byUse := slices.Clone(items)
	slices.SortStableFunc(byUse, func(a, b Item) int {
		if c := cmp.Compare(bundledLast(a), bundledLast(b)); c != 0 {
			return c
		}
		return cmp.Compare(b.Score, a.Score)
	})
	left := budget - 40 // for the line that says what is missing
	kept := map[string]bool{}
	for _, it := range byUse {
		left -= utf8.RuneCountInString(render([]Item{it}, 0)) + 1
		if left < 0 {
			break
		}
		kept[it.Name] = true
	}
	missing := len(items) - len(kept)
	items = slices.DeleteFunc(items, func(it Item) bool { return !kept[it.Name] })
	return strings.TrimPrefix(render(items, 0)+fmt.Sprintf("\n(and %d more)", missing), "\n")
}

// bundledLast is 0 for the skills that are never cut.
func bundledLast(it Item) int {
	if it.Origin == Bundled {
		return 0
	}
	return 1
}
