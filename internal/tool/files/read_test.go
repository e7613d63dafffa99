package files_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/text/encoding/unicode"

	"gofer/internal/llm"
	"gofer/internal/session/history"
	"gofer/internal/tool/files"
)

func TestReadNumbersLines(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("f", []byte("one\ntwo\r\n\tthree\n"))
	r := d.ok("Read", args{"file_path": "f"})
	if got := r.Text(); got != "1\tone\n2\ttwo\n3\t\tthree\n4\t" {
		t.Errorf("got %q", got)
	}
	data, err := json.Marshal(r.Data)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"text","file":{"filePath":` + quote(d.path("f")) + `,"content":"one\ntwo\n\tthree\n","numLines":4,"startLine":1,"totalLines":4}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	if got := d.ok("Read", args{"file_path": "f", "offset": 2, "limit": 1}).Text(); got != "2\ttwo\n\n[Lines 2 to 2 of 4. To read on: offset=3.]" {
		t.Errorf("got %q", got)
	}
	d.fails("Read", args{"file_path": "f", "offset": 9}, "has 4 lines")
	c, err := d.tools["Read"].Bind("1", []byte(`{"file_path":"sub/x.go"}`))
	if err != nil || c.Title != "Reading sub/x.go" && c.Title != `Reading sub\x.go` || !c.Traits.ReadOnly || !c.Traits.Parallel {
		t.Errorf("%q %+v %v", c.Title, c.Traits, err)
	}
}

func TestReadKeepsToItsBudgetAndSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var b strings.Builder
	for i := 1; i <= 5000; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	d.put("long", []byte(b.String()))
	contains(t, d.ok("Read", args{"file_path": "long"}).Text(), "\n2000\tline 2000\n", "[Lines 1 to 2000 of 5001. To read on: offset=2001.]")
	d.put("wide", []byte(strings.Repeat(strings.Repeat("x", 999)+"\n", 1000)))
	text := d.ok("Read", args{"file_path": "wide"}).Text()
	if len(text) > 101_000 {
		t.Errorf("%d characters", len(text))
	}
	contains(t, text, "of 1001 (as much as fits into one result). To read on: offset=100.")
	d.put("cut", []byte("a\n"+strings.Repeat("é", 5000)+"\nb"))
	contains(t, d.ok("Read", args{"file_path": "cut"}).Text(), "\n2\t"+strings.Repeat("é", 2000)+"… [3000 more characters]\n3\tb", "cut")
}

func TestReadOfAHugeFileStaysSmall(t *testing.T) {
	d := newDesk(t)
	f, err := os.Create(d.path("line"))
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(strings.Repeat("x", 100_000)) // then 100 MB of one line
	size := 100
	if raceEnabled {
		size = 20
	}
	for range size {
		f.Write(bytes.Repeat([]byte("y"), 1<<20))
	}
	f.WriteString("\nlast line\n")
	f.Close()
	stop, peak := make(chan struct{}), make(chan uint64)
	go watchHeap(stop, peak)
	first := d.ok("Read", args{"file_path": "line", "limit": 1}).Text()
	second := d.ok("Read", args{"file_path": "line", "offset": 2}).Text()
	close(stop)
	if most := <-peak; most > 40<<20 {
		t.Errorf("the heap grew to %d MiB", most>>20)
	}
	contains(t, first, "1\txxx", fmt.Sprintf("[%d more characters]", 100_000+size<<20-2000), "offset=2")
	if second != "2\tlast line\n3\t" {
		t.Errorf("got %q", second)
	}
}

func TestReadAgainIsShort(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("f", []byte("one\n"))
	read := args{"file_path": "f"}
	d.ok("Read", read)
	contains(t, d.ok("Read", read).Text(), "unchanged")
	contains(t, d.ok("Read", args{"file_path": "f", "limit": 1}).Text(), "1\tone") // another range
	d.put("f", []byte("two\n"))
	contains(t, d.ok("Read", read).Text(), "1\ttwo")
	d.ok("Edit", args{"file_path": "f", "old_string": "two", "new_string": "three"})
	contains(t, d.ok("Read", read).Text(), "1\tthree")
	contains(t, d.ok("Read", read).Text(), "unchanged")
	d.seen.ForgetShown() // the conversation was compacted
	contains(t, d.ok("Read", read).Text(), "1\tthree")
	d.ok("Edit", args{"file_path": "f", "old_string": "three", "new_string": "four"})
}

func TestSeenSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("a", "1\n")
	d.read("b", "2\n")
	saved, err := json.Marshal(d.seen.Entries())
	if err != nil {
		t.Fatal(err)
	}
	var entries []files.Entry
	if err := json.Unmarshal(saved, &entries); err != nil {
		t.Fatal(err)
	}
	later := deskIn(t, d.dir, files.NewLocks(t.TempDir()), history.Open(t.TempDir(), history.Options{}))
	later.seen.Restore(entries)
	if got := fmt.Sprint(later.seen.Touched()); got != fmt.Sprint([]string{d.path("b"), d.path("a")}) {
		t.Error(got)
	}
	contains(t, later.ok("Read", args{"file_path": "b"}).Text(), "unchanged")
	later.ok("Edit", args{"file_path": "a", "old_string": "1", "new_string": "x"})
	later.put("b", []byte("2 changed\n"))
	later.fails("Edit", args{"file_path": "b", "old_string": "2", "new_string": "x"}, "changed by someone else", "not kept", "1\t2 changed")
}

func TestReadRefusesWhatIsNoText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	os.Mkdir(d.path("folder"), 0o700)
	d.fails("Read", args{"file_path": "folder"}, "folder", "Glob")
	d.fails("Read", args{"file_path": "/dev/zero"}, "device")
	d.fails("Edit", args{"file_path": "/dev/null", "old_string": "a", "new_string": "b"}, "device")
	d.put("program", []byte("\x7fELF\x02\x01\x01\x00\x00\x00"))
	d.fails("Read", args{"file_path": "program"}, "binary", "ELF")
	d.fails("Edit", args{"file_path": "program", "old_string": "E", "new_string": "F"}, "not been read")
	d.put("blob", randomBytes(100_000))
	d.fails("Read", args{"file_path": "blob"}, "binary", "control")
	d.put("empty", nil)
	contains(t, d.ok("Read", args{"file_path": "empty"}).Text(), "is empty")
	d.fails("Read", args{"file_path": ""}, "empty")
	d.fails("Read", args{"file_path": "a\x00b"}, "NUL")
	d.put("text", []byte("x"))
	d.fails("Read", args{"file_path": "text", "pages": "1"}, "not a PDF")
	socket, err := net.Listen("unix", d.path("s"))
	if err != nil {
		t.Skip("no sockets here")
	}
	defer socket.Close()
	d.fails("Read", args{"file_path": "s"}, "socket")
}

func TestReadOfAMissingFileNamesNearOnes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	os.MkdirAll(d.path("src/deep"), 0o700)
	d.put("src/deep/handler.go", []byte("x"))
	d.fails("Read", args{"file_path": "src/deep/handlr.go"}, "does not exist", "Did you mean "+d.path("src/deep/handler.go"))
	d.fails("Read", args{"file_path": "src/deep/handler.ts"}, d.path("src/deep/handler.go"))
	d.fails("Read", args{"file_path": "/elsewhere/project/src/deep/handler.go"}, "Did you mean "+d.path("src/deep/handler.go"))
	d.fails("Read", args{"file_path": "no/such/folder/file"}, "only "+d.dir+" does")
}

func TestReadExpandsTheHomeDirectory(t *testing.T) {
	d := newDesk(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	os.WriteFile(filepath.Join(home, "note"), []byte("at home"), 0o600)
	contains(t, d.ok("Read", args{"file_path": "~/note"}).Text(), "at home")
}

func TestReadDecodes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for name, content := range map[string]string{
		"utf-8":    "é\n",
		"bom":      "\ufeffé\n",
		"latin-1":  "\xe9\n",
		"utf-16le": string(encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "é\r\n")),
		"utf-16be": string(encoded(t, unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "é\n")),
	} {
		d.put(name, []byte(content))
		text := d.ok("Read", args{"file_path": name}).Text()
		if !strings.HasPrefix(text, "1\té\n2\t") {
			t.Errorf("%s: got %q", name, text)
		}
		if hasNote := strings.Contains(text, "not UTF-8"); hasNote != (name != "utf-8" && name != "bom") {
			t.Errorf("%s: %q", name, text)
		}
	}
	d.put("mostly", []byte("日本語日本語\xff x\x00\n"))
	contains(t, d.ok("Read", args{"file_path": "mostly"}).Text(), "日本語日本語\uFFFD x␀")
}

