package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gofer/internal/proc"
)

// A Probe is one attack and what came of it.
type Probe struct {
	Group  string `json:"group"` // files, hidden files, protected files, network, processes
	Name   string `json:"name"`
	Held   bool   `json:"held"`
	Tried  bool   `json:"tried"`
	Detail string `json:"detail,omitempty"` // what the attack saw, or why it was not tried
}

// Prove builds a sandbox around a project of its own, in a folder below dir, attacks it from inside by every way it knows and
// tells what held. A probe is judged by what happened (a file that changed, a listener that was reached, a secret that
// was printed) and not by what the attack believes. without are features to do without.
func Prove(ctx context.Context, r *proc.Runner, dir string, without []Feature, self []string) ([]Probe, Report, error) {
	top, err := os.MkdirTemp(dir, "gofer-prove-")
	if err != nil {
		return nil, Report{}, fmt.Errorf("no folder to attack: %w", err)
	}
	defer os.RemoveAll(top)
	g := &ground{ctx: ctx, runner: r, top: resolve(top)}
	defer g.close()
	if err := g.prepare(without, self); err != nil {
		return nil, Report{}, err
	}
	g.attackFiles()
	g.attackHidden()
	g.attackProtected()
	g.attackNet()
	g.attackProcesses()
	return g.probes, g.box.Report(), ctx.Err()
}

const secret = "gofer-canary-271828"

// ground is where a sandbox is attacked.
type ground struct {
	ctx     context.Context
	runner  *proc.Runner
	top     string
	project string
	outside string
	program string // this program, as an attacker
	box     *Sandbox
	probes  []Probe
	target  map[string]*target // listeners by network
	sleeper *proc.Process      // a process outside
}

func (g *ground) path(name string) string { return filepath.Join(g.project, name) }

