package fileindex

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/junegunn/fzf/src/algo"
	"github.com/junegunn/fzf/src/util"
)

// narrowed is the answer to a question that was asked before: one that only adds letters to it need not look at anything else.
type narrowed struct {
	table *table
	query string
	ids   []uint32
}

// A hit is a candidate with its worth.
type hit struct {
	id    uint32
	score int32
	size  uint16
}

// better orders hits: by worth, then the shorter name, then as listed.
func better(a, b hit) int {
	switch {
	case a.score != b.score:
		return int(b.score) - int(a.score)
	case a.size != b.size:
		return int(a.size) - int(b.size)
	}
	return int(a.id) - int(b.id)
}

// ready prepares the tables of the matcher, which values the beginnings of the parts of a path.
var ready = sync.OnceFunc(func() { algo.Init("path") })

// A pattern is a question in the form of the matcher.
type pattern struct {
	runes     []rune
	bytes     []byte // in lower case, when it is ASCII; else nil
	sensitive bool   // the question has capitals
	mask      uint64
}

func newPattern(query string) pattern {
	p := pattern{sensitive: query != strings.ToLower(query)}
	for i := 0; i < len(query); i++ {
		if query[i] < utf8.RuneSelf { // other letters have other bytes as capitals
			p.mask |= 1 << bitOf(query[i])
		}
	}
	p.runes = []rune(query)
	if len(query) == len(p.runes) {
		p.bytes = []byte(query)
	}
	return p
}

const (
	chunk     = 4096 // names that a worker takes at a time
	inBase    = 24   // worth of a match that lies in the last part of a path
	atBase    = 12   // and of one at its beginning
	fewEnough = 6000 // names that are weighed one by one
)

// best returns the best candidates: some more than asked for, since some of them may be gone.
func (x *Index) best(ctx context.Context, t *table, query string, limit int) []Match {
	ready()
	query = strings.ReplaceAll(strings.ToValidUTF8(query, ""), " ", "")
	if query == "" {
		return top(t, 2*limit)
	}
	p := newPattern(query)
	ids := x.candidates(ctx, t, query, p)
	if ctx.Err() != nil {
		return nil
	}
	scored := ids
	if len(ids) > fewEnough {
		// Too many to weigh each.
		scored = prefer(ctx, t, ids, p, fewEnough)
	}
	hits := weigh(ctx, t, scored, p, 2*limit)
	if ctx.Err() != nil {
		return nil
	}
	found := make([]Match, len(hits))
	slab := util.MakeSlab(64<<10, 4<<10)
	for i, h := range hits {
		name := string(t.name(h.id))
		found[i].Path = name
		chars := util.ToChars([]byte(name))
		if _, at := algo.FuzzyMatchV2(p.sensitive, false, true, &chars, p.runes, true, slab); at != nil {
			found[i].Matched = slices.Sorted(slices.Values(*at))
		}
	}
	return found
}

// top is what lies directly in the root.
func top(t *table, limit int) []Match {
	var found []Match
	for i := range uint32(t.len()) {
		name := t.name(i)
		if slash := bytes.IndexByte(name, '/'); slash >= 0 && slash < len(name)-1 {
			continue
		}
		if found = append(found, Match{Path: string(name)}); len(found) == limit {
			break
		}
	}
	return found
}

// candidates are all names that hold the letters of the question in order.
func (x *Index) candidates(ctx context.Context, t *table, query string, p pattern) []uint32 {
	x.mu.Lock()
	last := x.last
	x.mu.Unlock()
	var from []uint32
	narrow := last.table == t && last.query != "" && strings.HasPrefix(query, last.query) && (newPattern(last.query).sensitive == p.sensitive || !newPattern(last.query).sensitive)
	if narrow {
		if last.query == query {
			return last.ids
		}
		from = last.ids
	}
	ids := filter(ctx, t, from, narrow, p)
	if ctx.Err() == nil {
		x.mu.Lock()
		x.last = narrowed{table: t, query: query, ids: ids}
		x.mu.Unlock()
	}
	return ids
}

// filter runs over all names, or over some, on all cores.
func filter(ctx context.Context, t *table, from []uint32, some bool, p pattern) []uint32 {
	total := t.len()
	if some {
		total = len(from)
	}
	exact := len(p.bytes) == 1 && !p.sensitive && bitOf(p.bytes[0]) < otherASCII // one letter has a bit of its own
	pieces := make([][]uint32, (total+chunk-1)/chunk)
	parallel(ctx, len(pieces), func(_, piece int) {
		lo, hi := piece*chunk, min(total, (piece+1)*chunk)
		var kept []uint32
		for i := lo; i < hi; i++ {
			id := uint32(i)
			if some {
				id = from[i]
			}
			if t.mask[id]&p.mask == p.mask && (exact || p.within(t.folded(id, p))) {
				if kept == nil {
					kept = make([]uint32, 0, hi-i)
				}
				kept = append(kept, id)
			}
		}
		pieces[piece] = kept
	})
	return slices.Concat(pieces...)
}

