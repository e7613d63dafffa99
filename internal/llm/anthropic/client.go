// Package anthropic speaks the Anthropic Messages API over streaming HTTP.
//
// It promises that equal requests are equal bytes, so that the provider's prompt cache holds; that nothing is sent
// without a credential, nor to another host than the configured one; that a reply which does not arrive whole ends
// with an error and never with Done; and that blocks and events it does not know are kept and not dropped. It does not
// retry: package retry does, around any provider. A Client is safe for use by many goroutines.
package anthropic

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gofer/internal/llm"
	"gofer/internal/llm/sse"
)

// DefaultBaseURL is where the API is when Config names no other place.
const DefaultBaseURL = "https://api.anthropic.com"

// Config tells where the API is and how to log in.
type Config struct {
	BaseURL   string // with or without a path or a slash at its end; "" is DefaultBaseURL
	APIKey    string // sent as x-api-key
	AuthToken string // sent as a bearer token, beside the key if both are set
	// KeyHelper fetches a key when there is neither key nor token. It is asked before each request and is expected to
	// keep the key; after the provider refused the key it is asked once with refresh set.
	KeyHelper func(ctx context.Context, refresh bool) (string, error)
	Headers   http.Header  // further headers; they win over the client's own
	UserAgent string       // "gofer/1.2.3"
	HTTP      *http.Client // nil: a client of NewHTTPClient
}

// A Client is an llm.Model.
type Client struct {
	cfg  Config
	http *http.Client
	bufs sync.Pool // of *buffer: request bodies reach megabytes and are made for every request
}

// New returns a Client. It opens no connection.
func New(cfg Config) *Client {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if cfg.HTTP == nil {
		cfg.HTTP = NewHTTPClient()
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "gofer"
	}
	h := *cfg.HTTP
	// Go forwards x-api-key to whatever host a redirect names. No redirect is followed, so no key can leak.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{cfg: cfg, http: &h}
}

// NewHTTPClient returns an HTTP client for model APIs: it honours the proxy variables of the environment, keeps
// connections, notices dead ones, and limits the time to connect but not the time to answer.
func NewHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   30 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   16,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}}
}

// Close closes the connections that are kept for later requests. The client can still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Warm opens a connection ahead of the first request, when that takes a handshake. It sends no credential, and its
// failure is of no interest: the request that follows tells.
func (c *Client) Warm(ctx context.Context) {
	u, err := url.Parse(c.cfg.BaseURL)
	if err != nil || u.Scheme != "https" {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, u.Scheme+"://"+u.Host+"/", nil)
	if err != nil {
		return
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	if resp, err := c.http.Do(req); err == nil {
		resp.Body.Close()
	}
}

// Stream sends req and yields the reply as it arrives.
func (c *Client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		streamCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := c.send(streamCtx, req)
		if err == nil {
			defer resp.Body.Close()
			d := decoder{wantRaw: req.WantRaw, requestID: requestID(resp.Header), yield: yield}
			err = d.run(sse.NewReader(resp.Body))
			if d.done {
				finish(resp.Body)
			}
		}
		switch {
		case err == nil, errors.Is(err, errLeft):
		case ctx.Err() != nil:
			yield(llm.Delta{}, ctx.Err())
		default:
			yield(llm.Delta{}, err)
		}
	}
}

// finish reads what is left after the last event, which is nothing but the end of the body, so that the connection can
// be used again. A server that keeps the body open does not hold up the caller for long.
func finish(body io.ReadCloser) {
	timer := time.AfterFunc(50*time.Millisecond, func() { body.Close() })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, 4<<10)
}

