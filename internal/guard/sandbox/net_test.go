package sandbox

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A harbour is somewhere that commands may or may not get to. It counts who came.
type harbour struct {
	addr string
	port int
	came atomic.Int64
}

func (h *harbour) String() string { return h.addr }

// tcp opens a web server on loopback.
func tcp(t *testing.T, network, addr string) *harbour {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Skipf("no %s here: %v", network, err)
	}
	h := &harbour{addr: l.Addr().String()}
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		h.port = a.Port
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "reached "+r.URL.Path) }),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				h.came.Add(1)
			}
		},
	}
	var done sync.WaitGroup
	done.Go(func() { server.Serve(l) })
	t.Cleanup(func() { server.Close(); done.Wait() })
	return h
}

// udp counts datagrams.
func udp(t *testing.T, network, addr string) *harbour {
	t.Helper()
	c, err := net.ListenPacket(network, addr)
	if err != nil {
		t.Skipf("no %s here: %v", network, err)
	}
	h := &harbour{addr: c.LocalAddr().String()}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			if _, _, err := c.ReadFrom(make([]byte, 100)); err != nil {
				return
			}
			h.came.Add(1)
		}
	})
	t.Cleanup(func() { c.Close(); done.Wait() })
	return h
}

// attack runs an attack of the test binary's own behind the walls.
func (r *room) attack(args ...string) (string, int) {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	c := r.cmd(append([]string{self, attackArg}, args...)...)
	out, _ := c.CombinedOutput()
	return string(out), c.ProcessState.ExitCode()
}

// wantHeld runs attacks of which none must get through, in one process.
func (r *room) wantHeld(attacks [][]string) {
	r.t.Helper()
	words := []string{"each"}
	for i, a := range attacks {
		if i > 0 {
			words = append(words, "--")
		}
		words = append(words, a...)
	}
	if out, code := r.attack(words...); code != attackHeld || out != "" {
		r.t.Errorf("exit %d: %s", code, out)
	}
}

// netWays are the kernels on which the network is tried.
func netWays(t *testing.T) map[string][]Feature {
	all := map[string][]Feature{"notify": nil, "no landlock": {Landlock}, "landlock": {Notify}}
	for name, without := range all {
		if a := Detect(Policy{Without: without}); name != "landlock" && !a.Notify || a.Landlock < 4 && a.Mounts == "" {
			delete(all, name)
		}
	}
	return all
}