func (g *ground) prepare(without []Feature, self []string) (err error) {
	g.project, g.outside = filepath.Join(g.top, "project"), filepath.Join(g.top, "outside")
	for name, text := range map[string]string{
		"project/.env": secret, "project/keys/id": secret, "project/.env.example": "example", "project/.git/config": "good", "project/.git/hooks/sample": "good", "outside/file": "good",
	} {
		path := filepath.Join(g.top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if g.program, err = os.Executable(); err != nil {
		return fmt.Errorf("this program does not find itself: %w", err)
	}
	g.target = map[string]*target{}
	for name, at := range map[string]string{
		"allowed": "tcp4 127.0.0.1:0", "tcp4": "tcp4 127.0.0.1:0", "tcp6": "tcp6 [::1]:0", "udp4": "udp4 127.0.0.1:0", "udp6": "udp6 [::1]:0", "unix": "unix " + g.path("s"),
	} {
		network, addr, _ := strings.Cut(at, " ")
		if t, err := newTarget(network, addr); err == nil {
			g.target[name] = t
		}
	}
	if g.target["allowed"] == nil || g.target["tcp4"] == nil {
		return errors.New("this machine has no loopback network to try")
	}
	if g.sleeper, err = g.runner.Start(g.ctx, proc.Cmd{Argv: []string{"sleep", "600"}}); err != nil {
		return err
	}
	g.box, err = New(Policy{
		WriteDirs: []string{g.project}, TempDir: g.path("tmp"), ReadDeny: []string{"**/.env", g.path("keys")}, WriteDeny: []string{g.path(".git/hooks"), g.path(".git/config")},
		Net: Net{Hosts: []string{g.target["allowed"].addr}}, Without: without, Self: self,
	})
	return err
}

func (g *ground) close() {
	if g.sleeper != nil {
		g.sleeper.Kill(0)
	}
	if g.box != nil {
		g.box.Close()
	}
	for _, t := range g.target {
		t.close()
	}
}

// run runs a command behind the walls.
func (g *ground) run(argv ...string) (proc.Captured, error) {
	wrapped, err := g.box.Wrap(argv)
	if err != nil {
		return proc.Captured{}, err
	}
	ctx, cancel := context.WithTimeout(g.ctx, 20*time.Second)
	defer cancel()
	env := append(os.Environ(), "OUT="+g.outside)
	return g.runner.Capture(ctx, proc.Cmd{Argv: wrapped, Dir: g.project, Env: append(env, g.box.Env()...)}, nil, 64<<10)
}

// note records what came of an attack.
func (g *ground) note(group, name string, held bool, got proc.Captured, err error) {
	detail := strings.TrimSpace(string(got.Stdout) + string(got.Stderr))
	if i := strings.LastIndexByte(detail, '\n'); i >= 0 {
		detail = detail[i+1:]
	}
	if err != nil {
		detail = err.Error()
	}
	p := Probe{Group: group, Name: name, Held: held, Tried: err == nil && got.Exit.Code != helperFailed, Detail: detail}
	g.probes = append(g.probes, p)
}

// skip records an attack that cannot be tried.
func (g *ground) skip(group, name, why string) {
	g.probes = append(g.probes, Probe{Group: group, Name: name, Held: true, Detail: why})
}

// shell attacks with a shell command; held tells afterwards whether the walls held.
func (g *ground) shell(group, script string, needs string, held func(out string) bool) {
	if needs != "" {
		if _, err := exec.LookPath(needs); err != nil {
			g.skip(group, script, "there is no "+needs)
			return
		}
	}
	got, err := g.run("sh", "-c", script)
	g.note(group, strings.ReplaceAll(script, g.top, "…"), held(string(got.Stdout)+string(got.Stderr)), got, err)
}

// native attacks with this program itself.
func (g *ground) native(group, name string, held func(code int) bool, args ...string) {
	got, err := g.run(append([]string{g.program, attackArg}, args...)...)
	if got.Exit.Code == attackUnknown {
		g.skip(group, name, strings.TrimSpace(string(got.Stdout)))
		return
	}
	g.note(group, name, held(got.Exit.Code), got, err)
}

func stopped(code int) bool { return code != attackThrough }

func (g *ground) attackFiles() {
	untouched := func(string) bool {
		entries, err := os.ReadDir(g.outside)
		text, _ := os.ReadFile(filepath.Join(g.outside, "file"))
		held := err == nil && len(entries) == 1 && string(text) == "good"
		if !held { // the next probe begins anew
			os.RemoveAll(g.outside)
			os.Mkdir(g.outside, 0o700)
			os.WriteFile(filepath.Join(g.outside, "file"), []byte("good"), 0o600)
		}
		return held
	}
	for _, script := range []string{
		`echo x > "$OUT/new"`, `echo x > "$OUT/file"`, `rm -rf "$OUT"`, `mv "$OUT/file" .`, `ln "$OUT/file" hard && echo x > hard`, `ln -s "$OUT/late" soft; echo x > soft`,
		`(sh -c 'echo x > "$OUT/child"' & wait)`, `env -i sh -c "echo x > '$OUT/clean'"`, `mkdir "$OUT/dir"`, `cp /bin/sh "$OUT/sh"`,
	} {
		g.shell("files", script, "", untouched)
	}
	g.shell("files", `setsid sh -c 'echo x > "$OUT/session"'`, "setsid", untouched)
	g.shell("files", `python3 -c "import os; open(os.environ['OUT'] + '/p', 'w')"`, "python3", untouched)
	g.native("files", "write by a program", stopped, "write", filepath.Join(g.outside, "native"))
	got, err := g.run("sh", "-c", "echo fine > inside && cat inside")
	g.note("files", "writing inside works", string(got.Stdout) == "fine\n", got, err)
}

func (g *ground) attackHidden() {
	unseen := func(out string) bool { return !strings.Contains(out, secret) }
	env := g.path(".env")
	for _, script := range []string{
		"cat .env", "cat " + env, "cat ../*/.env", "cp .env copy; cat copy", "ln -s .env link; cat link", "ln .env hard2; cat hard2", "mv .env moved; cat moved", "dd if=.env", "grep -r canary .",
		"awk 1 .env", "tail -c 99 .env", "cat /proc/self/root" + env, "cat /proc/self/cwd/.env", "cat keys/*", "find . -type f -exec cat {} +", "umount .env; cat .env",
	} {
		g.shell("hidden files", script, "", unseen)
	}
	g.shell("hidden files", "git diff --no-index /dev/null .env", "git", unseen)
	g.shell("hidden files", `python3 -c "print(open('.env').read())"`, "python3", unseen)
	g.shell("hidden files", "unshare -rm sh -c 'umount .env; cat .env'", "unshare", unseen)
	g.native("hidden files", "read by a program", stopped, "read", env)
	g.native("hidden files", "unmount by a program", stopped, "umount", env)
	g.shell("hidden files", "cat /proc/"+strconv.Itoa(g.sleeper.PID)+"/root"+env, "", unseen)
	g.shell("hidden files", "cat .env.example", "", func(out string) bool { return strings.TrimSpace(out) == "example" })
}

func (g *ground) attackProtected() {
	good := func(string) bool {
		hook := isThere(g.path(".git/hooks/pre-commit"))
		text, _ := os.ReadFile(g.path(".git/config"))
		sample, _ := os.ReadFile(g.path(".git/hooks/sample"))
		return !hook && string(text) == "good" && string(sample) == "good"
	}
	for _, script := range []string{
		"echo x > .git/hooks/pre-commit", "echo x > .git/config", "mv .git away && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit", "rm -rf .git", "mv .git/hooks .git/h; mkdir .git/hooks",
	} {
		g.shell("protected files", script, "", good)
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (g *ground) attackNet() {
	allowed, second := g.target["allowed"], g.target["tcp4"]
	host, port, _ := net.SplitHostPort(second.addr)
	unreached := func() bool { return second.came.Swap(0) == 0 }
	byShell := func(string) bool { return unreached() }
	byNative := func(code int) bool { return unreached() && stopped(code) }
	g.shell("network", "curl -s -m 5 http://"+allowed.addr, "curl", func(string) bool { return allowed.came.Swap(0) > 0 })
	g.probes[len(g.probes)-1].Name = "the allowed host is reached by curl"
	for _, a := range [][2]string{
		{"curl", "curl -m 5 http://" + second.addr}, {"curl", "curl -m 5 --noproxy '*' http://" + second.addr}, {"curl", "env -i $(command -v curl) -m 5 http://" + second.addr},
		{"bash", "bash -c 'echo x > /dev/tcp/" + host + "/" + port + "'"}, {"python3", "python3 -c \"import socket; socket.create_connection(('" + host + "', " + port + "), 5).send(b'x')\""},
		{"setsid", "setsid curl -m 5 --noproxy '*' http://" + second.addr},
	} {
		g.shell("network", a[1], a[0], byShell)
	}
	g.native("network", "connect to another port", byNative, "connect", "tcp4", second.addr)
	g.native("network", "the same, written as IPv6", byNative, "connect", "tcp6", "[::ffff:127.0.0.1]:"+port)
	g.native("network", "open a connection by sending", byNative, "fastopen", second.addr)
	if proxy := g.box.proxy; proxy != nil {
		g.native("network", "change the address while it is looked at", byNative, "race", fmt.Sprintf("127.0.0.1:%d", proxy.Port()), second.addr)
	}
	for _, network := range []string{"tcp6", "udp4", "udp6", "unix"} {
		if t := g.target[network]; t != nil {
			g.native("network", "connect by "+network, func(code int) bool { return t.came.Swap(0) == 0 && stopped(code) }, "connect", network, t.addr)
		} else {
			g.skip("network", "connect by "+network, "this machine has none")
		}
	}
	if t := g.target["udp4"]; t != nil {
		g.native("network", "carry data out in a DNS name", func(code int) bool { return t.came.Swap(0) == 0 && stopped(code) }, "resolve", t.addr, "secret.example.com")
	}
	g.native("network", "another host on the port of the proxy", stopped, "connect", "tcp4", g.elsewhere())
	for _, s := range [][]string{{"MPTCP", "2", "1", "262"}, {"SCTP", "2", "1", "132"}, {"raw", "2", "3", "1"}, {"packet", "17", "3", "768"}, {"netlink", "16", "3", "0"}, {"vsock", "40", "1", "0"}} {
		g.native("network", "make a socket: "+s[0], stopped, append([]string{"socket"}, s[1:]...)...)
	}
	g.native("network", "listen on a port", stopped, "listen")
	g.native("network", "listen without a bind", stopped, "autobind")
}

// elsewhere is another address of this machine, with a listener on the port of the proxy: a wall that knows only ports lets it pass.
func (g *ground) elsewhere() string {
	port := "9"
	if g.box.proxy != nil {
		port = strconv.Itoa(g.box.proxy.Port())
	}
	addr := "127.0.0.2:" + port
	if t, err := newTarget("tcp4", addr); err == nil {
		g.target["elsewhere"] = t
	}
	return addr
}

func (g *ground) attackProcesses() {
	pid := strconv.Itoa(g.sleeper.PID)
	for _, a := range [][]string{
		{"signal a process outside", "signal", pid}, {"trace it", "ptrace", pid}, {"open its memory", "memory", pid}, {"read its environment", "read", "/proc/" + pid + "/environ"},
		{"make a user namespace", "namespace"}, {"mount", "mount", g.project}, {"use io_uring", "io_uring"}, {"load a program into the kernel", "bpf"}, {"reach the key ring", "keyring"},
		{"make a device", "device", g.path("disk")}, {"change the kernel's settings", "open", "/proc/sys/kernel/core_pattern"},
	} {
		g.native("processes", a[0], stopped, a[1:]...)
	}
}

// A target is a listener that counts who reaches it.
type target struct {
	addr string
	came atomic.Int64
	end  func()
	wait sync.WaitGroup
}

func newTarget(network, addr string) (*target, error) {
	t := &target{}
	if strings.HasPrefix(network, "udp") {
		c, err := net.ListenPacket(network, addr)
		if err != nil {
			return nil, err
		}
		t.addr, t.end = c.LocalAddr().String(), func() { c.Close() }
		t.wait.Go(func() {
			for {
				if _, _, err := c.ReadFrom(make([]byte, 512)); err != nil {
					return
				}
				t.came.Add(1)
			}
		})
		return t, nil
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		return nil, err
	}
	t.addr, t.end = l.Addr().String(), func() { l.Close() }
	t.wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.came.Add(1)
			c.SetDeadline(time.Now().Add(time.Second))
			c.Write([]byte("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"))
			c.Close()
		}
	})
	return t, nil
}

func (t *target) close() {
	t.end()
	t.wait.Wait()
}
