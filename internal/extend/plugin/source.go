package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A Source says where a marketplace or a plugin is to be had. Which fields count depends on Kind.
type Source struct {
	Kind string `json:"source"` // path (of a plugin in its marketplace), github, git, url, git-subdir, npm, file, directory, hostPattern, pathPattern

	Path     string            `json:"path,omitempty"` // path, file and directory: where it is; git-subdir: the folder; of a marketplace in git: its file
	Repo     string            `json:"repo,omitempty"` // github: owner/name
	URL      string            `json:"url,omitempty"`  // git, url, git-subdir
	Ref      string            `json:"ref,omitempty"`
	SHA      string            `json:"sha,omitempty"`
	Package  string            `json:"package,omitempty"` // npm
	Version  string            `json:"version,omitempty"`
	Registry string            `json:"registry,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`

	HostPattern string `json:"hostPattern,omitempty"` // in lists of marketplaces that are allowed or not
	PathPattern string `json:"pathPattern,omitempty"`
}

// UnmarshalJSON takes an object, or a text: the path of a plugin in its marketplace.
func (s *Source) UnmarshalJSON(raw []byte) error {
	var path string
	if json.Unmarshal(raw, &path) == nil {
		*s = Source{Kind: "path", Path: path}
		return nil
	}
	type plain Source
	return json.Unmarshal(raw, (*plain)(s))
}

// MarshalJSON writes what UnmarshalJSON reads.
func (s Source) MarshalJSON() ([]byte, error) {
	if s.Kind == "path" {
		return json.Marshal(s.Path)
	}
	type plain Source
	return json.Marshal(plain(s))
}

func (s Source) String() string {
	text := s.Kind
	switch s.Kind {
	case "github":
		text = "github " + s.Repo
	case "git", "url", "git-subdir":
		text = s.URL
	case "npm":
		text = "npm " + s.Package
	case "path", "file", "directory":
		text = s.Path
	}
	if s.Kind == "git-subdir" {
		text += " " + s.Path
	}
	if s.Ref != "" {
		text += "#" + s.Ref
	}
	return text
}

var (
	repoForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*$`) })
	scpForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.-]+@[\w.-]+:[^\s]+$`) })
	shaForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`) })
)

// ParseSource reads where a marketplace is, as people write it: a folder, a file, owner/repo, the address of a git repository, or that of
// a marketplace.json. A # or, behind owner/repo, an @ begins a branch or tag. Relative paths begin in dir.
func ParseSource(text, dir string) (Source, error) {
	text = strings.TrimSpace(text)
	local := text
	if !filepath.IsAbs(local) {
		local = filepath.Join(dir, local)
	}
	if info, err := os.Stat(local); err == nil && (strings.HasPrefix(text, ".") || filepath.IsAbs(text) || !repoForm().MatchString(text)) {
		if info.IsDir() {
			return Source{Kind: "directory", Path: local}, nil
		}
		return Source{Kind: "file", Path: local}, nil
	}
	where, ref, _ := strings.Cut(text, "#")
	switch {
	case strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || filepath.IsAbs(text):
		return Source{}, fmt.Errorf("there is nothing at %s", local)
	case strings.Contains(where, "://"):
		return addressSource(where, ref)
	case scpForm().MatchString(where):
		return Source{Kind: "git", URL: where, Ref: ref}, nil
	}
	repo, tag, tagged := strings.Cut(where, "@")
	if repoForm().MatchString(repo) {
		if tagged && ref == "" {
			ref = tag
		}
		return Source{Kind: "github", Repo: repo, Ref: ref}, nil
	}
	return Source{}, fmt.Errorf("%q is no place of a marketplace: give a folder, owner/repo, the address of a git repository or that of a marketplace.json", cut(text, 100))
}

func addressSource(where, ref string) (Source, error) {
	u, err := url.Parse(where)
	if err != nil {
		return Source{}, fmt.Errorf("%q is no address: %w", cut(where, 100), err)
	}
	switch {
	case u.Scheme == "ssh" || u.Scheme == "git" || u.Scheme == "file":
		return Source{Kind: "git", URL: where, Ref: ref}, nil
	case u.Scheme != "http" && u.Scheme != "https":
		return Source{}, fmt.Errorf("%s cannot be fetched: use https, http, ssh, git or file", u.Scheme)
	case strings.HasSuffix(u.Path, ".json"):
		return Source{Kind: "url", URL: where}, nil
	}
	return Source{Kind: "git", URL: where, Ref: ref}, nil
}

// local reports whether a marketplace is used where it lies, and not copied.
func (s Source) local() bool { return s.Kind == "directory" || s.Kind == "file" }

// git is the address of the repository behind a source; ok is false when there is none.
func (s Source) git() (address string, ok bool) {
	switch s.Kind {
	case "github":
		return "https://github.com/" + s.Repo + ".git", true
	case "git", "git-subdir":
		return s.URL, true
	}
	return "", false
}

// check says what is wrong with a source before a program is started with it. The values come from others.
func (s Source) check() error {
	address, isGit := s.git()
	switch {
	case s.Kind == "github" && !repoForm().MatchString(s.Repo):
		return fmt.Errorf("%q is not owner/name of a repository", cut(s.Repo, 100))
	case isGit && !gitAddress(address):
		return fmt.Errorf("%q is no address that git may be given", cut(address, 100))
	case strings.HasPrefix(s.Ref, "-") || strings.ContainsAny(s.Ref, " \n\x00~^:?*[\\"):
		return fmt.Errorf("%q is no branch or tag", cut(s.Ref, 100))
	case s.SHA != "" && !shaForm().MatchString(s.SHA):
		return fmt.Errorf("%q is no commit", cut(s.SHA, 100))
	case s.Kind == "npm" && (s.Package == "" || strings.HasPrefix(s.Package, "-") || strings.HasPrefix(s.Version, "-")):
		return fmt.Errorf("%q is no package", cut(s.Package, 100))
	case s.Kind == "":
		return errors.New(`the source does not say what it is ("source": "github", "git", "url", …)`)
	}
	return nil
}

// gitAddress reports whether git may be given an address. Transports that run commands, such as ext::, are not for others to choose.
func gitAddress(s string) bool {
	if s == "" || strings.HasPrefix(s, "-") || strings.Contains(s, "::") || strings.ContainsAny(s, "\n\x00") {
		return false
	}
	if scheme, _, found := strings.Cut(s, "://"); found {
		return scheme == "https" || scheme == "http" || scheme == "ssh" || scheme == "git" || scheme == "file"
	}
	return filepath.IsAbs(s) || scpForm().MatchString(s)
}

// host is the name of the machine behind a source, or "".
func (s Source) host() string {
	address, ok := s.git()
	if !ok {
		address = s.URL
	}
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Hostname()
	}
	if _, rest, ok := strings.Cut(address, "@"); ok && scpForm().MatchString(address) {
		host, _, _ := strings.Cut(rest, ":")
		return host
	}
	return ""
}
