package proxy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Rule names hosts: one name (example.com), all names below one (*.example.com), every name (*), an address or a range of
// addresses (10.0.0.0/8). A port may follow (example.com:8443, [::1]:80); without one every port is meant.
type Rule struct {
	text   string
	name   string // "" for addresses
	below  bool   // the names below name, not name itself
	all    bool
	prefix netip.Prefix
	port   uint16 // 0: every port
}

// ParseRule reads a rule.
func ParseRule(text string) (Rule, error) {
	r := Rule{text: text}
	host := strings.ToLower(strings.TrimSpace(text))
	if p, err := parsePrefix(host); err == nil {
		r.prefix = p
		return r, nil
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		n, err := strconv.ParseUint(host[i+1:], 10, 16)
		if err != nil || n == 0 {
			return r, fmt.Errorf("%q has a bad port; write host, host:port, *.host, or an address", text)
		}
		r.port, host = uint16(n), host[:i]
		if p, err := parsePrefix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil {
			r.prefix = p
			return r, nil
		}
	}
	if host == "*" {
		r.all = true
		return r, nil
	}
	host = strings.TrimSuffix(host, ".")
	r.name, r.below = strings.CutPrefix(host, "*.")
	if r.name == "" || strings.ContainsAny(r.name, "*/:@ []") {
		return r, fmt.Errorf("%q is no host; write host, host:port, *.host, or an address, without a scheme or a path", text)
	}
	return r, nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
}

// ParseRules reads several rules.
func ParseRules(texts []string) ([]Rule, error) {
	var rules []Rule
	for _, t := range texts {
		r, err := ParseRule(t)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func (r Rule) fitsPort(port uint16) bool { return r.port == 0 || r.port == port }

// fitsName reports whether the rule is for a host as a client named it.
func (r Rule) fitsName(host string, port uint16) bool {
	if !r.fitsPort(port) {
		return false
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return r.fitsAddr(a, port)
	}
	switch {
	case r.all:
		return true
	case r.name == "":
		return false
	case r.below:
		return strings.HasSuffix(host, "."+r.name)
	}
	return host == r.name
}

// fitsAddr reports whether the rule lists an address.
func (r Rule) fitsAddr(a netip.Addr, port uint16) bool {
	return r.prefix.IsValid() && r.fitsPort(port) && r.prefix.Contains(a.Unmap().WithZone(""))
}

// isPublic reports whether an address belongs to the internet at large. All others, such as loopback, private ranges, the
// address where clouds hand out credentials, and the many ways to write those inside IPv6, must be listed by address.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range special() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// special are ranges that count as global to the library but lead back into private networks, or nowhere.
func special() []netip.Prefix {
	return []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom4([4]byte{0, 0, 0, 0}), 8),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10),         // carrier NAT
		netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 0, 0}), 24),          // protocol assignments
		netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, 0}), 15),         // benchmarks
		netip.PrefixFrom(netip.AddrFrom4([4]byte{240, 0, 0, 0}), 4),           // reserved, broadcast
		netip.PrefixFrom(netip.AddrFrom16([16]byte{}), 96),                    // ::a.b.c.d
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b}), 32), // NAT64: an IPv4 address inside
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x02}), 16),          // 6to4: likewise
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01}), 32),          // Teredo: likewise
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfe, 0xc0}), 10),          // site local
	}
}
