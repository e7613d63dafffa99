package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// build makes the view in the mount namespace of the calling thread, which must be its own.
func (v *view) build(write []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	shown, err := v.holdShown()
	if err != nil {
		return err
	}
	if v.ReadOnly {
		if err := onlyWritable(write); err != nil {
			return err
		}
	}
	for _, p := range v.Pin {
		if err := bindSelf(p); err != nil {
			return err
		}
	}
	for _, p := range v.Keep {
		if err := bindSelf(p); err != nil {
			return err
		}
		if err := setFlags(p, unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY, 0); err != nil {
			return fmt.Errorf("protecting %s: %w", p, err)
		}
	}
	for _, p := range v.HideFiles {
		if err := hideFile(p); err != nil {
			return err
		}
	}
	for _, p := range v.HideFolders {
		if err := hideFolder(p, shown); err != nil {
			return err
		}
	}
	for _, tree := range shown {
		unix.Close(tree)
	}
	// Shared memory is a temp folder too, and need not be shared with others.
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil && !gone(err) {
		return fmt.Errorf("making /dev/shm: %w", err)
	}
	return backToDir()
}

// backToDir enters the working directory anew, because a mount may lie over it now.
func backToDir() error {
	dir, err := unix.Getwd()
	if err != nil || !filepath.IsAbs(dir) {
		return nil // it was removed: the shell will say so
	}
	if err := unix.Chdir(dir); err != nil && !gone(err) && err != unix.EACCES {
		return fmt.Errorf("entering %s: %w", dir, err)
	}
	return nil
}

func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

func bindSelf(path string) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("protecting %s: %w", path, err)
	}
	return nil
}

func setFlags(path string, how uint, set, clear uint64) error {
	return unix.MountSetattr(unix.AT_FDCWD, path, how, &unix.MountAttr{Attr_set: set, Attr_clr: clear})
}

// onlyWritable makes everything read-only but some folders.
func onlyWritable(write []string) error {
	var there []string
	for _, w := range append(write, "/dev/shm") {
		if err := unix.Mount(w, w, "", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			there = append(there, w)
		} else if !gone(err) {
			return fmt.Errorf("keeping %s writable: %w", w, err)
		}
	}
	if err := setFlags("/", unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY, 0); err != nil {
		return fmt.Errorf("making the file system read-only: %w", err)
	}
	for _, w := range there {
		if err := setFlags(w, unix.AT_RECURSIVE, 0, unix.MOUNT_ATTR_RDONLY); err != nil {
			return fmt.Errorf("keeping %s writable: %w", w, err)
		}
	}
	return nil
}

// hideFile lays the null device over a file, on a mount that has no devices: whoever opens it is denied, root too.
func hideFile(path string) error {
	err := unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
	if gone(err) {
		return nil // it was removed in the meantime
	}
	if err == nil {
		err = setFlags(path, 0, unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC, 0)
	}
	if err != nil {
		return fmt.Errorf("hiding %s: %w", path, err)
	}
	return nil
}

// holdShown takes hold of what lies in hidden folders and is to be seen all the same.
func (v *view) holdShown() (map[string]int, error) {
	held := map[string]int{}
	for _, p := range v.Show {
		fd, err := unix.OpenTree(unix.AT_FDCWD, p, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("showing %s: %w", p, err)
		}
		held[p] = fd
	}
	return held, nil
}

// hideFolder lays an empty folder over a folder, and what is shown into that.
func hideFolder(path string, shown map[string]int) error {
	err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0000,size=1m")
	if gone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hiding %s: %w", path, err)
	}
	for p, tree := range shown {
		if !within(p, path) {
			continue
		}
		if err := attach(path, p, tree); err != nil {
			return fmt.Errorf("showing %s: %w", p, err)
		}
	}
	if err := setFlags(path, 0, unix.MOUNT_ATTR_RDONLY, 0); err != nil {
		return fmt.Errorf("hiding %s: %w", path, err)
	}
	return nil
}

// attach mounts a held tree at its old place, where only an empty folder is now.
func attach(folder, path string, tree int) error {
	if err := os.Chmod(folder, 0o711); err != nil { // the way must be open; what is there can still not be listed
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
	} else if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// hideDisks hides the disks themselves: root could read from them whatever is hidden.
func hideDisks() error {
	for _, dir := range []string{"/dev", "/dev/mapper"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if t := e.Type(); t&os.ModeDevice == 0 || t&os.ModeCharDevice != 0 {
				continue
			}
			if err := hideFile(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
