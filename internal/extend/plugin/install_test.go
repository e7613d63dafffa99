package plugin_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gofer/internal/extend/plugin"
)

func TestSourcesOfPlugins(t *testing.T) {
	t.Parallel()
	one := put(t, t.TempDir(), ".claude-plugin/plugin.json", `{"name": "one"}`, "commands/old.md", "x")
	address := repo(t, one)
	old := gitIn(t, one, "rev-parse", "HEAD")
	gitIn(t, one, "tag", "v1")
	gitIn(t, one, "mv", "commands/old.md", "commands/new.md")
	gitIn(t, one, "commit", "-q", "-m", "second")
	head := gitIn(t, one, "rev-parse", "HEAD")
	many := put(t, t.TempDir(), "a/b/.claude-plugin/plugin.json", `{"name": "sub", "version": "3.0.0"}`, "a/b/agents/x.md", "x", "elsewhere/big.md", "x")
	manyAddress := repo(t, many)
	shop := put(t, t.TempDir(), ".claude-plugin/marketplace.json", market("shop",
		fmt.Sprintf(`{"name": "one", "source": {"source": "url", "url": %q}}`, address),
		fmt.Sprintf(`{"name": "sub", "source": {"source": "git-subdir", "url": %q, "path": "a/b"}}`, manyAddress)))
	entry := func(source string) {
		put(t, shop, ".claude-plugin/marketplace.json", market("shop", `{"name": "one", "source": `+source+`}`))
	}
	s := newStore(t)
	add(t, s, plugin.Source{Kind: "directory", Path: shop})

	d := install(t, s, "one@shop")
	if d.Version != head[:12] || !exists(d.Plugin.Root, "commands/new.md") || exists(d.Plugin.Root, ".git") {
		t.Errorf("from a repository: %s in %s", d.Version, d.Plugin.Root)
	}
	d = install(t, s, "sub@shop")
	if d.Version != "3.0.0" || !exists(d.Plugin.Root, "agents/x.md") || exists(d.Plugin.Root, "../big.md") {
		t.Errorf("from a folder of a repository: %s in %s", d.Version, d.Plugin.Root)
	}
	for _, at := range []string{`"ref": "v1"`, fmt.Sprintf(`"sha": %q`, old), fmt.Sprintf(`"ref": %q`, old)} {
		entry(fmt.Sprintf(`{"source": "url", "url": %q, %s}`, address, at))
		if d := install(t, s, "one"); d.Version != old[:12] || !exists(d.Plugin.Root, "commands/old.md") {
			t.Errorf("at %s: %s in %s", at, d.Version, d.Plugin.Root)
		}
	}
	for source, want := range map[string]string{
		`{"source": "url", "url": "ext::sh -c touch% /tmp/pwned"}`:                  "no address",
		`{"source": "url", "url": "--upload-pack=touch x"}`:                         "no address",
		fmt.Sprintf(`{"source": "url", "url": %q, "ref": "--output=x"}`, address):   "no branch",
		fmt.Sprintf(`{"source": "url", "url": %q, "sha": "HEAD"}`, address):         "no commit",
		fmt.Sprintf(`{"source": "url", "url": %q, "ref": "missing"}`, address):      "missing",
		fmt.Sprintf(`{"source": "git-subdir", "url": %q, "path": "../x"}`, address): "",
		`{"source": "github", "repo": "a/b; touch x"}`:                              "not owner/name",
		`{"source": "pip", "package": "x"}`:                                         `no way to fetch a plugin from "pip"`,
		`"../outside"`:                                                              "leads out",
		`{}`:                                                                        "does not say what it is",
	} {
		entry(source)
		_, err := s.Install(t.Context(), "one@shop", user)
		wantError(t, err, want)
	}
	if got, err := s.Installed(); err != nil || got["one@shop"][0].Version != old[:12] || got["one@shop"][0].GitSHA != old {
		t.Errorf("what failed has changed something: %v, %v", got, err)
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil
}

func TestPackagesOfNPM(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not here")
	}
	dir := put(t, t.TempDir(), "package.json", `{"name": "kit-package", "version": "1.0.0", "scripts": {"prepack": "touch ran", "prepare": "touch ran"}}`,
		".claude-plugin/plugin.json", `{"name": "kit", "version": "1.0.0"}`, "agents/a.md", "x")
	shop := put(t, t.TempDir(), ".claude-plugin/marketplace.json", market("shop", fmt.Sprintf(`{"name": "kit", "source": {"source": "npm", "package": %q}}`, "file:"+dir)))
	s := newStore(t)
	add(t, s, plugin.Source{Kind: "directory", Path: shop})
	if d := install(t, s, "kit@shop"); !exists(d.Plugin.Root, "agents/a.md") || exists(dir, "ran") {
		t.Errorf("installed in %s; a script ran: %v", d.Plugin.Root, exists(dir, "ran"))
	}
}

