package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = 0xc000003e
	x32Bit    = 0x40000000 // the numbers of a second set of calls, which nobody uses
)

func refusedHere() []uint32 {
	return []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS__SYSCTL, unix.SYS_USELIB, unix.SYS_MODIFY_LDT, unix.SYS_CREATE_MODULE}
}
