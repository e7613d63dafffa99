// Package proxy is the one door of a sandbox's network: an HTTP and SOCKS5 proxy on loopback that reaches listed hosts only.
//
// It resolves names itself and connects to the address that it has checked, so that a name which changes its address
// between the check and the connection gains nothing. Addresses that are not public must be listed as addresses: a listed name that
// points into the private network is refused. It sees host names and not what is inside TLS; who can reach a listed host
// can send it anything.
package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say what the proxy lets through.
type Options struct {
	Allow, Deny []Rule // Deny wins
	Loopback    bool   // every loopback address counts as listed
	// Refused is called for every host that was refused, from any goroutine.
	Refused func(host, why string)
	// Resolve looks names up; nil is the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

const (
	helloTime   = 15 * time.Second // for the first words of a client
	connectTime = 20 * time.Second
	maxClients  = 512
)

// A Proxy listens until it is closed.
type Proxy struct {
	opts     Options
	listener net.Listener
	http     *http.Server
	pass     chan net.Conn // connections that speak HTTP
	slots    chan struct{}
	done     chan struct{}
	ctx      context.Context // ends with the proxy
	cancel   context.CancelFunc
	once     sync.Once
	all      sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool
}

// Listen starts a proxy on a free port of loopback.
func Listen(o Options) (*Proxy, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port for the sandbox's proxy: %w", err)
	}
	p := &Proxy{opts: o, listener: l, pass: make(chan net.Conn), slots: make(chan struct{}, maxClients), done: make(chan struct{}), open: map[net.Conn]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	quiet := log.New(io.Discard, "", 0)
	p.http = &http.Server{Handler: p.handler(quiet), ReadHeaderTimeout: helloTime, MaxHeaderBytes: 64 << 10, ErrorLog: quiet}
	p.all.Go(func() { p.http.Serve(&feed{p}) })
	p.all.Go(p.accept)
	return p, nil
}

// Port is where the proxy listens on 127.0.0.1.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Close ends the proxy and all its connections.
func (p *Proxy) Close() {
	p.once.Do(func() {
		close(p.done)
		p.cancel()
		p.listener.Close()
		p.http.Close()
		p.mu.Lock()
		for c := range p.open {
			c.Close()
		}
		p.mu.Unlock()
	})
	p.all.Wait()
}

// keep remembers a connection so that Close can end it. It is false when the proxy is closed already.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		c.Close()
		return false
	default:
	}
	p.open[c] = true
	return true
}

func (p *Proxy) forget(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select { // out of files, perhaps: others may close some
			case <-p.done:
				return
			case <-time.After(20 * time.Millisecond):
			}
			continue
		}
		select {
		case p.slots <- struct{}{}:
		case <-p.done:
			c.Close()
			return
		}
		if !p.keep(c) {
			return
		}
		p.all.Go(func() { p.greet(c) })
	}
}

// greet finds out what a client speaks: SOCKS begins with the byte 5, HTTP with a letter.
func (p *Proxy) greet(c net.Conn) {
	peeked := &client{Conn: c, in: bufio.NewReaderSize(c, 4096), proxy: p}
	c.SetReadDeadline(time.Now().Add(helloTime))
	first, err := peeked.in.Peek(1)
	c.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		peeked.Close()
	case first[0] == 5:
		p.socks(peeked)
		peeked.Close()
	default:
		select {
		case p.pass <- peeked:
		case <-p.done:
			peeked.Close()
		}
	}
}

// client is a connection whose first bytes were looked at.
type client struct {
	net.Conn
	in    *bufio.Reader
	proxy *Proxy
	once  sync.Once
}

func (c *client) Read(b []byte) (int, error) { return c.in.Read(b) }

func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

func (c *client) Close() error {
	c.once.Do(func() {
		c.proxy.forget(c.Conn)
		<-c.proxy.slots
	})
	return nil
}

// feed hands connections to the HTTP server.
type feed struct{ p *Proxy }

func (f *feed) Accept() (net.Conn, error) {
	select {
	case c := <-f.p.pass:
		return c, nil
	case <-f.p.done:
		return nil, net.ErrClosed
	}
}
func (f *feed) Close() error   { return nil }
func (f *feed) Addr() net.Addr { return f.p.listener.Addr() }

// A RefusedError says why a host is not reached.
type RefusedError struct{ Host, Why string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the sandbox does not let commands reach %s: %s", e.Host, e.Why)
}

