package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockABI is the version of Landlock that the kernel has; 0: none.
func landlockABI() int {
	v, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if no != 0 {
		return 0
	}
	return int(v)
}

const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	fileRights  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	makeDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	writeRights = fileRights | makeDevices | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	netRights = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
)

// ruleset is a set of Landlock rules that is being made.
type ruleset struct {
	fd      int
	handled uint64
}

// restrict puts the calling thread behind Landlock for good.
func (p *plan) restrict() error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: writeRights}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if p.Landlock < 3 {
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if p.Landlock < 2 {
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	// Hidden files are the business of mounts where there are any.
	hides := p.Mounts == "" && len(p.View.HideFiles)+len(p.View.HideFolders) > 0
	if hides {
		attr.Handled_access_fs |= readRights
	}
	if p.Landlock >= 4 {
		size = unsafe.Offsetof(attr.Scoped)
		if !p.Net.Open && !p.Net.Local {
			attr.Handled_access_net = netRights
		}
	}
	if p.Landlock >= 6 {
		size = unsafe.Offsetof(attr.Quiet_access_fs)
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !p.Net.Open && p.Net.Unix != unixAll {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	fd, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if no != 0 {
		return fmt.Errorf("making Landlock rules: %w", no)
	}
	rules := &ruleset{int(fd), attr.Handled_access_fs}
	defer unix.Close(rules.fd)
	if err := p.landlockRules(rules, attr.Handled_access_net != 0, hides); err != nil {
		return err
	}
	if _, _, no := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); no != 0 {
		return fmt.Errorf("turning Landlock on: %w", no)
	}
	return nil
}

func (p *plan) landlockRules(rules *ruleset, net, hides bool) error {
	for _, w := range p.Write {
		if err := rules.path(w, writeRights&^makeDevices); err != nil {
			return err
		}
	}
	for _, dev := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm"} {
		if err := rules.path("/dev/"+dev, writeRights&^makeDevices); err != nil {
			return err
		}
	}
	if hides {
		hidden := slices.Concat(p.View.HideFiles, p.View.HideFolders)
		if err := rules.allBut("/", hidden, p.View.Show); err != nil {
			return err
		}
	}
	if net {
		for _, port := range p.Net.Ports {
			rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
			if _, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules.fd), 2, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); no != 0 {
				return fmt.Errorf("allowing port %d: %w", port, no)
			}
		}
	}
	return nil
}

// path allows rights on a file, or a folder and what is below it. What does not exist needs no rule.
func (r *ruleset) path(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening %s for a Landlock rule: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights | readRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	if rule.Allowed_access == 0 {
		return nil
	}
	if _, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); no != 0 {
		return fmt.Errorf("allowing %s: %w", path, no)
	}
	return nil
}

// allBut lets everything below dir be read but what is hidden. Landlock can only allow, so folders on the way to something
// hidden are allowed entry by entry.
func (r *ruleset) allBut(dir string, hidden, show []string) error {
	inside := slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return !within(h, dir) })
	if len(inside) == 0 {
		return r.path(dir, readRights)
	}
	if slices.Contains(inside, dir) {
		for _, s := range show {
			if within(s, dir) {
				if err := r.path(s, readRights); err != nil {
					return err
				}
			}
		}
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the command cannot read it either
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			continue // what it leads to has a rule of its own
		}
		if err := r.allBut(filepath.Join(dir, e.Name()), inside, show); err != nil {
			return err
		}
	}
	return nil
}
