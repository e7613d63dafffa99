package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func rules(t *testing.T, texts ...string) []Rule {
	t.Helper()
	r, err := ParseRules(texts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func start(t *testing.T, o Options) *Proxy {
	t.Helper()
	p, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// client speaks through the proxy, by HTTP or by SOCKS.
func through(t *testing.T, p *Proxy, scheme string) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: scheme, Host: p.listener.Addr().String()}), DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "https://x.org", "x.org/path", "a b", "*.", "x.*.org", "x.org:0", "x.org:70000", "x:y", "user@x.org"} {
		if r, err := ParseRule(bad); err == nil {
			t.Errorf("%q is taken as %+v", bad, r)
		}
	}
	for _, c := range []struct {
		rule, host string
		port       uint16
		want       bool
	}{
		{"x.org", "x.org", 443, true}, {"X.org.", "x.org", 80, true}, {"x.org", "a.x.org", 443, false}, {"x.org", "ax.org", 443, false}, {"x.org", "x.org.evil.com", 443, false},
		{"*.x.org", "a.x.org", 443, true}, {"*.x.org", "a.b.x.org", 443, true}, {"*.x.org", "x.org", 443, false}, {"*.x.org", "ax.org", 443, false},
		{"x.org:8443", "x.org", 8443, true}, {"x.org:8443", "x.org", 443, false}, {"*", "any.thing", 1, true}, {"*", "10.0.0.1", 1, false},
		{"10.0.0.0/8", "10.1.2.3", 5, true}, {"10.0.0.0/8", "11.1.2.3", 5, false}, {"10.1.2.3:5", "10.1.2.3", 5, true}, {"10.1.2.3:5", "10.1.2.3", 6, false},
		{"[::1]:80", "::1", 80, true}, {"::1", "::1", 81, true}, {"127.0.0.1", "::ffff:127.0.0.1", 80, true},
	} {
		if got := rules(t, c.rule)[0].fitsName(c.host, c.port); got != c.want {
			t.Errorf("%q for %s:%d is %v", c.rule, c.host, c.port, got)
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"93.184.216.34": true, "2606:4700::1": true, "127.0.0.1": false, "10.1.1.1": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false,
		"::1": false, "::": false, "fe80::1": false, "fd00::1": false, "::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:7f00:1::": false, "224.0.0.1": false, "255.255.255.255": false, "::7f00:1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s public: %v", text, got)
		}
	}
}

// What is decided depends on the name, the addresses behind it and the port.
func TestDecisions(t *testing.T) {
	t.Parallel()
	names := map[string][]netip.Addr{}
	for name, addrs := range map[string]string{"x.org": "93.184.216.34", "rebound.org": "127.0.0.1", "meta.org": "169.254.169.254", "corp.org": "10.1.1.1", "mixed.org": "10.2.2.2 93.184.216.34", "localhost": "127.0.0.1"} {
		for a := range strings.FieldsSeq(addrs) {
			names[name] = append(names[name], netip.MustParseAddr(a))
		}
	}
	resolve := func(_ context.Context, host string) ([]netip.Addr, error) {
		if a := names[host]; a != nil {
			return a, nil
		}
		return nil, errors.New("no such host")
	}
	for _, c := range []struct {
		allow, deny, target string
		loopback            bool
		want                string // addresses, or a part of the refusal
	}{
		{"x.org", "", "x.org:443", false, "93.184.216.34:443"},
		{"x.org", "", "X.ORG.:443", false, "93.184.216.34:443"},
		{"x.org", "", "y.org:443", false, "not among the allowed hosts"},
		{"x.org", "", "93.184.216.34:443", false, "not among the allowed hosts"},
		{"x.org", "x.org", "x.org:443", false, "forbidden by"},
		{"*", "93.184.0.0/16", "x.org:443", false, "forbidden by"},
		{"rebound.org", "", "rebound.org:80", false, "not public"},
		{"meta.org", "", "meta.org:80", false, "not public"},
		{"corp.org", "", "corp.org:80", false, "not public"},
		{"corp.org 10.0.0.0/8", "", "corp.org:80", false, "10.1.1.1:80"},
		{"mixed.org", "", "mixed.org:80", false, "93.184.216.34:80"},
		{"localhost:80", "", "localhost:80", false, "127.0.0.1:80"},
		{"localhost:80", "", "localhost:81", false, "not among"},
		{"*", "", "rebound.org:80", false, "not public"},
		{"x.org", "", "localhost:80", true, "127.0.0.1:80"},
		{"x.org", "", "127.0.0.1:80", true, "127.0.0.1:80"},
		{"x.org", "", "[::1]:80", true, "[::1]:80"},
		{"x.org", "", "127.0.0.1:80", false, "not among"},
		{"127.0.0.1:80", "", "127.0.0.1:80", false, "127.0.0.1:80"},
		{"*", "", "2130706433:80", false, "cannot be resolved"},
		{"x.org", "", "x.org", false, "not host:port"},
		{"x.org", "", "x.org:0", false, "port is bad"},
	} {
		var told string
		p := &Proxy{opts: Options{Allow: rules(t, strings.Fields(c.allow)...), Deny: rules(t, strings.Fields(c.deny)...), Loopback: c.loopback, Resolve: resolve, Refused: func(h, why string) { told = why }}}
		_, addrs, err := p.check(t.Context(), c.target)
		got := fmt.Sprint(addrs)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s with allow %q, deny %q: %s, want %s", c.target, c.allow, c.deny, got, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "not public") && told == "" {
			t.Errorf("%s: the refusal was not told", c.target)
		}
	}
}

