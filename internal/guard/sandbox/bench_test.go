package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkCommand is what a command costs, plain and behind walls. The helper here is the test binary.
func BenchmarkCommand(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("only Linux has these walls")
	}
	dir := resolve(b.TempDir())
	secret := filepath.Join(dir, ".env")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		b.Fatal(err)
	}
	hidden := []string{"**/.env"}
	for _, c := range []struct {
		name   string
		policy *Policy
	}{
		{"plain", nil},
		{"network off", &Policy{WriteDirs: []string{dir}}},
		{"network filtered", &Policy{WriteDirs: []string{dir}, Net: Net{Hosts: []string{"example.com"}}}},
		{"hidden files, root", &Policy{WriteDirs: []string{dir}, ReadDeny: hidden, Net: Net{Hosts: []string{"example.com"}}}},
		{"hidden files, bwrap", &Policy{WriteDirs: []string{dir}, ReadDeny: hidden, Without: []Feature{Mounts, UserNS}}},
		{"hidden files, userns", &Policy{WriteDirs: []string{dir}, ReadDeny: hidden, Without: []Feature{Mounts, Bwrap}}},
		{"hidden files, landlock", &Policy{WriteDirs: []string{dir}, ReadDeny: hidden, Without: []Feature{Mounts, Bwrap, UserNS}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			argv := []string{"/bin/true"}
			wrap := func() []string { return argv }
			if c.policy != nil {
				s, err := New(*c.policy)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				if s.report.State == Off {
					b.Skip(s.report)
				}
				wrap = func() []string {
					w, err := s.Wrap(argv)
					if err != nil {
						b.Fatal(err)
					}
					return w
				}
			}
			for b.Loop() {
				w := wrap()
				if out, err := exec.Command(w[0], w[1:]...).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}

// BenchmarkFind is the search for hidden files in a project that has not changed.
func BenchmarkFind(b *testing.B) {
	dir := resolve(b.TempDir())
	for i := range 2000 {
		sub := filepath.Join(dir, fmt.Sprintf("d%d/e%d", i%50, i))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 5 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(j)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	f := newFinder(Policy{WriteDirs: []string{dir}, ReadDeny: []string{"**/.env"}})
	for b.Loop() {
		if _, err := f.find(); err != nil {
			b.Fatal(err)
		}
	}
}