func TestOnlyTheAllowedHostIsReached(t *testing.T) {
	t.Parallel()
	for name, without := range netWays(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allowed, second := tcp(t, "tcp4", "127.0.0.1:0"), tcp(t, "tcp4", "127.0.0.1:0")
			six := tcp(t, "tcp6", "[::1]:0")
			datagrams, sixgrams := udp(t, "udp4", "127.0.0.1:0"), udp(t, "udp6", "[::1]:0")
			var refused atomic.Int64
			r := newRoom(t, func(r *room) {
				r.policy.Without = without
				r.policy.Net = Net{Hosts: []string{allowed.addr}, Refused: func(string, string) { refused.Add(1) }}
			})
			stream, dgram := tcp(t, "unix", filepath.Join(r.project, "s")), udp(t, "unixgram", filepath.Join(r.project, "d"))
			abstract := tcp(t, "unix", fmt.Sprintf("@gofer-test-%d-%s", os.Getpid(), strings.ReplaceAll(name, " ", "")))

			out, code := r.sh("curl -sS -m 5 http://" + allowed.addr + "/a; curl -sS -m 5 -x $ALL_PROXY http://" + allowed.addr + "/b; curl -sS -m 5 -p http://" + allowed.addr + "/c")
			if code != 0 || out != "reached /areached /breached /c" {
				t.Errorf("the allowed host: exit %d, %q", code, out)
			}
			if came := allowed.came.Load(); came != 3 {
				t.Errorf("%d connections came, want 3", came)
			}
			// The proxy refuses what is not listed, and says so.
			out, _ = r.sh("curl -sS -m 5 http://" + second.addr + "; curl -sS -m 5 -x $ALL_PROXY http://" + second.addr + "; curl -sS -m 5 -p http://" + second.addr + "; curl -sS -m 5 http://localhost:" + fmt.Sprint(second.port))
			if !strings.Contains(out, "not among the allowed hosts") || refused.Load() != 4 {
				t.Errorf("%d refusals: %s", refused.Load(), out)
			}
			host, port, _ := net.SplitHostPort(second.addr)
			r.sh(strings.Join([]string{
				"curl -m 3 --noproxy '*' http://" + second.addr, "curl -m 3 --noproxy '*' http://" + six.addr, "curl -m 3 --noproxy '*' --unix-socket s http://x/",
				"env -i /usr/bin/curl -m 3 http://" + second.addr, "env -u HTTP_PROXY -u http_proxy NO_PROXY='*' curl -m 3 http://" + second.addr,
				"echo x > /dev/tcp/" + host + "/" + port, "echo x > /dev/udp/" + strings.Replace(datagrams.addr, ":", "/", 1),
				"python3 -c \"import socket; socket.create_connection(('127.0.0.1', " + port + "), 3).send(b'x')\"",
				"setsid -w sh -c 'curl -m 3 --noproxy \\* http://" + second.addr + "'", "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr=>\"" + second.addr + "\")'",
				// The socket of the proxy's own port on another address.
				"curl -m 3 --noproxy '*' http://127.0.0.2:${HTTP_PROXY##*:}",
			}, "\n") + "\n")
			r.wantHeld([][]string{
				{"connect", "tcp4", second.addr}, {"connect", "tcp6", six.addr}, {"connect", "tcp6", "[::ffff:127.0.0.1]:" + port}, {"connect", "udp4", datagrams.addr}, {"connect", "udp6", sixgrams.addr},
				{"connect", "unix", stream.addr}, {"connect", "unixgram", dgram.addr}, {"connect", "unix", abstract.addr}, {"resolve", datagrams.addr, "secret.example.com"},
				{"fastopen", second.addr}, {"race", fmt.Sprintf("127.0.0.1:%d", r.box.proxy.Port()), second.addr}, {"listen"}, {"autobind"}, {"io_uring"}, {"bpf"},
				{"socket", "2", "1", "262"}, {"socket", "2", "1", "132"}, {"socket", "2", "3", "1"}, {"socket", "2", "2", "17"}, {"socket", "10", "2", "0"}, {"socket", "17", "3", "768"}, {"socket", "16", "3", "0"}, {"socket", "40", "1", "0"}, {"socket", "1", "1", "0"}, {"socket", "38", "5", "0"},
			})
			for what, h := range map[string]*harbour{"tcp": second, "tcp6": six, "udp": datagrams, "udp6": sixgrams, "unix": stream, "unixgram": dgram, "abstract": abstract} {
				if n := h.came.Load(); n != 0 {
					t.Errorf("%s: %d came", what, n)
				}
			}
		})
	}
}

func TestNetworkOff(t *testing.T) {
	t.Parallel()
	second := tcp(t, "tcp4", "127.0.0.1:0")
	r := newRoom(t, nil)
	r.wantState(Enforced)
	out, code := r.sh("curl -sS -m 3 http://" + second.addr)
	if code == 0 || second.came.Load() != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, args := range [][]string{{"connect", "tcp4", second.addr}, {"listen"}, {"socket", "10", "1", "6"}} {
		if out, code := r.attack(args...); code != attackHeld {
			t.Errorf("%v: exit %d, %s", args, code, out)
		}
	}
}