func TestMarketplaceOverHTTPAndInGit(t *testing.T) {
	t.Parallel()
	one := put(t, t.TempDir(), ".claude-plugin/plugin.json", `{"name": "one", "version": "1.0.0"}`)
	address := repo(t, one)
	text := market("far", fmt.Sprintf(`{"name": "one", "source": {"source": "url", "url": %q}}`, address), `{"name": "two", "source": "./two"}`)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if text == "" || r.Header.Get("X-Key") != "k" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, text)
	}))
	defer server.Close()
	s := newStore(t)
	src := plugin.Source{Kind: "url", URL: server.URL + "/marketplace.json", Headers: map[string]string{"X-Key": "k"}}
	if m := add(t, s, src); len(m.Entries()) != 2 {
		t.Errorf("entries %v", m.Entries())
	}
	install(t, s, "one@far")
	_, err := s.Install(t.Context(), "two@far", user)
	wantError(t, err, "single file")
	mu.Lock()
	text = ""
	mu.Unlock()
	_, err = s.UpdateMarketplace(t.Context(), "far")
	wantError(t, err, "403")
	if _, _, err := s.Marketplace("far"); err != nil {
		t.Errorf("a failed update has broken it: %v", err)
	}

	// In git: an update brings what is new, and another marketplace cannot take its name.
	shop := put(t, t.TempDir(), ".claude-plugin/marketplace.json", market("shop", `{"name": "two", "source": "./two"}`), "two/agents/x.md", "x")
	add(t, s, plugin.Source{Kind: "git", URL: repo(t, shop)})
	put(t, shop, "two/agents/y.md", "y")
	gitIn(t, shop, "add", "-A")
	gitIn(t, shop, "commit", "-q", "-m", "more")
	if d := install(t, s, "two@shop"); exists(d.Plugin.Root, "agents/y.md") {
		t.Error("an installation takes what was fetched, not what is new")
	}
	all, err := s.Update(t.Context(), "two@shop", user)
	if err != nil || !all[0].Changed || !exists(all[0].Plugin.Root, "agents/y.md") {
		t.Errorf("update: %+v, %v", all, err)
	}
	thief := put(t, t.TempDir(), ".claude-plugin/marketplace.json", market("shop"))
	_, err = s.AddMarketplace(t.Context(), plugin.Source{Kind: "directory", Path: thief})
	wantError(t, err, "another marketplace called shop")
	removed, err := s.RemoveMarketplace(t.Context(), "shop")
	if err != nil || len(removed) != 1 || exists(s.Dir, "marketplaces/shop") {
		t.Errorf("removed %v, %v", removed, err)
	}
}

