package memory

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"
)

var errNoModel = errors.New("there is no small model")

// rank orders memories by how well they fit the prompt (BM25 over name, description and text) and leaves out those that do not.
func rank(prompt string, list []Memory) []Memory {
	const k1, b = 1.2, 0.75
	const headWeight = 3 // a word of the description says more than one of the text
	query := map[string]bool{}
	for _, w := range words(prompt) {
		query[w] = true
	}
	type doc struct {
		memory Memory
		counts map[string]float64
		head   map[string]bool
		length float64
	}
	docs := make([]doc, len(list))
	found := map[string]int{}
	total := 0.0
	for i, m := range list {
		d := doc{memory: m, counts: map[string]float64{}, head: map[string]bool{}}
		for _, w := range m.head {
			d.counts[w] += headWeight
			d.head[w] = true
			d.length += headWeight
		}
		for _, w := range m.body {
			d.counts[w]++
			d.length++
		}
		for w := range query {
			if d.counts[w] > 0 {
				found[w]++
			}
		}
		total += d.length
		docs[i] = d
	}
	mean := max(total/float64(max(len(docs), 1)), 1)
	type hit struct {
		memory Memory
		score  float64
	}
	var hits []hit
	for _, d := range docs {
		score, matched, inHead := 0.0, 0, false
		for w := range query {
			tf := d.counts[w]
			if tf == 0 {
				continue
			}
			matched++
			inHead = inHead || d.head[w]
			n := float64(found[w])
			idf := math.Log(1 + (float64(len(docs))-n+0.5)/(n+0.5))
			score += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*d.length/mean))
		}
		// One common word in the text is chance. Two of them, or one that the description is about, are not.
		if matched >= 2 || matched == 1 && inHead {
			hits = append(hits, hit{d.memory, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		// Sums over a map differ in their last bits from run to run; the order must not.
		switch d := a.score - b.score; {
		case d > 1e-9:
			return -1
		case d < -1e-9:
			return 1
		}
		return strings.Compare(a.memory.File, b.memory.File)
	})
	const worthOfBest = 0.35
	var chosen []Memory
	for _, h := range hits {
		if h.score >= worthOfBest*hits[0].score && len(chosen) < mostRecalled {
			chosen = append(chosen, h.memory)
		}
	}
	return chosen
}

// withoutUsage leaves out notes on how to use a tool that is in use, but not those that warn about it.
func withoutUsage(list []Memory, tools []string) []Memory {
	return slices.DeleteFunc(slices.Clone(list), func(m Memory) bool {
		if m.Type != Reference {
			return false
		}
		head := " " + strings.Join(m.head, " ") + " "
		aboutTool := slices.ContainsFunc(tools, func(t string) bool {
			w := words(t)
			return len(w) > 0 && strings.Contains(head, " "+strings.Join(w, " ")+" ")
		})
		return aboutTool && !warns(m)
	})
}

func warns(m Memory) bool {
	text := strings.ToLower(m.Name + " " + m.Description + " " + m.Body)
	return slices.ContainsFunc([]string{"avoid", "never", "do not", "don't", "careful", "beware", "warning", "bug", "breaks", "broken", "fails", "wrong", "danger", "避免", "不要", "注意", "小心", "警告", "错误"},
		func(w string) bool { return strings.Contains(text, w) })
}

// words splits text into what is compared: lower-case words, parts of compound names, pairs of Han characters; without the
// words that every text has.
func words(text string) []string {
	var out []string
	var word []rune
	end := func() {
		if w := stem(strings.ToLower(string(word))); len(w) > 1 && !common(w) {
			out = append(out, w)
		}
		word = word[:0]
	}
	var han []rune
	endHan := func() {
		if len(han) == 1 {
			out = append(out, string(han))
		}
		for i := 0; i+1 < len(han); i++ {
			out = append(out, string(han[i:i+2]))
		}
		han = han[:0]
	}
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			end()
			han = append(han, r)
			continue
		}
		endHan()
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			end() // camelCase
		}
		word = append(word, r)
	}
	end()
	endHan()
	return out
}

// stem takes the endings off that matter most: "tests" is "test".
func stem(w string) string {
	for _, ending := range []string{"ing", "ed", "s"} {
		if base, ok := strings.CutSuffix(w, ending); ok && len(base) > 2 && !strings.HasSuffix(base, "s") {
			return base
		}
	}
	return w
}

func common(w string) bool {
	switch w {
	case "the", "and", "for", "with", "that", "thi", "this", "from", "into", "you", "your", "are", "was", "were", "have", "has", "had", "not", "but", "can", "could", "will", "would",
		"should", "please", "it", "its", "is", "in", "on", "of", "to", "do", "doe", "be", "an", "as", "at", "by", "or", "we", "me", "my", "our", "so", "if", "what", "how", "why", "when", "where",
		"which", "who", "all", "any", "some", "there", "here", "now", "then", "than", "also", "just", "make", "use", "us", "get", "let", "new", "no", "ye", "yes", "ok", "go", "up", "out", "about", "them", "they":
		return true
	}
	return false
}
