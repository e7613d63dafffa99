package sandbox

import (
	"fmt"
	"slices"
)

// A Feature is something that a kernel may or may not be able to do, or may not let us do.
type Feature string

const (
	Landlock Feature = "landlock" // writes held to folders
	Seccomp  Feature = "seccomp"  // system calls refused
	Notify   Feature = "notify"   // connections made by gofer in the place of the command
	Mounts   Feature = "mounts"   // a view of the file system of its own, made with root's rights
	Bwrap    Feature = "bwrap"    // the same by bubblewrap
	UserNS   Feature = "userns"   // the same by a user namespace
	Seatbelt Feature = "seatbelt" // macOS
)

// Abilities are what the kernel can do for a policy, as tried out.
type Abilities struct {
	Landlock int    `json:"landlock"` // the ABI; 0: none
	Seccomp  bool   `json:"seccomp"`
	Notify   bool   `json:"notify"`
	Mounts   string `json:"mounts"` // how a view of the file system is made: root, bwrap, userns, or ""
	Bwrap    string `json:"bwrap,omitempty"`
	Seatbelt bool   `json:"seatbelt,omitempty"`
	// Why says of what is missing why it is.
	Why map[Feature]string `json:"why,omitempty"`
}

func (a *Abilities) lack(f Feature, why string) {
	if a.Why == nil {
		a.Why = map[Feature]string{}
	}
	a.Why[f] = why
}

// has reports whether a feature may be tried.
func (p *Policy) has(f Feature) bool { return !slices.Contains(p.Without, f) }

// hides reports whether the policy needs a view of the file system of its own.
func (p *Policy) hides() bool { return len(p.ReadDeny) > 0 || len(p.WriteDeny) > 0 }

// judge compares what the policy asks for with what can be had.
func (s *Sandbox) judge() Report {
	p, a := &s.policy, &s.able
	r := Report{State: Enforced, By: []string{}}
	miss := func(what string, fix string) {
		r.State = Partial
		r.Missing = append(r.Missing, what)
		if fix != "" && !slices.Contains(r.Fix, fix) {
			r.Fix = append(r.Fix, fix)
		}
	}
	if a.Seatbelt {
		r.By = append(r.By, "seatbelt")
		return r
	}
	if a.Landlock == 0 && a.Mounts == "" || !a.Seccomp {
		r.State = Off
		for _, f := range []Feature{Landlock, Seccomp, Mounts} {
			if why := a.Why[f]; why != "" {
				r.Missing = append(r.Missing, why)
			}
		}
		r.Fix = append(r.Fix, fixOff())
		return r
	}
	if a.Landlock > 0 {
		r.By = append(r.By, fmt.Sprintf("Landlock (ABI %d)", a.Landlock))
	}
	r.By = append(r.By, "seccomp")
	if a.Mounts != "" && (p.hides() || a.Landlock == 0) {
		r.By = append(r.By, mountsName(a.Mounts))
	}
	s.judgeFiles(miss)
	s.judgeNet(&r, miss)
	if open := s.absent; len(open) > 0 {
		r.Notes = append(r.Notes, "these do not exist and can be created: "+list(open))
	}
	if slices.ContainsFunc(p.ReadDeny, isWild) {
		r.Notes = append(r.Notes, "a file that comes to fit a hidden pattern while a command runs is hidden from the next command on")
	}
	return r
}

func mountsName(maker string) string {
	switch maker {
	case string(Bwrap):
		return "mounts (bubblewrap)"
	case string(UserNS):
		return "mounts (user namespace)"
	}
	return "mounts"
}

const (
	fixKernel = "use Linux 6.12 or newer with Landlock in its list of security modules (boot option lsm=landlock,…)"
	fixMounts = "install bubblewrap, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)"
)

func fixOff() string {
	return "use Linux 5.13 or newer with Landlock (boot option lsm=landlock,…) and seccomp, or install bubblewrap"
}

func (s *Sandbox) judgeFiles(miss func(what, fix string)) {
	p, a := &s.policy, &s.able
	switch {
	case a.Landlock == 0 && a.Mounts == string(Mounts):
		miss("processes outside can be signalled, and what other commands see can be seen through them, because there is no Landlock", fixKernel)
	case a.Landlock == 0: // they are out of sight
	case a.Landlock < 3 && a.Mounts == "":
		miss("files outside can be cut to length 0, because Landlock is older than Linux 6.2", fixKernel)
	case a.Landlock < 6:
		miss("processes outside can be signalled, because Landlock is older than Linux 6.12", fixKernel)
	}
	if a.Mounts != "" {
		return
	}
	if len(p.WriteDeny) > 0 {
		miss(fmt.Sprintf("protected files inside the writable folders (%s) can be changed: %s", list(p.WriteDeny), a.Why[Mounts]), fixMounts)
	}
	if len(p.ReadDeny) > 0 {
		miss("a command cannot read files that it creates itself beside a hidden one: "+a.Why[Mounts], fixMounts)
	}
}

func (s *Sandbox) judgeNet(r *Report, miss func(what, fix string)) {
	n, a := &s.policy.Net, &s.able
	if n.Open || a.Notify {
		if a.Notify && s.needsNotify() {
			r.By = append(r.By, "checked connections")
		}
		return
	}
	why := a.Why[Notify]
	switch {
	case n.filtered() && a.Landlock >= 4:
		miss("other hosts can be reached on the port of the proxy: "+why, "")
	case n.filtered():
		miss("the allowed hosts are closed too, the network is off: "+why, fixKernel)
	}
	if n.LocalBinding {
		miss("ports of this machine are closed: "+why, "")
	}
	if len(n.UnixSockets) > 0 && !n.AllUnixSockets {
		miss("all unix sockets are closed: "+why, "")
	}
}

// needsNotify reports whether connections have to be looked at one by one.
func (s *Sandbox) needsNotify() bool {
	n := &s.policy.Net
	return !n.Open && (n.filtered() || n.LocalBinding || len(n.UnixSockets) > 0 && !n.AllUnixSockets)
}

func list(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
	}
	text := ""
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}