func TestOpenNetwork(t *testing.T) {
	t.Parallel()
	second := tcp(t, "tcp4", "127.0.0.1:0")
	r := newRoom(t, func(r *room) { r.policy.Net.Open = true })
	r.wantState(Enforced)
	if out, code := r.sh("curl -sS -m 3 --noproxy '*' http://" + second.addr + "/x"); code != 0 || out != "reached /x" {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestLocalBinding(t *testing.T) {
	t.Parallel()
	if !Detect(Policy{}).Notify {
		t.Skip("connections cannot be checked one by one here")
	}
	second := tcp(t, "tcp4", "127.0.0.1:0")
	r := newRoom(t, func(r *room) { r.policy.Net.LocalBinding = true })
	r.wantState(Enforced)
	out, code := r.sh("curl -sS -m 3 http://" + second.addr + "/x; curl -sS -m 3 http://localhost:" + fmt.Sprint(second.port) + "/y")
	if code != 0 || out != "reached /xreached /y" {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, code := r.attack("listen"); code != attackThrough {
		t.Errorf("listening: exit %d, %s", code, out)
	}
	// Another machine is not this one. Nothing answers there, but the refusal comes from the walls and at once.
	if out, code := r.attack("connect", "tcp4", "192.0.2.1:80"); code != attackHeld || !strings.Contains(out, "permission denied") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestUnixSockets(t *testing.T) {
	t.Parallel()
	if !Detect(Policy{}).Notify {
		t.Skip("connections cannot be checked one by one here")
	}
	outside := t.TempDir()
	listed, other := tcp(t, "unix", filepath.Join(outside, "l")), tcp(t, "unix", filepath.Join(outside, "o"))
	for name, change := range map[string]func(*Net){
		"listed":             func(n *Net) { n.UnixSockets = []string{listed.addr} },
		"listed, with hosts": func(n *Net) { n.UnixSockets, n.Hosts = []string{listed.addr}, []string{"example.com"} },
		"all":                func(n *Net) { n.AllUnixSockets = true },
		"all, with hosts":    func(n *Net) { n.AllUnixSockets, n.Hosts = true, []string{"example.com"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, func(r *room) { change(&r.policy.Net) })
			r.wantState(Enforced)
			if out, code := r.sh("curl -sS -m 3 --noproxy '*' --unix-socket " + listed.addr + " http://x/y"); code != 0 || out != "reached /y" {
				t.Errorf("the listed socket: exit %d, %s", code, out)
			}
			if out, code := r.sh("ln -s " + listed.addr + " link; curl -sS -m 3 --noproxy '*' --unix-socket link http://x/y"); code != 0 {
				t.Errorf("through a link: exit %d, %s", code, out)
			}
			all := strings.HasPrefix(name, "all")
			if out, code := r.sh("ln -s " + other.addr + " away; curl -sS -m 3 --noproxy '*' --unix-socket away http://x/y"); (code == 0) != all {
				t.Errorf("another socket: exit %d, %s", code, out)
			}
			if out, code := r.attack("connect", "tcp4", "192.0.2.1:80"); code != attackHeld || !strings.Contains(out, "not permitted") && !strings.Contains(out, "denied") {
				t.Errorf("a host: exit %d, %s", code, out)
			}
			if out, code := r.attack("autobind"); code != attackHeld {
				t.Errorf("a port: exit %d, %s", code, out)
			}
			if _, err := exec.LookPath("python3"); err == nil && all {
				if out, code := r.sh(`python3 -c "
import socket
s = socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(1)
c = socket.socket(socket.AF_UNIX); c.connect('own'); print('own')"`); code != 0 || out != "own\n" {
					t.Errorf("its own socket: exit %d, %s", code, out)
				}
			}
		})
	}
}

func TestOtherProcessesAreOutOfReach(t *testing.T) {
	t.Parallel()
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleeper.Process.Kill(); sleeper.Wait() })
	pid := fmt.Sprint(sleeper.Process.Pid)
	r := newRoom(t, nil)
	r.wantState(Enforced)
	r.wantHeld([][]string{
		{"ptrace", pid}, {"signal", pid}, {"memory", pid}, {"read", "/proc/" + pid + "/environ"}, {"read", "/proc/" + pid + "/root/etc/passwd"}, {"namespace"}, {"mount", r.project}, {"keyring"},
		{"device", filepath.Join(r.project, "disk")}, {"open", "/proc/sys/kernel/core_pattern"}, {"open", "/proc/sysrq-trigger"},
	})
	if out, code := r.sh("kill -9 " + pid + "; sleep 100 & kill $!; wait $!; echo $?"); !strings.HasSuffix(out, "143\n") || code != 0 {
		t.Errorf("a command cannot signal its own: exit %d, %s", code, out)
	}
}

// A command may live on after the one that started it, and after the sandbox was closed: it stays inside.
func TestBackgroundStaysInside(t *testing.T) {
	t.Parallel()
	second := tcp(t, "tcp4", "127.0.0.1:0")
	r := newRoom(t, func(r *room) { r.policy.Net.Hosts = []string{"example.com"} })
	rd, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	c := r.cmd("bash", "-c", `setsid -f bash -c 'read -t 20 <go; echo x > $OUT/late; curl -m 3 --noproxy "*" http://`+second.addr+`; echo done >&3' 3>&3 & wait`)
	if err := exec.Command("mkfifo", filepath.Join(r.project, "go")).Run(); err != nil {
		t.Fatal(err)
	}
	c.ExtraFiles = []*os.File{wr}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	wr.Close()
	r.box.Close()
	fifo, err := os.OpenFile(filepath.Join(r.project, "go"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(fifo, "go")
	fifo.Close()
	if text, _ := io.ReadAll(rd); string(text) != "done\n" {
		t.Errorf("the background command said %q", text)
	}
	if exists(filepath.Join(r.outside, "late")) || second.came.Load() != 0 {
		t.Error("it got out")
	}
}
