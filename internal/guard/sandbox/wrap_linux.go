package sandbox

import "slices"

// wrap puts a helper before the command, and bubblewrap before the helper.
func (s *Sandbox) wrap(argv []string) ([]string, error) {
	p := plan{Landlock: s.able.Landlock, Write: s.policy.WriteDirs, Net: s.netPlan()}
	var err error
	if s.policy.hides() || s.able.Landlock == 0 {
		if p.View, err = s.view(); err != nil {
			return nil, err
		}
		p.Mounts, p.Alone = s.able.Mounts, s.able.Landlock == 0
	}
	var before []string
	if p.Mounts == string(Bwrap) {
		before = bwrapArgs(s.able.Bwrap, p.View, p.Write)
		p.Inner = true
	}
	self, err := s.self()
	if err != nil {
		return nil, err
	}
	words, err := p.encode()
	if err != nil {
		return nil, err
	}
	return slices.Concat(before, self, words, argv), nil
}

// bwrapArgs lets bubblewrap make the view. Whatever it binds has no devices, so that the null device in the place of a file cannot
// be opened at all.
func bwrapArgs(program string, v view, write []string) []string {
	args := []string{program, "--die-with-parent", "--dev-bind", "/", "/"}
	if v.ReadOnly {
		args = []string{program, "--die-with-parent", "--unshare-pid", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"}
		for _, w := range write {
			args = append(args, "--bind-try", w, w)
		}
	}
	for _, p := range v.Pin {
		args = append(args, "--bind", p, p)
	}
	for _, p := range v.Keep {
		args = append(args, "--ro-bind", p, p)
	}
	for _, p := range v.HideFiles {
		args = append(args, "--ro-bind-try", "/dev/null", p)
	}
	for _, p := range v.HideFolders {
		perms := "0000"
		if slices.ContainsFunc(v.Show, func(s string) bool { return within(s, p) }) {
			perms = "0711" // the way to what is shown must be open
		}
		args = append(args, "--perms", perms, "--tmpfs", p)
	}
	for _, p := range v.Show {
		args = append(args, "--bind", p, p)
	}
	for _, p := range v.HideFolders {
		args = append(args, "--remount-ro", p)
	}
	return append(args, "--")
}
