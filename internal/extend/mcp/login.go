package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// OAuth is what a configuration may say about the log-in.
type OAuth struct {
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
	CallbackPort int    `json:"callbackPort,omitempty"`
	// MetadataURL is the address of a document that describes the client, for servers that know clients by it.
	MetadataURL string `json:"clientMetadataUrl,omitempty"`
	// GrantType is client_credentials for a program that logs in as itself, without a person.
	GrantType  string `json:"grantType,omitempty"`
	PrivateKey string `json:"privateKey,omitempty"` // PEM; with it no secret is needed
	// Identity is whose word the server takes for who the person is.
	Identity *Identity `json:"identity,omitempty"`
}

// A login keeps the token of a server on disk, renews it, and gets a new one from a person where one can be asked.
type login struct {
	cfg    Config
	file   string // "": nothing is kept
	browse func(ctx context.Context, url string) error

	mu     sync.Mutex
	source oauth2.TokenSource
	kept   keptToken
}

// keptToken is what is kept of a log-in: enough to renew it without asking.
type keptToken struct {
	Server   string           `json:"server"`
	ClientID string           `json:"clientId"`
	Secret   string           `json:"clientSecret,omitempty"`
	TokenURL string           `json:"tokenUrl"`
	Style    oauth2.AuthStyle `json:"authStyle"`
	Scopes   []string         `json:"scopes,omitempty"`
	Token    *oauth2.Token    `json:"token"`
	// Wanted are the scopes that a server asked for in vain: the next log-in asks the person for them.
	Wanted []string `json:"wanted,omitempty"`
}

// tokenFile names the file of a server's token by its name and address.
func (h *Hub) tokenFile(c Config) string {
	if h.o.TokenDir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(c.Name + "\n" + c.URL))
	return filepath.Join(h.o.TokenDir, hex.EncodeToString(sum[:16])+".json")
}

// newLogin reads the token that is kept, if there is one.
func (h *Hub) newLogin(c Config) *login {
	l := &login{cfg: c, file: h.tokenFile(c), browse: h.o.Browse}
	data, err := os.ReadFile(l.file)
	var kept keptToken
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Token == nil {
		return l
	}
	l.kept = kept
	if len(kept.Wanted) > 0 && l.browse != nil {
		return l // the token is good, but not good enough
	}
	cfg := &oauth2.Config{ClientID: kept.ClientID, ClientSecret: kept.Secret, Scopes: kept.Scopes, Endpoint: oauth2.Endpoint{TokenURL: kept.TokenURL, AuthStyle: kept.Style}}
	l.source = &keepingSource{login: l, cfg: cfg, inner: cfg.TokenSource(h.ctx, kept.Token), last: kept.Token.AccessToken}
	return l
}

// Forget removes the token of a server, and reports whether there was one.
func (h *Hub) Forget(c Config) bool { return os.Remove(h.tokenFile(c)) == nil }

// TokenSource is what requests take their token from; nil before a log-in.
func (l *login) TokenSource(context.Context) (oauth2.TokenSource, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source == nil {
		return nil, nil
	}
	if _, err := l.source.Token(); err != nil && l.browse == nil {
		return nil, loginError{}
	} else if err != nil {
		return nil, nil // it can be had anew
	}
	return l.source, nil
}

// Authorize lets a person log in, where one can be asked.
func (l *login) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if l.browse == nil {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
		l.want(resp)
		return loginError{}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(l.callbackPort())))
	if err != nil {
		resp.Body.Close()
		return fmt.Errorf("waiting for the answer of the log-in: %w", err)
	}
	defer listener.Close()
	redirect := fmt.Sprintf("http://localhost:%d/callback", listener.Addr().(*net.TCPAddr).Port)
	o := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, Client: &http.Client{Transport: ownIssuer{}},
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return l.ask(ctx, listener, a.URL)
		},
		ScopeFilter: l.widen,
		NewTokenSource: func(ctx context.Context, cfg *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			s := &keepingSource{login: l, cfg: cfg, inner: cfg.TokenSource(context.WithoutCancel(ctx), t)}
			_, err := s.Token() // keeps it
			l.mu.Lock()
			l.source = s
			l.mu.Unlock()
			return s, err
		},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "gofer", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
	}
	if id := l.cfg.OAuth; id != nil && id.ClientID != "" {
		o.PreregisteredClient = clientOf(id.ClientID, id.ClientSecret)
	}
	if id := l.cfg.OAuth; id != nil && id.MetadataURL != "" {
		o.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: id.MetadataURL}
	}
	h, err := auth.NewAuthorizationCodeHandler(o)
	if err != nil {
		resp.Body.Close()
		return err
	}
	return h.Authorize(ctx, req, resp)
}

// want notes the scopes that a server misses in the token, for the next log-in.
func (l *login) want(resp *http.Response) {
	if resp.StatusCode != http.StatusForbidden || l.file == "" || l.kept.Token == nil {
		return
	}
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return
	}
	for _, c := range challenges {
		if scopes := strings.Fields(c.Params["scope"]); len(scopes) > 0 {
			l.kept.Wanted = scopes
			writeWhole(l.file, l.kept) // what is not kept is asked for again
		}
	}
}

// widen adds what was granted and what was missed before to the scopes that are asked for.
func (l *login) widen(scopes []string) []string {
	if len(l.kept.Wanted) == 0 {
		return scopes
	}
	all := slices.Concat(scopes, l.kept.Scopes, l.kept.Wanted)
	slices.Sort(all)
	return slices.Compact(all)
}

func (l *login) callbackPort() int {
	if l.cfg.OAuth == nil {
		return 0
	}
	return l.cfg.OAuth.CallbackPort
}

// ask sends the person to the page and waits until it sends them back.
func (l *login) ask(ctx context.Context, listener net.Listener, page string) (*auth.AuthorizationResult, error) {
	type answer struct {
		result *auth.AuthorizationResult
		err    error
	}
	answers := make(chan answer, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		a := answer{result: &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}}
		text := "You are logged in. You can close this page and go back to gofer."
		if q.Get("code") == "" {
			a.err = fmt.Errorf("the log-in was refused: %s", firstText(q.Get("error_description"), q.Get("error")))
			text = "The log-in did not work. gofer says why."
		}
		io.WriteString(w, text)
		select {
		case answers <- a:
		default: // only the first answer counts
		}
	})
	server := &http.Server{Handler: mux}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(listener)
	}()
	defer func() {
		server.Shutdown(context.WithoutCancel(ctx))
		<-served
	}()
	if err := l.browse(ctx, page); err != nil {
		return nil, err
	}
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// A keepingSource keeps every new token.
type keepingSource struct {
	login *login
	cfg   *oauth2.Config
	inner oauth2.TokenSource

	mu   sync.Mutex
	last string
}

// Token returns a token that is good now.
func (s *keepingSource) Token() (*oauth2.Token, error) {
	t, err := s.inner.Token()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.AccessToken == s.last || s.login.file == "" {
		return t, nil
	}
	s.last = t.AccessToken
	kept := keptToken{Server: s.login.cfg.Name, ClientID: s.cfg.ClientID, Secret: s.cfg.ClientSecret, TokenURL: s.cfg.Endpoint.TokenURL,
		Style: s.cfg.Endpoint.AuthStyle, Scopes: s.cfg.Scopes, Token: t}
	if err := writeWhole(s.login.file, kept); err != nil && s.login.browse != nil {
		return nil, fmt.Errorf("the log-in could not be kept: %w", err)
	}
	return t, nil
}

// writeWhole writes a file in one step, for its owner only.
func writeWhole(file string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
