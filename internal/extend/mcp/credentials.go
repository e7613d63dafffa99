package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// credentials logs in as a program, without a person: by a secret or, if the configuration has a key, by a signed statement.
func (o *OAuth) credentials() (auth.OAuthHandler, error) {
	if o.ClientID == "" || o.ClientSecret == "" && o.PrivateKey == "" {
		return nil, errors.New(`a log-in with client_credentials needs "clientId" and "clientSecret" or "privateKey"`)
	}
	c := &extauth.ClientCredentialsHandlerConfig{Credentials: &oauthex.ClientCredentials{ClientID: o.ClientID,
		ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: cmp.Or(o.ClientSecret, "in the statement")}}}
	if o.PrivateKey != "" {
		key, err := parseKey(o.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("its privateKey cannot be used: %w", err)
		}
		c.HTTPClient = &http.Client{Transport: &statements{client: o.ClientID, key: key}}
	}
	h, err := extauth.NewClientCredentialsHandler(c)
	if err != nil {
		return nil, err
	}
	return &lastingCredentials{h}, nil
}

// lastingCredentials gets tokens beyond the request that first wanted one.
type lastingCredentials struct {
	*extauth.ClientCredentialsHandler
}

// Authorize gets a token.
func (c *lastingCredentials) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	return c.ClientCredentialsHandler.Authorize(context.WithoutCancel(ctx), req, resp)
}

func parseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is no PEM text")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errors.New("it is neither an elliptic nor an RSA key")
}

// statements puts a signed statement of who asks into every request for a token (RFC 7523), in the place of the secret. For whom it is meant it
// learns from the description of the server that passes through here before.
type statements struct {
	client string
	key    crypto.Signer

	mu     sync.Mutex
	issuer string
}

// RoundTrip sends a request.
func (s *statements) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost && req.Body != nil {
		return s.token(req)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(data))
	var meta struct {
		Issuer string `json:"issuer"`
	}
	if json.Unmarshal(data, &meta) == nil && meta.Issuer != "" {
		s.mu.Lock()
		s.issuer = meta.Issuer
		s.mu.Unlock()
	}
	return resp, err
}

func (s *statements) token(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	audience := cmp.Or(s.issuer, req.URL.String())
	s.mu.Unlock()
	statement, err := s.sign(audience)
	if err != nil {
		return nil, err
	}
	form.Del("client_secret")
	form.Set("client_id", s.client)
	form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	form.Set("client_assertion", statement)
	req = req.Clone(req.Context())
	req.Header.Del("Authorization")
	body := form.Encode()
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	return http.DefaultTransport.RoundTrip(req)
}

// sign makes the statement: a JSON Web Token that holds for a minute.
func (s *statements) sign(audience string) (string, error) {
	algorithm := "RS256"
	if _, ok := s.key.(*ecdsa.PrivateKey); ok {
		algorithm = "ES256"
	}
	now := time.Now()
	part := func(v any) string {
		data, _ := json.Marshal(v) // of texts and numbers only
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := part(map[string]any{"alg": algorithm, "typ": "JWT"}) + "." +
		part(map[string]any{"iss": s.client, "sub": s.client, "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": rand.Text()})
	sum := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch key := s.key.(type) {
	case *ecdsa.PrivateKey:
		if key.Curve.Params().BitSize != 256 {
			return "", errors.New("an elliptic key must be of the curve P-256")
		}
		r, v, e := ecdsa.Sign(rand.Reader, key, sum[:])
		if err = e; err == nil {
			signature = make([]byte, 64)
			r.FillBytes(signature[:32])
			v.FillBytes(signature[32:])
		}
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	default:
		err = errors.New("it must be an elliptic or an RSA key")
	}
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
