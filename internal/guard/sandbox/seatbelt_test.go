package sandbox

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func profile(t *testing.T, p Policy) string {
	t.Helper()
	p.clean()
	s := &Sandbox{policy: p, able: Abilities{Seatbelt: true}}
	if got := s.judge(); got.State != Enforced {
		t.Fatal(got)
	}
	return s.seatbelt()
}

func TestSeatbelt(t *testing.T) {
	t.Parallel()
	dir := resolve(t.TempDir())
	at := func(name string) string { return filepath.Join(dir, name) }
	text := profile(t, Policy{WriteDirs: []string{at(`pro"ject`)}, TempDir: at("tmp"), WriteDeny: []string{at(`pro"ject/.git/hooks`)}, ReadDeny: []string{"**/.env", at("keys")}, ReadAllow: []string{at("keys/pub")},
		Net: Net{HTTPPort: 8080, SocksPort: 8081, UnixSockets: []string{"/run/x"}}})
	last := -1
	for _, want := range []string{ // in this order: later lines win
		"(version 1)", "(allow default)", "(deny file-write*)", `(allow file-write* (subpath "` + dir + `/pro\"ject"))`, `(deny file-write* (subpath "` + dir + `/pro\"ject/.git/hooks"))`,
		`(deny file-write-unlink (literal "` + dir + `/pro\"ject/.git"))`, `(deny file-read* file-write* (regex #"^/(.*/)?\.env(/.*)?$"))`, `(deny file-read* file-write* (subpath "` + dir + `/keys"))`,
		`(allow file-read* (subpath "` + dir + `/keys/pub"))`, "(deny network*)", `(allow network-outbound (remote ip "localhost:8080"))`, `(allow network-outbound (remote ip "localhost:8081"))`,
		`(allow network-outbound (literal "/run/x"))`,
	} {
		i := strings.Index(text, want+"\n")
		if i <= last {
			t.Errorf("%s is missing or too early in\n%s", want, text)
		}
		last = max(last, i)
	}
	if strings.Contains(text, "network-bind") {
		t.Error("ports are open")
	}
	if open := strings.Count(text, "(") - strings.Count(text, ")"); open != 0 {
		t.Errorf("%d parentheses are open in\n%s", open, text)
	}
	if open := profile(t, Policy{Net: Net{Open: true}}); strings.Contains(open, "(deny network*)") {
		t.Error("an open network is closed")
	}
	if local := profile(t, Policy{Net: Net{LocalBinding: true}}); !strings.Contains(local, `(allow network-bind (local ip "localhost:*"))`) {
		t.Error("local ports are closed")
	}
}

func TestGlobRegexp(t *testing.T) {
	t.Parallel()
	for pattern, c := range map[string]struct{ fits, not string }{
		"**/.env":        {"/a/.env /.env /a/b/.env/c", "/a/x.env /a/.env2 /a/xenv"},
		"/a/**/*.pem":    {"/a/x.pem /a/b/c/x.pem", "/b/x.pem /a/x.pem2 /a/xpem"},
		"/a/?[bc]":       {"/a/xb /a/xc/d", "/a/b /a/xd /a//b"},
		"/a/[!x]y":       {"/a/zy", "/a/xy"},
		`/a/\*`:          {"/a/*", "/a/b"},
		"**/a+b(c)|d.$x": {"/a+b(c)|d.$x", "/aab(c)"},
	} {
		re := regexp.MustCompile(globRegexp(pattern))
		for p := range strings.FieldsSeq(c.fits) {
			if !re.MatchString(p) {
				t.Errorf("%s does not fit %s (%s)", pattern, p, re)
			}
		}
		for p := range strings.FieldsSeq(c.not) {
			if re.MatchString(p) {
				t.Errorf("%s fits %s (%s)", pattern, p, re)
			}
		}
	}
}
