package match

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkScan measures the throughput on the source of Go's own library.
func BenchmarkScan(b *testing.B) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip("there is no Go source to search")
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "src", "net", "*", "*.go"))
	var text []byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		text = append(text, data...)
	}
	const part = 64 << 10
	for _, expr := range []string{`ErrUnexpectedEOF`, `(?i)unexpectedeof`, `return\s+\w+,\s*err`, `[a-z]{3}_[0-9]{4}`, `\w{30,}`, `foo|bar|baz|qux|quux`, `(?i)todo.*bug`, `[A-Z][a-z]+[0-9]+`, `.*x.*y`, `\bfmt\.\w+\(`} {
		b.Run(expr, func(b *testing.B) {
			p, err := Compile(expr, Options{})
			if err != nil {
				b.Fatal(err)
			}
			s := p.NewScanner()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for rest := text; len(rest) > 0; {
					n := min(part, len(rest))
					if nl := bytes.LastIndexByte(rest[:n], '\n'); nl >= 0 {
						n = nl + 1
					}
					s.Start(rest[:n])
					for from := 0; ; {
						_, end, ok := s.NextLine(from)
						if !ok {
							break
						}
						from = end + 1
					}
					rest = rest[n:]
				}
			}
		})
	}
}
