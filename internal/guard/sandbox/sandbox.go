// Package sandbox puts commands behind walls that the kernel holds.
//
// A command and everything it starts may write only below named folders, does not see hidden files, and reaches only listed
// hosts, through a proxy of gofer's own. What the package promises:
//
//   - The walls are up before the command begins, and nothing it starts is outside: not a child, not a daemon, not a new
//     session. They cannot be taken down from inside.
//   - Whatever cannot be built is said (Report) and is closed where that is possible, never left open in silence. A wall that
//     should stand but fails at the last moment stops the command.
//   - Programs inside see ordinary errors: a write outside is "permission denied".
//
// On Linux the program executes itself again as a helper (see IsHelper), which builds the walls around itself and becomes the
// command: Landlock holds writes, seccomp holds sockets and the calls by which walls are taken down, mounts hide and protect
// single files, and a listener of seccomp lets gofer make the connections of the command, so that they lead to the proxy only.
// On macOS the system's own seatbelt does it all. On other systems there are no walls.
//
// A Sandbox may be used by many goroutines at once.
package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gofer/internal/guard/sandbox/proxy"
)

// A Policy says what commands may do. The zero value lets them read, and nothing else.
type Policy struct {
	WriteDirs []string // folders and files that may be written, absolute
	TempDir   string   // a further one, which commands use for temporary files; "" is none
	workDirs  []string // WriteDirs as given, without TempDir: where patterns are looked for
	ReadDeny  []string // what is hidden: absolute paths and patterns, see Pattern
	ReadAllow []string // paths inside hidden folders that are seen after all
	WriteDeny []string // paths inside WriteDirs that stay as they are, absolute
	Net       Net

	Require       bool // New fails when the walls are not complete
	AcceptPartial bool // with Require: incomplete walls are enough

	Bwrap   string    // the bubblewrap program; "" looks for bwrap in PATH
	Without []Feature // act as if the kernel could not do these
	Self    []string  // how this program is executed as a helper; nil is right for gofer
}

// Net is the network that commands see.
type Net struct {
	Open      bool     // everything; there are no walls
	Hosts     []string // what can be reached through the proxy, see proxy.Rule; none: the network is off
	DenyHosts []string // what cannot, whatever Hosts says

	LocalBinding   bool     // commands may listen on ports, and reach those of this machine
	UnixSockets    []string // sockets in the file system that may be connected to
	AllUnixSockets bool

	HTTPPort, SocksPort int // the user's own proxies on loopback, in the place of gofer's

	Refused func(host, why string) // told about every host that was refused; may be nil
}

// filtered reports whether there is a proxy to go through.
func (n *Net) filtered() bool {
	return !n.Open && (len(n.Hosts) > 0 || n.HTTPPort > 0 || n.SocksPort > 0)
}

// State is how good the walls are.
type State string

const (
	Enforced State = "enforced" // everything that the policy says holds
	Partial  State = "partial"  // something is missing, see Report.Missing
	Off      State = "off"      // there are no walls
)

// A Report tells what holds.
type Report struct {
	State   State    `json:"state"`
	By      []string `json:"by"`                // what holds it, such as "Landlock (ABI 7)"
	Missing []string `json:"missing,omitempty"` // what does not hold, or had to be closed altogether
	Fix     []string `json:"fix,omitempty"`     // what to do about it, one line each
	Notes   []string `json:"notes,omitempty"`   // limits that are in the nature of the thing
}

func (r Report) String() string {
	s := string(r.State)
	if len(r.By) > 0 {
		s += " by " + strings.Join(r.By, ", ")
	}
	if len(r.Missing) > 0 {
		s += "; missing: " + strings.Join(r.Missing, "; ")
	}
	return s
}

// A Sandbox puts commands behind the walls of its policy. New makes one.
type Sandbox struct {
	policy  Policy
	able    Abilities
	report  Report
	proxy   *proxy.Proxy // nil: none is needed
	hidden  *finder
	channel *channel // where helpers report; nil: they need not
	absent  []string // protected paths that did not exist at the beginning
	once    sync.Once
}

// ErrUnavailable is returned by New when complete walls are required and cannot be built.
var ErrUnavailable = errors.New("the sandbox is required but cannot be built")

