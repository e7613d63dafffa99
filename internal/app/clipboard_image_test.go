package app

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gofer/internal/llm"
)

func pngFile(t *testing.T, dir string) (path string, data []byte) {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "shot.png")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, out.Bytes()
}

// The clipboard is read by the program that the system has for it: here one of that name that gives a picture.
func TestImageOfTheClipboard(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs are those of Linux")
	}
	dir := t.TempDir()
	path, data := pngFile(t, dir)
	program := "#!/bin/sh\n[ \"$4\" = image/png ] && exec cat '" + path + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "xclip"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	env := func(name string) string { return map[string]string{"DISPLAY": ":0"}[name] }
	block, err := pictures{World{Env: env}}.Clipboard(t.Context())
	if err != nil || block.Kind != llm.Image || block.Media.Data != base64.StdEncoding.EncodeToString(data) {
		t.Errorf("%+v %v", block, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "xclip"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := (pictures{World{Env: env}}).Clipboard(t.Context()); err == nil || !strings.Contains(err.Error(), "no image in the clipboard") {
		t.Errorf("an empty clipboard: %v", err)
	}
	if _, err := (pictures{World{Env: func(string) string { return "" }}}).Clipboard(t.Context()); err == nil || !strings.Contains(err.Error(), "install") {
		t.Errorf("no program: %v", err)
	}
}

func TestImageFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, _ := pngFile(t, dir)
	if block, err := (pictures{}).File(t.Context(), path); err != nil || block.Media.MediaType != "image/png" {
		t.Errorf("%+v %v", block, err)
	}
	text := filepath.Join(dir, "text.png")
	if err := os.WriteFile(text, []byte("no image"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{text, dir, filepath.Join(dir, "none.png")} {
		if _, err := (pictures{}).File(t.Context(), bad); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
