package prompt

import "os/exec"

// killTree leaves cmd as it is: git status starts no processes here that would outlive it.
func killTree(*exec.Cmd) {}