// within reports whether a folded name holds the letters in order.
func (p pattern) within(name []byte) bool {
	if p.bytes == nil {
		return p.withinRunes(string(name))
	}
	for _, c := range p.bytes {
		i := bytes.IndexByte(name, c)
		if i < 0 {
			return false
		}
		name = name[i+1:]
	}
	return true
}

func (p pattern) withinRunes(name string) bool {
	if !p.sensitive {
		name = strings.ToLower(name)
	}
	for _, r := range p.runes {
		at := strings.IndexRune(name, r)
		if at < 0 {
			return false
		}
		name = name[at+utf8.RuneLen(r):]
	}
	return true
}

// Classes of candidates, told apart by looks that cost next to nothing, best first.
const (
	beginsWith  = iota // the last part of the path begins with the letters
	contains           // it contains them together
	beginsFirst        // it contains them in order, and begins with the first one
	inOrder            // it contains them in order
	spread             // they are spread over the path
	classes
)

// prefer keeps the most likely of very many candidates: the better classes, and of the last one that has room the shorter names.
func prefer(ctx context.Context, t *table, ids []uint32, p pattern, most int) []uint32 {
	rank := make([]uint16, len(ids))
	parallel(ctx, (len(ids)+chunk-1)/chunk, func(_, piece int) {
		for i := piece * chunk; i < min(len(ids), (piece+1)*chunk); i++ {
			name := t.folded(ids[i], p)
			rank[i] = uint16(p.class(name[t.base[ids[i]]:]))<<8 | uint16(min(len(name), 255))
		}
	})
	var counts [classes << 8]int
	for _, r := range rank {
		counts[r]++
	}
	limit, room := 0, most
	for ; limit < len(counts) && counts[limit] <= room; limit++ {
		room -= counts[limit]
	}
	kept := make([]uint32, 0, most)
	for i, r := range rank {
		if int(r) == limit && room > 0 {
			room--
		} else if int(r) >= limit {
			continue
		}
		kept = append(kept, ids[i])
	}
	return kept
}

// class judges the last part of a folded path.
func (p pattern) class(base []byte) int {
	if p.bytes == nil || len(base) < len(p.bytes) {
		return spread
	}
	switch at := bytes.Index(base, p.bytes); {
	case at == 0:
		return beginsWith
	case at > 0:
		return contains
	case !p.within(base):
		return spread
	case base[0] == p.bytes[0]:
		return beginsFirst
	}
	return inOrder
}

// weigh values the candidates and returns the best of them, best first.
func weigh(ctx context.Context, t *table, ids []uint32, p pattern, limit int) []hit {
	type worker struct {
		slab *util.Slab
		hits []hit
	}
	workers := make([]worker, runtime.GOMAXPROCS(0))
	parallel(ctx, (len(ids)+chunk-1)/chunk, func(w, piece int) {
		me := &workers[w]
		if me.slab == nil {
			me.slab = util.MakeSlab(64<<10, 4<<10)
		}
		for _, id := range ids[piece*chunk : min(len(ids), (piece+1)*chunk)] {
			name := t.name(id)
			chars := util.ToChars(name)
			res, _ := algo.FuzzyMatchV2(p.sensitive, false, true, &chars, p.runes, false, me.slab)
			if res.Start < 0 {
				continue
			}
			score := int32(res.Score)
			if base := int(t.base[id]); p.within(t.folded(id, p)[base:]) {
				score += inBase
				if res.Start == base {
					score += atBase
				}
			}
			me.hits = keepBest(me.hits, hit{id, score, uint16(min(len(name), 1<<16-1))}, limit)
		}
	})
	var all []hit
	for _, w := range workers {
		all = append(all, w.hits...)
	}
	slices.SortFunc(all, better)
	return all[:min(limit, len(all))]
}

// keepBest gathers hits and throws the worse half away whenever there are twice as many as wanted.
func keepBest(hits []hit, h hit, limit int) []hit {
	hits = append(hits, h)
	if len(hits) >= 2*limit+64 {
		slices.SortFunc(hits, better)
		hits = hits[:limit]
	}
	return hits
}

// parallel does pieces of work on all cores; it stops early when the context ends.
func parallel(ctx context.Context, pieces int, do func(worker, piece int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for w := range min(runtime.GOMAXPROCS(0), pieces) {
		group.Go(func() {
			for ctx.Err() == nil {
				piece := int(next.Add(1)) - 1
				if piece >= pieces {
					return
				}
				do(w, piece)
			}
		})
	}
	group.Wait()
}

// Score values how well a text fits letters that were typed, for lists other than files.
func Score(text, query string) (score int, matched []int, ok bool) {
	ready()
	if query == "" {
		return 0, nil, true
	}
	p := newPattern(query)
	chars := util.ToChars([]byte(text))
	res, at := algo.FuzzyMatchV2(p.sensitive, false, true, &chars, p.runes, true, nil)
	if res.Start < 0 {
		return 0, nil, false
	}
	if at != nil {
		matched = slices.Sorted(slices.Values(*at))
	}
	return res.Score, matched, true
}
