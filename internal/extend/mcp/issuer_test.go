package mcp

import (
	"net/url"
	"testing"
)

func TestOnlyAnIssuerOfTheSameHostIsLetPass(t *testing.T) {
	t.Parallel()
	at, _ := url.Parse("https://a.example:8443/.well-known/oauth-authorization-server")
	for text, want := range map[string]string{
		`{"issuer":"https://a.example:8443/oauth"}`:          `{"issuer":"https://a.example:8443"}`,
		`{"issuer":"https://a.example:8443/"}`:               `{"issuer":"https://a.example:8443/"}`,
		`{"issuer":"https://a.example:8443.evil.com/oauth"}`: `{"issuer":"https://a.example:8443.evil.com/oauth"}`,
		`{"issuer":"http://a.example:8443/oauth"}`:           `{"issuer":"http://a.example:8443/oauth"}`,
		`{"issuer":7}`: `{"issuer":7}`,
		`no JSON`:      `no JSON`,
	} {
		if got := string(withIssuer([]byte(text), at)); got != want {
			t.Errorf("%s became %s, not %s", text, got, want)
		}
	}
}