// New looks at what the kernel can do and prepares the walls. Close ends what it started.
func New(p Policy) (*Sandbox, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	p.clean()
	s := &Sandbox{policy: p, hidden: newFinder(p)}
	s.able = detect(p)
	s.absent = s.creatable()
	s.report = s.judge()
	if p.Require && (s.report.State == Off || s.report.State == Partial && !p.AcceptPartial) {
		return nil, fmt.Errorf("%w: %s. %s", ErrUnavailable, strings.Join(s.report.Missing, "; "), strings.Join(s.report.Fix, "; "))
	}
	if s.report.State == Off {
		return s, nil
	}
	if err := s.open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// check refuses what would not mean what it seems to.
func (p *Policy) check() error {
	for _, list := range [][]string{p.WriteDirs, p.ReadAllow, p.WriteDeny, p.Net.UnixSockets, {p.TempDir}} {
		for _, path := range list {
			if path != "" && !filepath.IsAbs(path) {
				return fmt.Errorf("the sandbox needs absolute paths, not %q", path)
			}
		}
	}
	for _, pattern := range p.ReadDeny {
		if !filepath.IsAbs(pattern) && !strings.HasPrefix(pattern, "**/") {
			return fmt.Errorf("the sandbox cannot hide %q: a pattern is absolute or begins with **/", pattern)
		}
	}
	if _, err := proxy.ParseRules(slices.Concat(p.Net.Hosts, p.Net.DenyHosts)); err != nil {
		return fmt.Errorf("sandbox.network: %w", err)
	}
	return nil
}

// clean drops empty and double entries and follows symlinks: the kernel knows files, not their names.
func (p *Policy) clean() {
	p.workDirs = resolveAll(p.WriteDirs)
	if p.TempDir != "" {
		p.WriteDirs = append(slices.Clone(p.WriteDirs), p.TempDir)
	}
	p.WriteDirs = resolveAll(p.WriteDirs)
	p.ReadAllow = resolveAll(p.ReadAllow)
	keep := slices.Clone(p.WriteDeny)
	for _, path := range p.WriteDeny {
		// A link can be replaced, whatever protects what it leads to. So the folder that it is in is kept too.
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			if dir := resolve(filepath.Dir(path)); !slices.Contains(p.WriteDirs, dir) {
				keep = append(keep, dir)
			}
		}
	}
	p.WriteDeny = resolveAll(keep)
	p.Net.UnixSockets = resolveAll(p.Net.UnixSockets)
}

// open starts the proxy.
func (s *Sandbox) open() (err error) {
	n := &s.policy.Net
	if n.filtered() && len(n.Hosts) > 0 && n.HTTPPort == 0 {
		allow, _ := proxy.ParseRules(n.Hosts) // check has read them before
		deny, _ := proxy.ParseRules(n.DenyHosts)
		if s.proxy, err = proxy.Listen(proxy.Options{Allow: allow, Deny: deny, Loopback: n.LocalBinding, Refused: n.Refused}); err != nil {
			return err
		}
	}
	return s.openChannel()
}

// Close ends the proxy. Commands that still run reach nothing from then on.
func (s *Sandbox) Close() {
	s.once.Do(func() {
		if s.proxy != nil {
			s.proxy.Close()
		}
		s.closeChannel()
	})
}

// Report tells what holds.
func (s *Sandbox) Report() Report { return s.report }

// Enforced reports whether all that the policy says holds, so that commands may run without asking.
func (s *Sandbox) Enforced() bool { return s.report.State == Enforced }

// Wrap returns the command line that runs argv behind the walls. Without walls it is argv itself.
func (s *Sandbox) Wrap(argv []string) ([]string, error) {
	if len(argv) == 0 {
		return nil, errors.New("there is no command")
	}
	if s.report.State == Off {
		return argv, nil
	}
	return s.wrap(argv)
}

// ports are where on loopback commands find their proxies.
func (s *Sandbox) ports() (http, socks int) {
	n := &s.policy.Net
	if !n.filtered() {
		return 0, 0
	}
	http, socks = n.HTTPPort, n.SocksPort
	if s.proxy != nil {
		http = s.proxy.Port()
		if socks == 0 {
			socks = http
		}
	}
	return http, socks
}

// Env are the variables that commands need: where the proxy and the temp folder are.
func (s *Sandbox) Env() []string {
	if s.report.State == Off {
		return nil
	}
	env := []string{"GOFER_SANDBOX=1"}
	if s.policy.TempDir != "" {
		env = append(env, "TMPDIR="+s.policy.TempDir)
	}
	if s.policy.Net.Open {
		return env
	}
	http, socks := s.ports()
	set := func(value string, names ...string) {
		for _, n := range names {
			env = append(env, n+"="+value, strings.ToLower(n)+"="+value)
		}
	}
	if http > 0 {
		set(fmt.Sprintf("http://127.0.0.1:%d", http), "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY")
		env = append(env, "NODE_USE_ENV_PROXY=1")
	}
	if socks > 0 {
		set(fmt.Sprintf("socks5h://127.0.0.1:%d", socks), "ALL_PROXY")
	}
	// Whatever the user's own environment says: only the proxy can be reached, and this machine where it is allowed.
	none := ""
	if s.policy.Net.LocalBinding {
		none = "localhost,127.0.0.1,::1"
	}
	set(none, "NO_PROXY")
	return env
}

// mayConnect reports whether a command may connect to an address: that of a proxy, or this machine where it is allowed.
func (s *Sandbox) mayConnect(a netip.AddrPort) bool {
	ip := a.Addr().Unmap()
	if s.policy.Net.LocalBinding && (ip.IsLoopback() || ip.IsUnspecified()) {
		return true
	}
	http, socks := s.ports()
	port := int(a.Port())
	return ip == netip.AddrFrom4([4]byte{127, 0, 0, 1}) && port != 0 && (port == http || port == socks)
}
