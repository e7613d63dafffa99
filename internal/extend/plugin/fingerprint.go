package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of a folder whose every byte is looked at.
const (
	mostHashedFiles = 5_000
	mostHashedBytes = 64 << 20
)

// fingerprint is the hash of all files of a folder, with their names and whether they can be run. The .git folder does not count.
func fingerprint(root string) ([]byte, error) {
	whole, files, size := sha256.New(), 0, int64(0)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir() && e.Name() == ".git" && rel != ".":
			return fs.SkipDir
		case e.IsDir() || rel == orphanMark:
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			fmt.Fprintf(whole, "link %q %q\n", rel, target)
			return err
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if files, size = files+1, size+info.Size(); files > mostHashedFiles || size > mostHashedBytes {
			return errLarge(root, files, size)
		}
		sum, err := hashFile(path)
		fmt.Fprintf(whole, "file %q %v %s\n", rel, info.Mode()&0o111 != 0, sum)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []byte(hex.EncodeToString(whole.Sum(nil))), nil
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
