package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = 0xc00000b7
	x32Bit    = 0
)

func refusedHere() []uint32 { return []uint32{unix.SYS_KEXEC_FILE_LOAD} }