// send returns the response of a request that was accepted. A key that comes from a helper may have run out: it is
// fetched anew once.
func (c *Client) send(ctx context.Context, req llm.Request) (*http.Response, error) {
	target, err := messagesURL(c.cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	body := c.buffer()
	defer body.release()
	for refresh := false; ; refresh = true {
		login, err := c.login(ctx, refresh)
		if err != nil {
			return nil, err
		}
		if len(body.data) == 0 {
			body.data = appendRequest(body.data, req)
		}
		resp, err := c.post(ctx, target, req, login, body)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusUnauthorized && login.renewable && !refresh {
			resp.Body.Close()
			continue
		}
		if err := refusal(resp); err != nil {
			resp.Body.Close()
			return nil, err
		}
		return resp, nil
	}
}

func (c *Client) post(ctx context.Context, target string, req llm.Request, login login, body *buffer) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, nil)
	if err != nil {
		return nil, &llm.Error{Kind: llm.InvalidRequest, Message: "the base URL cannot be used", Err: err}
	}
	r.ContentLength = int64(len(body.data))
	r.Body = body.reader()
	r.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	c.setHeaders(r, req, login)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, connectionError(r.URL.Host, err)
	}
	return resp, nil
}

func (c *Client) setHeaders(r *http.Request, req llm.Request, login login) {
	h := r.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("Anthropic-Version", "2023-06-01")
	h.Set("User-Agent", c.cfg.UserAgent)
	if betas := betas(req); len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	if req.SessionID != "" {
		h.Set("X-Gofer-Session-Id", req.SessionID)
	}
	if login.key != "" {
		h.Set("X-Api-Key", login.key)
	}
	if login.token != "" {
		h.Set("Authorization", "Bearer "+login.token)
	}
	for name, values := range c.cfg.Headers {
		if strings.EqualFold(name, "host") && len(values) > 0 {
			r.Host = values[0]
			continue
		}
		h[http.CanonicalHeaderKey(name)] = values
	}
}

// A login is what one request logs in with.
type login struct {
	key, token string
	renewable  bool
}

func (c *Client) login(ctx context.Context, refresh bool) (login, error) {
	cfg := c.cfg
	switch {
	case cfg.APIKey != "" || cfg.AuthToken != "":
		return login{key: cfg.APIKey, token: cfg.AuthToken}, nil
	case cfg.KeyHelper != nil:
		key, err := cfg.KeyHelper(ctx, refresh)
		if err != nil {
			return login{}, &llm.Error{Kind: llm.Authentication, Message: "the API key helper failed", Err: err}
		}
		if key = strings.TrimSpace(key); key != "" {
			return login{key: key, token: key, renewable: true}, nil
		}
	case cfg.Headers.Get("X-Api-Key") != "" || cfg.Headers.Get("Authorization") != "":
		return login{}, nil
	}
	return login{}, &llm.Error{Kind: llm.NotLoggedIn, Message: "no API key: set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or an apiKeyHelper"}
}

// messagesURL makes the address of the messages endpoint. People write base URLs with and without the version.
func messagesURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err == nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		err = errors.New("it must begin with http:// or https:// and name a host")
	}
	if err != nil {
		return "", &llm.Error{Kind: llm.InvalidRequest, Message: "the base URL cannot be used", Err: err}
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/messages"), "/v1")
	u.Path = path + "/v1/messages"
	query := u.Query()
	query.Set("beta", "true")
	u.RawQuery = query.Encode()
	return u.String(), nil
}

func connectionError(host string, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the wrapper repeats method and URL
	}
	e := &llm.Error{Kind: llm.Connection, Message: "cannot reach " + host, Err: err}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) { // it will be the same certificate next time
		e.ShouldRetry = new(bool)
	}
	return e
}

// A buffer is a request body that is used again once nobody reads it any more. A transport may go on reading a body
// after the response has begun, so every reader holds the buffer until the transport closes it.
type buffer struct {
	data []byte
	refs atomic.Int32
	home *sync.Pool
}

func (c *Client) buffer() *buffer {
	b, _ := c.bufs.Get().(*buffer)
	if b == nil {
		b = &buffer{home: &c.bufs}
	}
	b.data = b.data[:0]
	b.refs.Store(1)
	return b
}

func (b *buffer) release() {
	if b.refs.Add(-1) == 0 {
		b.home.Put(b)
	}
}

func (b *buffer) reader() io.ReadCloser {
	b.refs.Add(1)
	return &bufferReader{Reader: bytes.NewReader(b.data), close: sync.OnceFunc(b.release)}
}

type bufferReader struct {
	*bytes.Reader
	close func()
}

func (r *bufferReader) Close() error {
	r.close()
	return nil
}