func TestHTTPAndSOCKS(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Connection")+r.Header.Get("X-Forwarded-For") != "" {
			t.Errorf("headers of the proxy came through: %v", r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.Host, body)
	}))
	defer plain.Close()
	secure := httptest.NewTLSServer(plain.Config.Handler)
	defer secure.Close()
	second := httptest.NewServer(http.NotFoundHandler())
	defer second.Close()
	host := func(raw string) string { u, _ := url.Parse(raw); return u.Host }
	p := start(t, Options{Allow: rules(t, host(plain.URL), host(secure.URL))})
	for _, scheme := range []string{"http", "socks5"} {
		c := through(t, p, scheme)
		c.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
		for _, to := range []string{plain.URL, secure.URL} {
			res, err := c.Post(to+"/path", "text/plain", strings.NewReader("body"))
			if err != nil {
				t.Errorf("%s to %s: %v", scheme, to, err)
				continue
			}
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if want := "POST " + host(to) + " body"; string(text) != want {
				t.Errorf("%s to %s: %q, want %q", scheme, to, text, want)
			}
		}
		res, err := c.Get(second.URL)
		if err == nil {
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "allowedDomains") {
				t.Errorf("%s: %s %s", scheme, res.Status, text)
			}
		} else if scheme == "http" {
			t.Error(err)
		}
	}
	res, err := http.Get("http://" + p.listener.Addr().String() + "/")
	if err != nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("as a web server: %v %v", res, err)
	}
	if err == nil {
		res.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

// Rubbish, silence and half requests harm nobody else, and Close ends them all.
func TestBadClients(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "fine") }))
	defer web.Close()
	p := start(t, Options{Allow: rules(t, strings.TrimPrefix(web.URL, "http://"))})
	var open []net.Conn
	for _, words := range []string{"", "\x05", "\x05\x01\x00\x05", "\x04\x01\x00\x50", "\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x01\x00\x05\x01\x00\x09", "GET", "CONNECT  HTTP/1.1\r\n\r\n", "CONNECT x HTTP/1.1\r\n\r\n",
		"\x16\x03\x01", "GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 20000), "\x05\xff", "CONNECT [::1 HTTP/1.1\r\n\r\n", "GET http:///x HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
		c, err := net.Dial("tcp", p.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		c.SetDeadline(time.Now().Add(5 * time.Second))
		io.WriteString(c, words)
	}
	res, err := through(t, p, "http").Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	p.Close()
	for _, c := range open {
		if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Error("a connection outlived the proxy")
		}
		c.Close()
	}
}

// An end that has said its last word still hears the other.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var done sync.WaitGroup
	done.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		text, _ := io.ReadAll(c)
		fmt.Fprintf(c, "heard %s", text)
	})
	defer done.Wait()
	p := start(t, Options{Allow: rules(t, l.Addr().String())})
	c, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", l.Addr())
	in := bufio.NewReader(c)
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	io.WriteString(c, "hello")
	c.(*net.TCPConn).CloseWrite()
	if text, _ := io.ReadAll(in); string(text) != "heard hello" {
		t.Errorf("got %q", text)
	}
}
