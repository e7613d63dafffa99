package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// An Identity is a company's identity provider, whose word servers take: what a person is there is exchanged for a token of the server.
type Identity struct {
	Issuer       string `json:"issuer"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret,omitempty"`
	// TokenHelper is a command that prints the person's ID token.
	TokenHelper string `json:"tokenHelper"`
}

// An identityLogin gets tokens by the word of an identity provider: the person's ID token is exchanged there for a statement to the server
// (RFC 8693), and that one at the server for a token (RFC 7523).
type identityLogin struct {
	hub *Hub
	cfg Config

	mu    sync.Mutex
	token *oauth2.Token
}

func (h *Hub) newIdentityLogin(c Config) (auth.OAuthHandler, error) {
	id := c.OAuth.Identity
	if id.Issuer == "" || id.ClientID == "" || id.TokenHelper == "" || c.OAuth.ClientID == "" {
		return nil, errors.New(`a log-in by an identity provider needs "clientId", and "issuer", "clientId" and "tokenHelper" in "identity"`)
	}
	return &identityLogin{hub: h, cfg: c}, nil
}

// TokenSource is what requests take their token from; nil before a log-in, and when it has run out.
func (l *identityLogin) TokenSource(context.Context) (oauth2.TokenSource, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.token.Valid() {
		return nil, nil
	}
	return oauth2.StaticTokenSource(l.token), nil
}

// Authorize gets a token.
func (l *identityLogin) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	resp.Body.Close()
	meta, err := describeResource(ctx, req.URL, resp)
	if err != nil {
		return err
	}
	statement, err := l.vouch(ctx, meta)
	if err != nil {
		return fmt.Errorf("the identity provider: %w", err)
	}
	endpoint, err := tokenEndpoint(ctx, meta.AuthorizationServers[0])
	if err != nil {
		return err
	}
	own := l.cfg.OAuth
	server := &oauth2.Config{ClientID: own.ClientID, ClientSecret: own.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: endpoint, AuthStyle: oauth2.AuthStyleAutoDetect}}
	token, err := server.Exchange(ctx, "", oauth2.SetAuthURLParam("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), oauth2.SetAuthURLParam("assertion", statement))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = token
	return nil
}

// vouch lets the identity provider say to the server who the person is.
func (l *identityLogin) vouch(ctx context.Context, meta *oauthex.ProtectedResourceMetadata) (string, error) {
	id := l.cfg.OAuth.Identity
	out, err := l.hub.help(ctx, id.TokenHelper)
	if err != nil {
		return "", fmt.Errorf("the tokenHelper failed: %w", err)
	}
	endpoint, err := tokenEndpoint(ctx, id.Issuer)
	if err != nil {
		return "", err
	}
	token, err := oauthex.ExchangeToken(ctx, endpoint, &oauthex.TokenExchangeRequest{
		RequestedTokenType: oauthex.TokenTypeIDJAG, Audience: meta.AuthorizationServers[0], Resource: meta.Resource, Scope: meta.ScopesSupported,
		SubjectToken: strings.TrimSpace(string(out)), SubjectTokenType: oauthex.TokenTypeIDToken,
	}, clientOf(id.ClientID, id.ClientSecret), http.DefaultClient)
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// tokenEndpoint asks a server of log-ins where its tokens are had.
func tokenEndpoint(ctx context.Context, issuer string) (string, error) {
	at, err := url.Parse(issuer)
	if err != nil {
		return "", err
	}
	root, path := at.Scheme+"://"+at.Host, strings.TrimSuffix(at.Path, "/")
	for _, place := range []string{root + wellKnown + path, root + path + "/.well-known/openid-configuration"} {
		var meta struct {
			Issuer   string `json:"issuer"`
			Endpoint string `json:"token_endpoint"`
		}
		if getJSON(ctx, place, &meta) == nil && meta.Endpoint != "" && strings.TrimSuffix(meta.Issuer, "/") == strings.TrimSuffix(issuer, "/") {
			return meta.Endpoint, nil
		}
	}
	return "", fmt.Errorf("%s does not say where tokens are had", issuer)
}

func getJSON(ctx context.Context, place string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
}

func clientOf(id, secret string) *oauthex.ClientCredentials {
	c := &oauthex.ClientCredentials{ClientID: id}
	if secret != "" {
		c.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
	}
	return c
}

// describeResource reads what a server says about itself and those who log in to it.
func describeResource(ctx context.Context, at *url.URL, resp *http.Response) (*oauthex.ProtectedResourceMetadata, error) {
	places := []string{at.Scheme + "://" + at.Host + "/.well-known/oauth-protected-resource" + at.Path, at.Scheme + "://" + at.Host + "/.well-known/oauth-protected-resource"}
	if challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate")); err == nil {
		for _, c := range challenges {
			if place := c.Params["resource_metadata"]; place != "" {
				places = []string{place}
			}
		}
	}
	var problems []error
	for _, place := range places {
		meta, err := oauthex.GetProtectedResourceMetadata(ctx, place, at.String(), http.DefaultClient)
		if err == nil && len(meta.AuthorizationServers) > 0 {
			return meta, nil
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("the server does not say who it takes log-ins from: %w", errors.Join(problems...))
}
