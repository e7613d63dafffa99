package find

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"gofer/internal/tool"
)

// Weights of a word that is found, by where it is found.
const (
	asName     = 12 // it is a word of the name
	inName     = 6  // it is part of the name
	inHint     = 4
	asDocWord  = 2
	inDoc      = 1
	wholeBonus = 100 // the query is the name
)

// rank returns the tools that fit best, at most limit. A word with + before it must be there.
func rank(all []*tool.Tool, query string, limit int) []*tool.Tool {
	type scored struct {
		t *tool.Tool
		n int
	}
	var list []scored
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	for _, t := range all {
		if n := score(t, words, strings.ToLower(strings.TrimSpace(query))); n > 0 {
			list = append(list, scored{t, n})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		if c := cmp.Compare(b.n, a.n); c != 0 {
			return c
		}
		return strings.Compare(a.t.Name, b.t.Name)
	})
	var found []*tool.Tool
	for _, s := range list[:min(limit, len(list))] {
		found = append(found, s.t)
	}
	return found
}

// fillers are words that say nothing about a tool.
var fillers = strings.Fields("an and at by for from in into is it of on or that the this to tool tools use using with")

func score(t *tool.Tool, words []string, query string) int {
	name, hint, doc := strings.ToLower(t.Name), strings.ToLower(t.Hint), strings.ToLower(t.Doc)
	nameWords, docWords := wordsOf(t.Name), wordsOf(t.Doc)
	sum := 0
	if name == query || strings.HasSuffix(name, "__"+query) {
		sum += wholeBonus
	}
	for _, w := range words {
		w, must := strings.CutPrefix(w, "+")
		if len(w) < 2 || !must && slices.Contains(fillers, w) {
			continue
		}
		n := 0
		switch {
		case nameWords[w]:
			n = asName
		case len(w) > 2 && strings.Contains(name, w):
			n = inName
		}
		if len(w) > 2 && strings.Contains(hint, w) {
			n += inHint
		}
		switch {
		case docWords[w]:
			n += asDocWord
		case len(w) > 2 && strings.Contains(doc, w):
			n += inDoc
		}
		if n == 0 && must {
			return 0
		}
		sum += n
	}
	return sum
}

// wordsOf splits a text into lower-case words, also at underscores and inside camelCase.
func wordsOf(s string) map[string]bool {
	set := map[string]bool{}
	var word []rune
	flush := func() {
		if len(word) > 0 {
			set[strings.ToLower(string(word))] = true
			word = word[:0]
		}
	}
	var last rune
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(last):
			flush()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		last = r
	}
	flush()
	return set
}
