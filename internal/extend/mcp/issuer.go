package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// wellKnown is where a server of log-ins describes itself.
const wellKnown = "/.well-known/oauth-authorization-server"

// ownIssuer reads the descriptions of servers that call themselves by another address of their own. That is against the rules (RFC 8414, 3.3), which
// guard against one server passing for another; older servers do it all the same. It is let pass only for a description at the root of a host that
// names an issuer on that very host: such a server passes for nobody but itself.
type ownIssuer struct{}

// RoundTrip sends a request.
func (ownIssuer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || req.URL.Path != wellKnown || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(withIssuer(data, req.URL)))
	return resp, nil
}

// withIssuer is a description whose issuer is the root of its host, if it was another address there.
func withIssuer(data []byte, at *url.URL) []byte {
	var meta map[string]json.RawMessage
	var issuer string
	if json.Unmarshal(data, &meta) != nil || json.Unmarshal(meta["issuer"], &issuer) != nil {
		return data
	}
	root := at.Scheme + "://" + at.Host
	if !strings.HasPrefix(issuer, root+"/") || issuer == root+"/" {
		return data
	}
	meta["issuer"], _ = json.Marshal(root) // a text
	changed, err := json.Marshal(meta)
	if err != nil {
		return data
	}
	return changed
}
