//go:build unix

package prompt

import "golang.org/x/sys/unix"

// OSRelease names the running system, such as "Linux 6.1.0".
func OSRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
