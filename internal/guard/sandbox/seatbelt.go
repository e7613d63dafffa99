package sandbox

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// seatbelt is the profile for macOS. Later lines win over earlier ones. Patterns are matched by the kernel itself, so that new files
// are hidden too.
func (s *Sandbox) seatbelt() string {
	p := &s.policy
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)")
	line("(allow default)")
	line("(deny file-write*)")
	line(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (literal "/dev/stdout") (literal "/dev/stderr") (regex #"^/dev/(fd/|ttys)"))`)
	for _, w := range p.WriteDirs {
		line("(allow file-write* (subpath %s))", quoted(w))
	}
	for _, w := range p.WriteDeny {
		line("(deny file-write* (subpath %s))", quoted(w))
		for up := filepath.Dir(w); s.inside(up); up = filepath.Dir(up) {
			line("(deny file-write-unlink (literal %s))", quoted(up)) // or it is moved away and another put in its place
		}
	}
	for _, r := range p.ReadDeny {
		if isWild(r) {
			line("(deny file-read* file-write* (regex #\"%s\"))", globRegexp(r))
		} else {
			line("(deny file-read* file-write* (subpath %s))", quoted(resolve(r)))
		}
	}
	for _, r := range p.ReadAllow {
		line("(allow file-read* (subpath %s))", quoted(r))
	}
	line("(deny signal)")
	line("(allow signal (target same-sandbox))")
	line("(deny process-info*)")
	line("(allow process-info* (target same-sandbox))")
	s.seatbeltNet(line)
	return b.String()
}

func (s *Sandbox) seatbeltNet(line func(string, ...any)) {
	n := &s.policy.Net
	if n.Open {
		return
	}
	line("(deny network*)")
	// Names are resolved by the proxy. The system's resolver would carry data out in the names themselves.
	line(`(deny mach-lookup (global-name "com.apple.dnssd.service"))`)
	http, socks := s.ports()
	for _, port := range slices.Compact([]int{http, socks}) {
		if port > 0 {
			line(`(allow network-outbound (remote ip "localhost:%d"))`, port)
		}
	}
	if n.LocalBinding {
		line(`(allow network-bind (local ip "localhost:*"))`)
		line(`(allow network-inbound (local ip "localhost:*"))`)
		line(`(allow network-outbound (remote ip "localhost:*"))`)
	}
	if n.AllUnixSockets {
		line(`(allow network* (subpath "/"))`)
	}
	for _, u := range n.UnixSockets {
		line("(allow network-outbound (literal %s))", quoted(u))
	}
}

// quoted writes a string as the profile language has it.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// globRegexp writes a pattern as a regular expression that also fits what is below.
func globRegexp(pattern string) string {
	var b strings.Builder
	b.WriteString("^")
	if !strings.HasPrefix(pattern, "/") {
		b.WriteString("/")
	}
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(.*/)?")
			i += 3
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i += 2
		case rest[0] == '*':
			b.WriteString("[^/]*")
			i++
		case rest[0] == '?':
			b.WriteString("[^/]")
			i++
		case rest[0] == '[' && strings.IndexByte(rest, ']') > 1:
			end := strings.IndexByte(rest, ']')
			class := rest[1:end]
			if class[0] == '!' {
				class = "^" + class[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
			i += end + 1
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i += 2
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
			i++
		}
	}
	b.WriteString("(/.*)?$")
	return strings.ReplaceAll(b.String(), `"`, ".") // the profile has no way to write it
}
