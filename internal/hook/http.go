package hook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // so that a small answer cannot become a huge one
	return &http.Client{
		Transport: t,
		// An address that is allowed must not lead to one that is not.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// runHTTP posts the event. The answer counts as what a command prints.
func (c *core) runHTTP(f *flight) answer {
	if err := c.allowed(f.hook.URL); err != nil {
		return answer{failure: err.Error()}
	}
	req, err := http.NewRequestWithContext(f.ctx, http.MethodPost, f.hook.URL, bytes.NewReader(f.stdin))
	if err != nil {
		return answer{failure: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range f.hook.Headers {
		req.Header.Set(name, c.expandHeader(f.hook, value))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return answer{failure: "the request failed: " + err.Error()}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKept+1))
	switch {
	case err != nil:
		return answer{failure: "reading the answer failed: " + err.Error()}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return answer{failure: fmt.Sprintf("the server answered %s", resp.Status), stdout: string(body)}
	case len(body) > maxKept:
		return answer{failure: fmt.Sprintf("the answer has more than %d bytes", maxKept)}
	}
	return interpret(f, string(body), "", 0)
}

// allowed checks an address against the list of the settings.
func (c *core) allowed(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("its address cannot be read: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("its address %q is not an http or https address", address)
	}
	if c.opt.AllowedURLs == nil {
		return nil
	}
	if u.User == nil && slices.ContainsFunc(c.opt.AllowedURLs, func(pattern string) bool { return wildcard(pattern, address) }) {
		return nil
	}
	return fmt.Errorf("its address %s is not in allowedHttpHookUrls", address)
}

// wildcard reports whether text fits the pattern, in which * stands for anything.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return strings.HasSuffix(text, last)
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)
})

// expandHeader puts the values of variables into a header: only of those that the hook lists and the settings allow. Others are
// empty, so that a project cannot have the user's secrets sent away.
func (c *core) expandHeader(h Hook, value string) string {
	env := os.Getenv
	if c.opt.Env != nil {
		env = func(name string) string { return lookup(c.opt.Env(), name) }
	}
	return variable().ReplaceAllStringFunc(value, func(found string) string {
		name := strings.Trim(found, "${}")
		if !slices.Contains(h.AllowedEnvVars, name) || c.opt.AllowedEnv != nil && !slices.Contains(c.opt.AllowedEnv, name) {
			return ""
		}
		return env(name)
	})
}

func lookup(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}