func picture(w, h int, noise bool) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 1))
	for y := range h {
		for x := range w {
			c := color.RGBA{uint8(x), uint8(y), 100, 255}
			if noise {
				c = color.RGBA{uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()), 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func imageOf(t *testing.T, content []llm.Block) (image.Config, *llm.Media, int) {
	t.Helper()
	for _, b := range content {
		if b.Kind == llm.Image {
			raw, err := base64.StdEncoding.DecodeString(b.Media.Data)
			if err != nil {
				t.Fatal(err)
			}
			config, kind, err := image.DecodeConfig(bytes.NewReader(raw))
			if err != nil || "image/"+kind != b.Media.MediaType {
				t.Fatalf("%s is called %s: %v", kind, b.Media.MediaType, err)
			}
			return config, b.Media, len(raw)
		}
	}
	t.Fatal("there is no image")
	return image.Config{}, nil, 0
}

func TestReadShowsImages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var b bytes.Buffer
	png.Encode(&b, picture(40, 30, false))
	d.put("a.png", b.Bytes())
	r := d.ok("Read", args{"file_path": "a.png"})
	if c, m, _ := imageOf(t, r.Content); c.Width != 40 || m.Data != base64.StdEncoding.EncodeToString(b.Bytes()) {
		t.Error("a small image is not sent as it is")
	}
	contains(t, r.Text(), "40×30")
	b.Reset()
	jpeg.Encode(&b, picture(1800, 200, true), nil)
	d.put("noise.jpg", b.Bytes())
	c, m, size := imageOf(t, d.ok("Read", args{"file_path": "noise.jpg"}).Content)
	if c.Width > 1568 || c.Width < 1000 || c.Width/c.Height != 9 || size > 1<<20 || m.MediaType != "image/jpeg" {
		t.Errorf("%d×%d, %d bytes, %s", c.Width, c.Height, size, m.MediaType)
	}
	b.Reset()
	(&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, picture(700, 600, true))
	d.put("noise.png", b.Bytes())
	if _, _, size := imageOf(t, d.ok("Read", args{"file_path": "noise.png"}).Content); size > 1<<20 {
		t.Errorf("%d bytes", size)
	}
	b.Reset()
	bmp.Encode(&b, picture(40, 30, false))
	d.put("a.bmp", b.Bytes())
	if _, m, _ := imageOf(t, d.ok("Read", args{"file_path": "a.bmp"}).Content); m.MediaType != "image/png" {
		t.Error(m.MediaType)
	}
	b.Reset()
	gif.Encode(&b, picture(40, 30, false), nil)
	d.put("wrongly.png", b.Bytes()) // the content decides, not the name
	if _, m, _ := imageOf(t, d.ok("Read", args{"file_path": "wrongly.png"}).Content); m.MediaType != "image/gif" {
		t.Error(m.MediaType)
	}
	png.Encode(&b, picture(40, 30, false))
	d.put("broken.png", append([]byte("\x89PNG\r\n\x1a\n"), randomBytes(100)...))
	d.fails("Read", args{"file_path": "broken.png"}, "damaged")
	bomb := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01\x86\xa0\x00\x01\x86\xa0\x08\x02\x00\x00\x00"), 0x98, 0x4a, 0xf3, 0x2b)
	d.put("bomb.png", bomb)
	d.fails("Read", args{"file_path": "bomb.png"}, "cannot be shown")
}

// pdfOf writes a PDF with the given text on each page.
func pdfOf(pages ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, a ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, a...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<< /Type /Pages /Count %d /Kids [%s] >>", len(pages), kids.String())
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, text := range pages {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i)
		stream := fmt.Sprintf("BT /F1 24 Tf 72 700 Td (%s) Tj ET", text)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, xref)
	return b.Bytes()
}

func TestReadPDF(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	small := pdfOf("Hello", "World")
	d.put("small.pdf", small)
	r := d.ok("Read", args{"file_path": "small.pdf"})
	last := r.Content[len(r.Content)-1]
	if last.Kind != llm.Document || last.Media.MediaType != "application/pdf" || last.Media.Data != base64.StdEncoding.EncodeToString(small) {
		t.Errorf("got %+v", last)
	}
	contains(t, d.ok("Read", args{"file_path": "small.pdf", "pages": "2"}).Text(), "page 2 of 2", "World")

	var many []string
	for i := 1; i <= 40; i++ {
		many = append(many, fmt.Sprintf("This is number %d", i))
	}
	d.put("large.pdf", pdfOf(many...))
	d.fails("Read", args{"file_path": "large.pdf"}, "40 pages", `"1-5"`)
	text := d.ok("Read", args{"file_path": "large.pdf", "pages": "7-9"}).Text()
	contains(t, text, "page 7 of 40", "number 7", "number 9")
	if strings.Contains(text, "number 10") || strings.Contains(text, "number 6") {
		t.Error(text)
	}
	for pages, want := range map[string]string{"0": "range", "x": "range", "5-3": "range", "41": "40 pages only", "1-40": "at most 20"} {
		d.fails("Read", args{"file_path": "large.pdf", "pages": pages}, want)
	}
	d.put("broken.pdf", small[:len(small)/2])
	d.fails("Read", args{"file_path": "broken.pdf"}, "cannot be read")
	r2 := rand.New(rand.NewPCG(3, 3))
	for range 20 { // no broken file brings us down
		bad := bytes.Clone(small)
		for range 10 {
			bad[r2.IntN(len(bad)-10)+9] = byte(r2.Uint32())
		}
		d.put("bad.pdf", bad)
		d.call("Read", args{"file_path": "bad.pdf"})
		d.call("Read", args{"file_path": "bad.pdf", "pages": "1-2"})
	}
}
