package transcript

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// countingReader counts what is read.
type countingReader struct {
	io.ReaderAt
	n int64
}

func (r *countingReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, at)
	r.n += int64(n)
	return n, err
}

func TestLinesBackwardsAreTheLinesForwards(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for range 30 {
		var text strings.Builder
		for range random.IntN(30) {
			n := random.IntN(100)
			if random.IntN(5) == 0 {
				n = random.IntN(3 * firstChunk)
			}
			text.WriteString(strings.Repeat("x", n) + "\n")
		}
		if random.IntN(2) == 0 {
			text.WriteString("torn")
		}
		s := text.String()
		var forward, backward []string
		eachLine(strings.NewReader(s), func(at int64, line []byte, _ bool) error {
			forward = append(forward, fmt.Sprint(at, " ", string(line)))
			return nil
		})
		r := newBackReader(strings.NewReader(s), int64(len(s)))
		for {
			line, at, err := r.prev()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			backward = append(backward, fmt.Sprint(at, " ", string(line)))
		}
		slices.Reverse(backward)
		if strings.HasSuffix(s, "\n") || s == "" {
			backward = backward[:len(backward)-1] // behind the last line end there is an empty line
		}
		if !slices.Equal(forward, backward) {
			t.Fatalf("%d lines forwards, %d backwards", len(forward), len(backward))
		}
	}
}

func TestOnlyTheEndOfAFileIsRead(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&b, `{"parentUuid":"u%d","type":"user","uuid":"u%d","message":{"role":"user","content":"%s"}}`+"\n", i-1, i, strings.Repeat("y", 2000))
	}
	b.WriteString(`{"parentUuid":null,"logicalParentUuid":"u4999","type":"system","uuid":"b","compactMetadata":{}}` + "\n")
	b.WriteString(`{"parentUuid":"b","type":"user","uuid":"e","message":{"role":"user","content":"short"}}` + "\n")
	r := &countingReader{ReaderAt: bytes.NewReader(b.Bytes())}
	x := newIndex(r, int64(b.Len()), false)
	lines, err := x.conversation("")
	if err != nil || len(lines) != 2 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if r.n > 2*firstChunk {
		t.Errorf("%d of %d bytes were read", r.n, b.Len())
	}
}

func TestALineWithoutEndCostsBoundedMemory(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	head := `{"parentUuid":null,"type":"user","uuid":"a","message":{"role":"user","content":"before"}}` + "\n"
	tail := "\n" + `{"parentUuid":"a","type":"user","uuid":"b","message":{"role":"user","content":"after"}}` + "\n"
	size := int64(len(head)) + 9*most + int64(len(tail))
	f := &sparse{head: head, tail: tail, size: size}
	x := newIndex(f, size, false)
	x.back.most = most
	lines, err := x.conversation("")
	if err != nil || len(lines) != 2 || x.broken != 1 || len(x.back.room) > 4*most {
		t.Errorf("%d lines, %d broken, %d bytes, %v", len(lines), x.broken, len(x.back.room), err)
	}
}

// sparse is a large file of zeros between two texts.
type sparse struct {
	head, tail string
	size       int64
}

func (s *sparse) ReadAt(b []byte, at int64) (int, error) {
	clear(b)
	if at < int64(len(s.head)) {
		copy(b, s.head[at:])
	}
	if start := s.size - int64(len(s.tail)); at+int64(len(b)) > start {
		if at >= start {
			copy(b, s.tail[at-start:])
		} else {
			copy(b[start-at:], s.tail)
		}
	}
	return len(b), nil
}
