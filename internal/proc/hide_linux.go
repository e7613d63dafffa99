package proc

import (
	"os"
	"strings"
	"unsafe"
)

// HideArgs removes the arguments of this program from the process list and leaves its name. os.Args keeps them. Prompts are
// arguments, and neither another user nor a command that kills by what it finds in command lines should see them.
// Call it once, at the very start, before anything keeps a part of os.Args.
func HideArgs() {
	for i, arg := range os.Args {
		os.Args[i] = strings.Clone(arg)
		if i > 0 && len(arg) > 0 {
			// The strings of os.Args are the memory that the kernel shows.
			clear(unsafe.Slice(unsafe.StringData(arg), len(arg)))
		}
	}
}
