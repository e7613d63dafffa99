//go:build !linux

package proc

// HideArgs removes the arguments of this program from the process list, where that is possible.
func HideArgs() {}
