package page

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

const nonblock = 0

// lockFolder uses a file in the temporary folder: a folder cannot be locked here.
func lockFolder(dir string) Lock {
	sum := sha256.Sum256([]byte(strings.ToLower(dir)))
	return LockFile(filepath.Join(os.TempDir(), "gofer-locks", hex.EncodeToString(sum[:12])))
}

// syncFolder does nothing: a folder cannot be synced here.
func syncFolder(string) {}
