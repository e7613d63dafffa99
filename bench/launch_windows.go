package main

import (
	"os"
	"os/exec"
)

// ownGroup does nothing here: a program that takes too long is ended by itself.
func ownGroup(*exec.Cmd) {}

// maxRSS is not known here.
func maxRSS(*os.ProcessState) int64 { return 0 }
