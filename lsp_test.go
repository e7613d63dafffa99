package gofer_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// goplsDir is the folder of the language server that test/tools.sh installs. Stories that need it put it into PATH, so that it does not
// start in the others.
var goplsDir = sync.OnceValue(func() string {
	if path, err := exec.LookPath("gopls"); err == nil {
		return filepath.Dir(path)
	}
	out, _ := exec.Command("go", "env", "GOPATH").Output()
	return filepath.Join(strings.TrimSpace(string(out)), "bin")
})
