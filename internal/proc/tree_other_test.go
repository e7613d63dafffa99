//go:build unix && !linux

package proc

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"
)

func victim() {}

func newToken() string { return fmt.Sprintf("1000.%012d", rand.Int64N(1e12)) }

func mustVanish(t *testing.T, token string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if exec.Command("pgrep", "-f", "sleep "+token).Run() != nil {
			return
		}
	}
	t.Errorf("still alive: %s", token)
}