func TestLinksOfAnInstalledPlugin(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	put(t, base, "outside/secret", "secret")
	shop := put(t, filepath.Join(base, "shop"), ".claude-plugin/marketplace.json", market("shop", `{"name": "a", "source": "./a"}`), "shared/tool.sh", "echo", "a/agents/x.md", "x")
	link := func(name, target string) {
		if err := os.Symlink(target, filepath.Join(shop, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("a/tool.sh", "../shared/tool.sh")
	link("a/more", "agents")
	s := newStore(t)
	add(t, s, plugin.Source{Kind: "directory", Path: shop})
	d := install(t, s, "a@shop")
	if text, err := os.ReadFile(filepath.Join(d.Plugin.Root, "tool.sh")); err != nil || string(text) != "echo" {
		t.Errorf("what lies beside in the marketplace comes along: %q, %v", text, err)
	}
	if target, err := os.Readlink(filepath.Join(d.Plugin.Root, "more")); err != nil || target != "agents" {
		t.Errorf("a link inside stays one: %q, %v", target, err)
	}
	link("a/out", "../../outside/secret")
	_, err := s.Install(t.Context(), "a@shop", user)
	wantError(t, err, "out is a link that leads out of the plugin")
}

func TestAKillLeavesTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	shop := t.TempDir()
	s := newStore(t)
	version := func(n int) {
		put(t, shop, ".claude-plugin/marketplace.json", market("shop", `{"name": "big", "source": "./big"}`),
			"big/.claude-plugin/plugin.json", fmt.Sprintf(`{"name": "big", "version": "1.0.%d"}`, n))
		for i := range 300 {
			put(t, shop, fmt.Sprintf("big/files/%d/%d.txt", i%20, i), fmt.Sprint(n))
		}
	}
	version(0)
	add(t, s, plugin.Source{Kind: "directory", Path: shop})
	install(t, s, "big@shop")
	killed := 0
	for n := 1; n <= 4; n++ {
		version(n)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PLUGIN_TEST_INSTALL="+s.Dir+" big@shop", quickExit)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if killAt(s.Dir, cmd, n*4, ended) {
			killed++
		}
		list, faults := s.Load([]plugin.Wanted{{ID: "big@shop"}}, "")
		if len(list) != 1 || faults != nil {
			t.Fatalf("kill %d: %v", n, faults)
		}
		got, want := list[0].Version, ""
		for i := range 300 {
			text, err := os.ReadFile(filepath.Join(list[0].Root, "files", fmt.Sprint(i%20), fmt.Sprintf("%d.txt", i)))
			if err != nil {
				t.Fatalf("kill %d: half of %s: %v", n, got, err)
			}
			if want = "1.0." + string(text); want != got {
				t.Fatalf("kill %d: version %s has a file of %s", n, got, want)
			}
		}
	}
	if killed == 0 {
		t.Error("none was killed")
	}
	install(t, s, "big@shop")
	left, _ := filepath.Glob(filepath.Join(s.Dir, "cache", ".gofer-*"))
	if left != nil {
		t.Errorf("what the killed ones left is still there: %v", left)
	}
}

// quickExit keeps the race detector from waiting a second at the end of every run.
const quickExit = "GORACE=atexit_sleep_ms=0"

// killAt kills a process as soon as so many folders lie in its stage. It reports false if it ended before.
func killAt(dir string, cmd *exec.Cmd, folders int, ended <-chan error) bool {
	for {
		select {
		case <-ended:
			return false
		default:
		}
		if seen, _ := filepath.Glob(filepath.Join(dir, "cache", ".gofer-*", "plugin", "files", "*")); len(seen) >= folders {
			cmd.Process.Kill()
			<-ended
			return true
		}
		runtime.Gosched()
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	shop := t.TempDir()
	var entries []string
	for i := range 8 {
		entries = append(entries, fmt.Sprintf(`{"name": "p%d", "source": "./p%d"}`, i, i))
		put(t, shop, fmt.Sprintf("p%d/agents/x.md", i), "x")
	}
	put(t, shop, ".claude-plugin/marketplace.json", market("shop", entries...))
	s := newStore(t)
	add(t, s, plugin.Source{Kind: "directory", Path: shop})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("PLUGIN_TEST_INSTALL=%s p%d@shop", s.Dir, i), quickExit)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("p%d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	if all, err := s.Installed(); err != nil || len(all) != 8 {
		t.Errorf("%d installed, %v", len(all), err)
	}
}

func TestBrokenRecordsAreNotOverwritten(t *testing.T) {
	t.Parallel()
	shop := put(t, t.TempDir(), ".claude-plugin/marketplace.json", market("shop", `{"name": "a", "source": "./a"}`), "a/agents/x.md", "x")
	s := newStore(t)
	add(t, s, plugin.Source{Kind: "directory", Path: shop})
	put(t, s.Dir, "installed_plugins.json", "{ half")
	_, err := s.Install(t.Context(), "a@shop", user)
	wantError(t, err, "left as it is")
	if _, faults := s.Load([]plugin.Wanted{{ID: "a@shop"}}, ""); len(faults) != 1 {
		t.Errorf("faults %v", faults)
	}
	if text, _ := os.ReadFile(filepath.Join(s.Dir, "installed_plugins.json")); string(text) != "{ half" {
		t.Errorf("the file is %q now", text)
	}
	// What others keep in the files stays there.
	put(t, s.Dir, "installed_plugins.json", `{"version": 2, "theirs": 1, "plugins": {"x@y": [{"scope": "user", "installPath": "/nowhere", "version": "1", "more": true}]}}`)
	install(t, s, "a@shop")
	text, _ := os.ReadFile(filepath.Join(s.Dir, "installed_plugins.json"))
	for _, want := range []string{`"theirs": 1`, `"more": true`, `"a@shop"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is gone:\n%s", want, text)
		}
	}
}

func TestAHomeOfClaudeCode(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	put(t, s.Dir,
		"known_marketplaces.json", `{"shop": {"source": {"source": "github", "repo": "o/r"}, "installLocation": "`+s.Dir+`/marketplaces/shop", "lastUpdated": "2026-01-01T00:00:00.000Z"}}`,
		"marketplaces/shop/.claude-plugin/marketplace.json", market("shop", `{"name": "kit", "source": "./kit", "strict": false, "commands": ["./cmd"]}`),
		"installed_plugins.json", `{"version": 2, "plugins": {"kit@shop": [
			{"scope": "project", "projectPath": "/home/me/p", "installPath": "/moved/home/.claude/plugins/cache/shop/kit/2.0.0", "version": "2.0.0"},
			{"scope": "user", "installPath": "/moved/home/.claude/plugins/cache/shop/kit/1.0.0", "version": "1.0.0"}], "gone@shop": [{"scope": "user", "installPath": "/nowhere"}]}}`,
		"cache/shop/kit/1.0.0/cmd/a.md", "x", "cache/shop/kit/2.0.0/cmd/a.md", "x")
	list, faults := s.Load([]plugin.Wanted{{ID: "kit@shop"}, {ID: "gone@shop"}, {ID: "never@shop"}}, "/home/me/p")
	if len(list) != 1 || list[0].Version != "2.0.0" || len(list[0].Commands) != 1 {
		t.Errorf("loaded %s", jsonOf(t, list))
	}
	if len(faults) != 2 || !strings.Contains(faults[0].Text, "files are gone") || !strings.Contains(faults[1].Text, "not installed") {
		t.Errorf("faults %v", faults)
	}
	if list, _ = s.Load([]plugin.Wanted{{ID: "kit@shop", Versions: []string{"^1"}}}, "/elsewhere"); len(list) != 1 || list[0].Version != "1.0.0" {
		t.Errorf("elsewhere: %s", jsonOf(t, list))
	}
	if _, faults = s.Load([]plugin.Wanted{{ID: "kit@shop", Versions: []string{"^3"}}}, ""); len(faults) != 1 {
		t.Errorf("a version that is not wanted: %v", faults)
	}
	s.Policy.Blocked = []json.RawMessage{json.RawMessage(`{"source": "git", "url": "https://github.com/o/r"}`)}
	if list, faults = s.Load([]plugin.Wanted{{ID: "kit@shop"}}, ""); list != nil || !strings.Contains(faults[0].Text, "blocked") {
		t.Errorf("a blocked marketplace: %v %v", list, faults)
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	raw := func(texts ...string) []json.RawMessage {
		list := []json.RawMessage{}
		for _, s := range texts {
			list = append(list, json.RawMessage(s))
		}
		return list
	}
	github := plugin.Source{Kind: "github", Repo: "o/r"}
	for _, c := range []struct {
		policy plugin.Policy
		src    plugin.Source
		ok     bool
	}{
		{plugin.Policy{}, github, true},
		{plugin.Policy{Only: raw()}, github, false},
		{plugin.Policy{Only: raw(`{"source": "github", "repo": "o/r"}`)}, github, true},
		{plugin.Policy{Only: raw(`{"source": "github", "repo": "o/r"}`)}, plugin.Source{Kind: "github", Repo: "o/r", Ref: "evil"}, false},
		{plugin.Policy{Only: raw(`{"source": "hostPattern", "hostPattern": "^git\\.corp$"}`)}, plugin.Source{Kind: "git", URL: "ssh://git@git.corp:22/x.git"}, true},
		{plugin.Policy{Only: raw(`{"source": "hostPattern", "hostPattern": "^git\\.corp$"}`)}, plugin.Source{Kind: "git", URL: "git@git.corp:x/y.git"}, true},
		{plugin.Policy{Only: raw(`{"source": "hostPattern", "hostPattern": "^git\\.corp$"}`)}, plugin.Source{Kind: "git", URL: "https://git.corp.evil.com/x"}, false},
		{plugin.Policy{Only: raw(`{"source": "hostPattern", "hostPattern": "("}`)}, github, false},
		{plugin.Policy{Blocked: raw(`{"source": "github", "repo": "O/R"}`)}, plugin.Source{Kind: "git", URL: "git@github.com:o/r.git", Ref: "x"}, false},
		{plugin.Policy{Blocked: raw(`7`)}, github, false},
		{plugin.Policy{Blocked: raw(`{"source": "github", "repo": "o/other"}`)}, github, true},
	} {
		if err := c.policy.Forbids(c.src); (err == nil) != c.ok {
			t.Errorf("%s with %s: %v", c.src, jsonOf(t, c.policy), err)
		}
	}
	s := newStore(t)
	s.Policy.Only = raw()
	_, err := s.AddMarketplace(t.Context(), plugin.Source{Kind: "directory", Path: t.TempDir()})
	wantError(t, err, "strictKnownMarketplaces")
}

func TestParseSource(t *testing.T) {
	t.Parallel()
	dir := put(t, t.TempDir(), "own/repo/x", "", "market.json", "{}")
	for text, want := range map[string]string{
		"own/repo":                     "github own/repo",
		"own/repo@v2":                  "github own/repo#v2",
		"own/repo#v2":                  "github own/repo#v2",
		"./own/repo":                   filepath.Join(dir, "own/repo"),
		"./market.json":                filepath.Join(dir, "market.json"),
		"https://h/x.git#main":         "https://h/x.git#main",
		"https://h/x":                  "https://h/x",
		"git@h:x/y.git":                "git@h:x/y.git",
		"https://h/a/marketplace.json": "https://h/a/marketplace.json",
	} {
		if got, err := plugin.ParseSource(text, dir); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	if got, _ := plugin.ParseSource("https://h/a/marketplace.json", dir); got.Kind != "url" {
		t.Errorf("kind %s", got.Kind)
	}
	for _, text := range []string{"./none", "ext::sh", "javascript://x", "just words", ""} {
		if got, err := plugin.ParseSource(text, filepath.Join(dir, "own")); err == nil && text != "" {
			t.Errorf("%q became %s", text, got)
		}
	}
}

func TestArchives(t *testing.T) {
	t.Parallel()
	pack := func(files ...string) string {
		file := filepath.Join(t.TempDir(), "p.zip")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z := zip.NewWriter(f)
		for i := 0; i < len(files); i += 2 {
			h := &zip.FileHeader{Name: files[i]}
			h.SetMode(0o755)
			if strings.HasPrefix(files[i+1], "->") {
				h.SetMode(0o777 | os.ModeSymlink)
			}
			w, err := z.CreateHeader(h)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(w, files[i+1])
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return file
	}
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(pack("x", "y")))))
	defer server.Close()
	good := pack("kit-main/.claude-plugin/plugin.json", `{"name": "kit"}`, "kit-main/run.sh", "x")
	root, err := plugin.FetchArchive(t.Context(), good, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if p, err := plugin.Load(root, plugin.LoadOptions{}); err != nil || p.Name != "kit" {
		t.Errorf("%v, %v", p, err)
	}
	if info, err := os.Stat(filepath.Join(root, "run.sh")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	for name, file := range map[string]string{"out": pack("../evil", "x"), "absolute": pack("/tmp/evil", "x"), "link": pack("l", "->/etc/passwd"), "twice": pack("a", "1", "a", "2")} {
		if _, err := plugin.FetchArchive(t.Context(), file, t.TempDir()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := plugin.FetchArchive(t.Context(), server.URL+"/p.zip", t.TempDir()); err != nil {
		t.Error(err)
	}
	_, err = plugin.FetchArchive(t.Context(), server.URL+"/none.zip", t.TempDir())
	wantError(t, err, "404")
	_, err = plugin.FetchArchive(t.Context(), "ftp://x/p.zip", t.TempDir())
	wantError(t, err, "https://")
}

func TestOldVersionsGoAfterAWeek(t *testing.T) {
	t.Parallel()
	shop := put(t, t.TempDir(), ".claude-plugin/marketplace.json", market("shop", `{"name": "a", "source": "./a"}`), "a/agents/x.md", "1")
	s := newStore(t)
	add(t, s, plugin.Source{Kind: "directory", Path: shop})
	first := install(t, s, "a@shop")
	put(t, shop, "a/agents/x.md", "2")
	install(t, s, "a@shop")
	if !exists(first.Plugin.Root, ".orphaned_at") {
		t.Fatal("the old version is gone or not marked")
	}
	put(t, shop, "a/agents/x.md", "1")
	if again := install(t, s, "a@shop"); again.Plugin.Root != first.Plugin.Root || exists(first.Plugin.Root, ".orphaned_at") {
		t.Errorf("the same content is kept twice, or still marked: %s", again.Plugin.Root)
	}
	put(t, shop, "a/agents/x.md", "3")
	install(t, s, "a@shop")
	old := time.Now().Add(-8 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(first.Plugin.Root, ".orphaned_at"), old, old); err != nil {
		t.Fatal(err)
	}
	last, err := s.Uninstall(t.Context(), "a@shop", user, false)
	if err != nil || !last || exists(first.Plugin.Root, ".") {
		t.Errorf("last %v, %v; still there: %v", last, err, exists(first.Plugin.Root, "."))
	}
	_, err = s.Uninstall(t.Context(), "a@shop", user, false)
	wantError(t, err, "not installed for the user scope")
}

func TestACancelledFetchStops(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	s := newStore(t)
	_, err := s.AddMarketplace(ctx, plugin.Source{Kind: "url", URL: server.URL + "/marketplace.json"})
	wantError(t, err, "cancel")
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "marketplaces", ".gofer-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
