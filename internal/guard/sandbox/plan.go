package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// Hidden arguments that make the program build walls and become a command, or attack them.
const (
	helperArg = "__sandbox"
	attackArg = "__attack"
)

// IsHelper reports whether args (os.Args) ask the program to be a helper: call Help then, before anything else.
func IsHelper(args []string) bool {
	return len(args) > 2 && (args[1] == helperArg || args[1] == attackArg)
}

// Help is the main function of a helper: it builds the walls around itself and becomes the command. It returns, with an exit
// code, only if that fails, or if it has to wait for the command.
func Help() int {
	if os.Args[1] == attackArg {
		return attack(os.Args[2], os.Args[3:])
	}
	return help(os.Args[2:])
}

// helperFailed is the exit code of a helper that could not build the walls or start the command.
const helperFailed = 126

// A plan is what a helper is told: the walls of one command.
type plan struct {
	Landlock int      `json:"landlock,omitempty"` // the ABI to use
	Mounts   string   `json:"mounts,omitempty"`   // how the view is made; "" is not at all
	Write    []string `json:"write,omitempty"`
	View     view     `json:"view"`
	Net      netPlan  `json:"net"`
	Inner    bool     `json:"inner,omitempty"` // the namespaces are there already
	// Alone keeps the processes outside out of sight by a namespace, where Landlock does not keep them out of reach.
	Alone bool `json:"alone,omitempty"`
}

// netPlan is what sockets may do.
type netPlan struct {
	Open    bool   `json:"open,omitempty"`
	Inet    bool   `json:"inet,omitempty"`  // TCP sockets may be made
	Local   bool   `json:"local,omitempty"` // and may listen
	Unix    string `json:"unix,omitempty"`  // "", "listed" or "all"
	Ports   []int  `json:"ports,omitempty"` // what Landlock lets them connect to
	Notify  bool   `json:"notify,omitempty"`
	Channel string `json:"channel,omitempty"` // where the listener of seccomp is sent
	Token   string `json:"token,omitempty"`
}

const (
	unixListed = "listed"
	unixAll    = "all"
)

// netPlan turns the policy into what the kernel can do. What it cannot do is closed.
func (s *Sandbox) netPlan() netPlan {
	n, a := &s.policy.Net, &s.able
	if n.Open {
		return netPlan{Open: true}
	}
	p := netPlan{Notify: a.Notify && s.needsNotify(), Local: n.LocalBinding && a.Notify}
	p.Inet = p.Local || n.filtered() && (a.Notify || a.Landlock >= 4)
	switch {
	case n.AllUnixSockets:
		p.Unix = unixAll
	case len(n.UnixSockets) > 0 && a.Notify:
		p.Unix = unixListed
	}
	http, socks := s.ports()
	for _, port := range []int{http, socks} {
		if port > 0 {
			p.Ports = append(p.Ports, port)
		}
	}
	if p.Notify && s.channel != nil {
		p.Channel, p.Token = s.channel.name, s.channel.token
	}
	return p
}

// self is how this program is executed as a helper.
func (s *Sandbox) self() ([]string, error) {
	if IsHelper(os.Args) { // or a program that forgot to call Help would start itself without end
		return nil, errors.New("a helper cannot start helpers: main must begin with sandbox.IsHelper")
	}
	if s.policy.Self != nil {
		return s.policy.Self, nil
	}
	// Bubblewrap executes the helper by itself, so that its own executable is another one.
	if runtime.GOOS == "linux" && s.able.Mounts != string(Bwrap) {
		return []string{"/proc/self/exe", helperArg}, nil
	}
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program does not find itself: %w", err)
	}
	return []string{path, helperArg}, nil
}

// maxArg is how long one argument is at the most; the kernel takes 128 KB.
const maxArg = 100_000

// encode puts a plan into arguments: their number, then its parts.
func (p *plan) encode() ([]string, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	text := string(raw)
	var parts []string
	for len(text) > maxArg {
		parts, text = append(parts, text[:maxArg]), text[maxArg:]
	}
	parts = append(parts, text)
	return append([]string{strconv.Itoa(len(parts))}, parts...), nil
}

// decode reads what encode wrote, and returns the command that follows.
func decode(args []string) (p plan, argv []string, err error) {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 || len(args) < n+2 {
		return p, nil, fmt.Errorf("the plan is damaged")
	}
	text := ""
	for _, part := range args[1 : n+1] {
		text += part
	}
	return p, args[n+1:], json.Unmarshal([]byte(text), &p)
}