// check decides about a host as the client named it. It returns the addresses that may be connected to.
func (p *Proxy) check(ctx context.Context, target string) (host string, addrs []netip.AddrPort, err error) {
	host, portText, err := net.SplitHostPort(target)
	if err != nil {
		return target, nil, &RefusedError{target, "it is not host:port"}
	}
	port64, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port64 == 0 {
		return target, nil, &RefusedError{target, "the port is bad"}
	}
	port := uint16(port64)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	refuse := func(why string) (string, []netip.AddrPort, error) {
		if p.opts.Refused != nil {
			p.opts.Refused(host, why)
		}
		return host, nil, &RefusedError{host, why}
	}
	for _, r := range p.opts.Deny {
		if r.fitsName(host, port) {
			return refuse(fmt.Sprintf("it is forbidden by %q", r.text))
		}
	}
	listed := false
	for _, r := range p.opts.Allow {
		listed = listed || r.fitsName(host, port)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() && p.opts.Loopback || host == "localhost" && p.opts.Loopback {
		listed = true
	}
	if !listed {
		return refuse("it is not among the allowed hosts (sandbox.network.allowedDomains)")
	}
	ips, err := p.resolve(ctx, host)
	if err != nil {
		return host, nil, fmt.Errorf("%s cannot be resolved: %w", host, err)
	}
	var why string
	for _, ip := range ips {
		ip = ip.Unmap()
		if reason := p.forbidden(host, ip, port); reason != "" {
			why = reason
			continue
		}
		addrs = append(addrs, netip.AddrPortFrom(ip, port))
	}
	if len(addrs) == 0 {
		if why == "" {
			why = "it has no address"
		}
		return refuse(why)
	}
	return host, addrs, nil
}

// forbidden says why an address of a listed host may not be connected to.
func (p *Proxy) forbidden(host string, ip netip.Addr, port uint16) string {
	for _, r := range p.opts.Deny {
		if r.fitsAddr(ip, port) {
			return fmt.Sprintf("its address %s is forbidden by %q", ip, r.text)
		}
	}
	if isPublic(ip) || ip.IsLoopback() && (p.opts.Loopback || host == "localhost") {
		return ""
	}
	for _, r := range p.opts.Allow {
		if r.fitsAddr(ip, port) {
			return ""
		}
	}
	return fmt.Sprintf("its address %s is not public; to reach it, list that address too", ip)
}

func (p *Proxy) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if p.opts.Resolve != nil {
		return p.opts.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// dial connects to a host that may be reached.
func (p *Proxy) dial(ctx context.Context, target string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	host, addrs, err := p.check(ctx, target)
	if err != nil {
		return nil, err
	}
	for i, a := range addrs {
		// One address that does not answer must not use up the time of the others.
		d := net.Dialer{Timeout: connectTime / time.Duration(len(addrs)-i)}
		var c net.Conn
		if c, err = d.DialContext(ctx, "tcp", a.String()); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be reached: %w", host, err)
}

func (p *Proxy) handler(quiet *log.Logger) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.URL.Host },
		Transport: &http.Transport{
			DialContext:           func(ctx context.Context, _, addr string) (net.Conn, error) { return p.dial(ctx, addr) },
			DisableKeepAlives:     true, // a connection must not outlive the rules it was made under
			DisableCompression:    true,
			ResponseHeaderTimeout: 10 * time.Minute,
		},
		FlushInterval: -1,
		ErrorLog:      quiet,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, err) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			p.tunnel(w, r)
		case r.URL.Scheme == "http" && r.URL.Host != "":
			forward.ServeHTTP(w, r)
		default:
			http.Error(w, "This is the proxy of gofer's sandbox, and no web server.", http.StatusBadRequest)
		}
	})
}

func fail(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		code = http.StatusForbidden
		w.Header().Set("X-Proxy-Error", "blocked-by-allowlist")
		err = refused
	}
	http.Error(w, "gofer: "+err.Error(), code)
}

// tunnel serves CONNECT.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	up, err := p.dial(r.Context(), r.Host)
	if err != nil {
		fail(w, err)
		return
	}
	if !p.keep(up) {
		return
	}
	defer p.forget(up)
	down, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	if _, err := io.WriteString(down, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	join(down, buffered.Reader, up)
}

// join copies both ways until both are done. An end that has said its last word may still listen.
func join(down net.Conn, from io.Reader, up net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		io.Copy(up, from)
		closeWrite(up)
	})
	io.Copy(down, up)
	closeWrite(down)
	both.Wait()
}

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
