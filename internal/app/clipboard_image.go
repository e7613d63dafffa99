package app

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"gofer/internal/llm"
	"gofer/internal/tool/picture"
)

// pictures gives the prompt box the image of the clipboard, and images from files. It asks the programs that the system has for it.
type pictures struct{ world World }

// clipboardWait is how long a program of the clipboard may take.
const clipboardWait = 5 * time.Second

// Clipboard reads the image of the clipboard.
func (p pictures) Clipboard(ctx context.Context) (llm.Block, error) {
	ctx, cancel := context.WithTimeout(ctx, clipboardWait)
	defer cancel()
	readers := imageReaders(p.world)
	found := false
	for _, r := range readers {
		program, err := exec.LookPath(r.argv[0])
		if err != nil {
			continue
		}
		found = true
		if data, err := r.read(ctx, program); err == nil && picture.Kind(data) != "" {
			return prepared(data)
		}
	}
	if !found {
		return llm.Block{}, fmt.Errorf("no program here reads images from the clipboard; %s", readerHint())
	}
	return llm.Block{}, errors.New("there is no image in the clipboard")
}

// File reads an image file.
func (p pictures) File(_ context.Context, path string) (llm.Block, error) {
	info, err := os.Stat(path)
	if err != nil {
		return llm.Block{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > picture.Largest {
		return llm.Block{}, fmt.Errorf("%s is no image that can be sent", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return llm.Block{}, err
	}
	if picture.Kind(data) == "" {
		return llm.Block{}, fmt.Errorf("%s is no image", path)
	}
	return prepared(data)
}

func prepared(data []byte) (llm.Block, error) {
	ready, err := picture.Prepare(data)
	if err != nil {
		return llm.Block{}, fmt.Errorf("the image cannot be sent: %w", err)
	}
	return ready.Block(), nil
}

// An imageReader is a program that writes the image of the clipboard to its standard output.
type imageReader struct {
	argv   []string
	base64 bool // as text
}

// imageReaders are the programs to try, as far as the surroundings tell.
func imageReaders(w World) []imageReader {
	const powershell = "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $i=[System.Windows.Forms.Clipboard]::GetImage(); if($i -eq $null){exit 1}; " +
		"$m=New-Object System.IO.MemoryStream; $i.Save($m,[System.Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray())"
	windows := imageReader{argv: []string{"powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command", powershell}, base64: true}
	switch {
	case runtime.GOOS == "windows":
		return []imageReader{windows}
	case runtime.GOOS == "darwin":
		const script = `try
set f to (system attribute "GOFER_CLIPBOARD")
set d to the clipboard as «class PNGf»
set h to open for access POSIX file f with write permission
write d to h
close access h
end try`
		return []imageReader{{argv: []string{"pngpaste", "-"}}, {argv: []string{"osascript", "-e", script}}}
	}
	var list []imageReader
	if w.Env("WAYLAND_DISPLAY") != "" {
		list = append(list, imageReader{argv: []string{"wl-paste", "--no-newline", "--type", "image/png"}})
	}
	if w.Env("DISPLAY") != "" {
		list = append(list, imageReader{argv: []string{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"}})
	}
	if w.Env("WSL_DISTRO_NAME") != "" {
		list = append(list, windows)
	}
	return list
}

func readerHint() string {
	switch runtime.GOOS {
	case "darwin":
		return "install pngpaste"
	case "windows":
		return "PowerShell is needed for it"
	}
	return "install wl-clipboard (Wayland) or xclip (X11), or give the path of an image file"
}

// read runs the program. AppleScript writes to a file, since it has no other way for bytes.
func (r imageReader) read(ctx context.Context, program string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, r.argv[1:]...)
	cmd.WaitDelay = time.Second
	if r.argv[0] == "osascript" {
		return readByFile(cmd)
	}
	var out bytes.Buffer
	cmd.Stdout = &limited{w: &out, left: picture.Largest}
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	if r.base64 {
		return base64.StdEncoding.DecodeString(strings.TrimSpace(out.String()))
	}
	return out.Bytes(), nil
}

func readByFile(cmd *exec.Cmd) ([]byte, error) {
	f, err := os.CreateTemp("", "gofer-clipboard-*.png")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	cmd.Env = append(os.Environ(), "GOFER_CLIPBOARD="+f.Name())
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, picture.Largest))
}

// limited is a writer that refuses what is too much.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errors.New("the image is too large")
	}
	l.left -= len(p)
	return l.w.Write(p)
}
