package plugin

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// mostArchive bounds an archive that is fetched.
const mostArchive = 256 << 20

// An unpacker writes the files of an archive below a folder. Names that lead out of it, and links, are refused.
type unpacker struct {
	into  string
	files int
	bytes int64
}

func (u *unpacker) file(name string, executable bool, content io.Reader) error {
	name = filepath.FromSlash(strings.TrimPrefix(name, "./"))
	if !filepath.IsLocal(name) {
		return fmt.Errorf("the archive names %q, which leads out of it", cut(name, 100))
	}
	if u.files++; u.files > mostFiles {
		return fmt.Errorf("the archive has more than %d files", mostFiles)
	}
	target := filepath.Join(u.into, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	mode := os.FileMode(0o600)
	if executable {
		mode = 0o700
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(content, mostBytes-u.bytes+1))
	if u.bytes += n; err == nil && u.bytes > mostBytes {
		err = fmt.Errorf("the archive holds more than %d MB", mostBytes>>20)
	}
	return errors.Join(err, out.Close())
}

// unzip unpacks a .zip.
func unzip(file, into string) error {
	r, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("it is no zip archive: %w", err)
	}
	defer r.Close()
	u := &unpacker{into: into}
	for _, f := range r.File {
		switch mode := f.Mode(); {
		case mode.IsDir():
			continue
		case !mode.IsRegular():
			return fmt.Errorf("the archive holds %q, which is no plain file", cut(f.Name, 100))
		}
		content, err := f.Open()
		if err != nil {
			return err
		}
		err = u.file(f.Name, f.Mode()&0o111 != 0, content)
		content.Close()
		if err != nil {
			return full(err)
		}
	}
	return nil
}

// untar unpacks a .tgz as npm makes it.
func untar(file, into string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	u := &unpacker{into: into}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeReg:
			if err := u.file(h.Name, h.Mode&0o111 != 0, r); err != nil {
				return full(err)
			}
		case tar.TypeDir, tar.TypeXGlobalHeader:
		default:
			return fmt.Errorf("the archive holds %q, which is no plain file", cut(h.Name, 100))
		}
	}
}

// fetchPackage gets a package of npm. None of its scripts runs.
func fetchPackage(ctx context.Context, src Source, into string) error {
	spec := src.Package
	if src.Version != "" {
		spec += "@" + src.Version
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	args := []string{"npm", "pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", into}
	if src.Registry != "" {
		args = append(args, "--registry="+src.Registry)
	}
	if _, err := run(ctx, into, append(args, "--", spec)...); err != nil {
		return err
	}
	packed, err := filepath.Glob(filepath.Join(into, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return fmt.Errorf("npm pack made %d archives of %s", len(packed), spec)
	}
	if err := untar(packed[0], into); err != nil {
		return err
	}
	return os.Remove(packed[0])
}

// FetchArchive unpacks a plugin that comes as a .zip, from an address or a file, into a folder, and returns where in it the plugin lies.
func FetchArchive(ctx context.Context, where, into string) (root string, err error) {
	file := where
	if strings.Contains(where, "://") {
		if !strings.HasPrefix(where, "https://") && !strings.HasPrefix(where, "http://") {
			return "", errors.New("the address must begin with https:// or http://")
		}
		file = filepath.Join(into, "fetched.zip")
		if err := download(ctx, where, nil, file, mostArchive); err != nil {
			return "", err
		}
	}
	root = filepath.Join(into, "plugin")
	if err := os.Mkdir(root, 0o700); err != nil {
		return "", err
	}
	if err := unzip(file, root); err != nil {
		return "", err
	}
	return single(root), nil
}

// single looks through one folder that holds everything, as archives of repositories have it.
func single(root string) string {
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 || !entries[0].IsDir() || entries[0].Name() == ".claude-plugin" {
		return root
	}
	inner := filepath.Join(root, entries[0].Name())
	if isDir(filepath.Join(inner, ".claude-plugin")) {
		return inner
	}
	return root
}
