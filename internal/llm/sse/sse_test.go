package sse

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(r *Reader) (events []string, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, e.Name+"="+string(e.Data))
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	tests := []struct {
		name, in string
		want     []string
	}{
		{"one event", "event: a\ndata: 1\n\n", []string{"a=1"}},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []string{"a=1", "=2"}},
		{"no space after the colon", "event:a\ndata:1\n\n", []string{"a=1"}},
		{"only one space is cut", "data:  1\n\n", []string{"= 1"}},
		{"comments and other fields", ": hello\nid: 7\nretry: 10\ndata: 1\n: bye\n\n", []string{"=1"}},
		{"several data lines", "data: 1\ndata:\ndata: 2\n\n", []string{"=1\n\n2"}},
		{"empty data counts", "data:\n\n", []string{"="}},
		{"no data, no event", "event: ping\n\nevent: b\ndata: 1\n\n", []string{"b=1"}},
		{"name is not inherited", "event: a\ndata: 1\n\ndata: 2\n\n", []string{"a=1", "=2"}},
		{"field without colon", "data\n\n", []string{"="}},
		{"byte order mark", "\ufeffdata: 1\n\n", []string{"=1"}},
		{"many empty lines", "\n\n\ndata: 1\n\n\n\ndata: 2\n\n", []string{"=1", "=2"}},
		{"no empty line at the end", "data: 1\n\ndata: 2\n", []string{"=1", "=2"}},
		{"no line end at the end", "data: 1\n\ndata: 2", []string{"=1", "=2"}},
		{"longer than the buffer", "data: " + long + "\n\ndata: 2\n\n", []string{"=" + long, "=2"}},
		{"longer than the buffer, with CRLF", "data: " + long + "\r\n\r\ndata: 2\r\n\r\n", []string{"=" + long, "=2"}},
		{"empty", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := readAll(NewReader(in))
				if err != io.EOF {
					t.Errorf("error %v, want io.EOF", err)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

// A stream that breaks must not look like one that ended, and half an event must not be given out.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := readAll(NewReader(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken))))
	if !errors.Is(err, broken) || !slices.Equal(got, []string{"=1"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 100_000) + "\n\n",
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 100) + "\n",
	} {
		r := NewReader(strings.NewReader(in))
		r.max = 50_000
		if _, err := r.Next(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: error %v, want ErrTooLarge", name, err)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: 1\ndata: 2\n\n: c\ndata"))
	f.Add([]byte("\ufeffdata:\n\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := readAll(NewReader(strings.NewReader(string(in))))
		if err != io.EOF {
			t.Fatalf("error %v", err)
		}
		bytewise, _ := readAll(NewReader(iotest.OneByteReader(strings.NewReader(string(in)))))
		if !slices.Equal(whole, bytewise) {
			t.Fatalf("read at once %q, byte by byte %q", whole, bytewise)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	const event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n"
	in := strings.Repeat(event, 10_000)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(strings.NewReader(in))
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
