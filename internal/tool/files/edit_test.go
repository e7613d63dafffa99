package files_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

func encoded(t *testing.T, e encoding.Encoding, text string) []byte {
	t.Helper()
	b, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// In every encoding, an edit of ASCII text changes these bytes and no other.
func TestEditChangesOnlyTheEditedRange(t *testing.T) {
	t.Parallel()
	utf16le := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	utf16be := unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	const text = "first line\nkey = old value # end\nlast line\n"
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, content := range map[string][]byte{
		"all bytes":        join([]byte("key = old value\n"), allBytes(), []byte("\nend")),
		"all bytes before": join(allBytes(), []byte("\nkey = old value\n")),
		"random":           join(randomBytes(50_000), []byte("\nkey = old value\n"), randomBytes(50_000)),
		"ascii":            []byte(text),
		"utf-8":            []byte("日本語 “é”\n" + text + "ü"),
		"utf-8 bom":        []byte("\ufeff" + text),
		"broken utf-8":     []byte("日本語日本語日本語\n" + text + "\xff\n"),
		"latin-1":          encoded(t, charmap.ISO8859_1, "café à la crème\n"+text+"été"),
		"shift-jis":        encoded(t, japanese.ShiftJIS, "表示ソート\n"+text+"日本語"),
		"gbk":              encoded(t, simplifiedchinese.GBK, "中文文本\n"+text+"汉字"),
		"utf-16le":         encoded(t, utf16le, "日本 ༊ \n"+text),
		"utf-16be":         encoded(t, utf16be, "日本 ༊ \n"+text),
		"crlf":             []byte(strings.ReplaceAll(text, "\n", "\r\n")),
		"mixed ends":       []byte("a\r\nb\nkey = old value\r\nc\rd\n"),
		"no final newline": []byte("a\nkey = old value"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.read("f", string(content))
			d.ok("Edit", args{"file_path": "f", "old_string": "old value", "new_string": "new"})
			old, fresh := []byte("old value"), []byte("new")
			switch name {
			case "utf-16le":
				old, fresh = encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "old value"), encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "new")
			case "utf-16be":
				old, fresh = encoded(t, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "old value"), encoded(t, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "new")
			}
			if bytes.Count(content, old) != 1 {
				t.Fatal("the test itself is wrong")
			}
			d.holds("f", string(bytes.Replace(content, old, fresh, 1)))
			d.clean("f")
		})
	}
}

func randomBytes(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestEditWritesInTheEncodingOfTheFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("latin1", "caf\xe9 cr\xe8me\n")
	d.ok("Edit", args{"file_path": "latin1", "old_string": "café", "new_string": "thé à la"})
	d.holds("latin1", "th\xe9 \xe0 la cr\xe8me\n")
	d.fails("Edit", args{"file_path": "latin1", "old_string": "thé", "new_string": "茶"}, "not UTF-8", "茶", "Nothing was changed")
	d.holds("latin1", "th\xe9 \xe0 la cr\xe8me\n")

	d.read("utf16", string(encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "a\r\nb\r\n")))
	d.ok("Edit", args{"file_path": "utf16", "old_string": "a\nb", "new_string": "a\n𝄞\nb"})
	d.holds("utf16", string(encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "a\r\n𝄞\r\nb\r\n")))

	sjis := encoded(t, japanese.ShiftJIS, "日本語の表示\nabc\n")
	d.read("sjis", string(sjis))
	d.fails("Edit", args{"file_path": "sjis", "old_string": "abc", "new_string": "é"}, "not known how to write")
	d.holds("sjis", string(sjis))
}

// In Shift-JIS the second byte of 表 is a backslash, and that of ア the letter A.
func TestEditDoesNotMatchHalfACharacter(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	sjis := encoded(t, japanese.ShiftJIS, "アイウ表示\nソース\n")
	d.read("f", string(sjis))
	for _, half := range []string{"A", `\`, "C", "["} {
		d.fails("Edit", args{"file_path": "f", "old_string": half, "new_string": "X"}, "does not occur")
	}
	d.holds("f", string(sjis))
}

func TestEditKeepsLineEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ content, old, new, want string }{
		{"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n"},
		{"a\r\nb\r\nc\r\n", "a\r\nb", "a\r\nx\r\nb", "a\r\nx\r\nb\r\nc\r\n"},
		{"a\r\nb\r\nc", "b", "b\ny", "a\r\nb\r\ny\r\nc"},
		{"a\nb\n", "b", "b\r\ny", "a\nb\ny\n"},
		{"a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nb\nC\nd", "a\r\nb\nC\r\nd\n"},
		{"a\r\nb\nc\n", "c", "c\nd", "a\r\nb\nc\nd\n"},
		{"a\r\nb\r\n", "\nb", "", "a\r\n"},
		{"a\r\nb\r\n", "a\n", "", "b\r\n"},
		{"one", "one", "one\ntwo", "one\ntwo"},
		{"\r\na\r\n\r\nb", "\n\n", "\n", "\r\na\r\nb"},
		{"x\na\r\nb\n", "a\nb", "a1\na2\nb", "x\na1\r\na2\r\nb\n"},
	} {
		d := newDesk(t)
		d.read("f", c.content)
		d.ok("Edit", args{"file_path": "f", "old_string": c.old, "new_string": c.new})
		d.holds("f", c.want)
	}
	d := newDesk(t)
	d.read("f", "a\n")
	d.fails("Edit", args{"file_path": "f", "old_string": "a\n", "new_string": "a\r\n"}, "line ends")
}

func TestEditMatchesCurlyQuotesAndKeepsThem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("f", "He said “hello” and it’s fine\n")
	r := d.ok("Edit", args{"file_path": "f", "old_string": `said "hello" and it's`, "new_string": `said "hello" and "bye", it's`})
	d.holds("f", "He said “hello” and “bye”, it’s fine\n")
	contains(t, r.Text(), "curly")

	d.read("both", "x = \"a\"\ny = “a”\n") // the straight one is exact, so it is meant
	d.ok("Edit", args{"file_path": "both", "old_string": `"a"`, "new_string": `"b"`})
	d.holds("both", "x = \"b\"\ny = “a”\n")
}

func TestEditNeedsAUniqueMatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("f", "x\nfoo\ny\nfoo\nfoo bar\n")
	d.fails("Edit", args{"file_path": "f", "old_string": "foo", "new_string": "z"}, "3 times", "lines 2, 4, 5", "replace_all")
	d.holds("f", "x\nfoo\ny\nfoo\nfoo bar\n")
	r := d.ok("Edit", args{"file_path": "f", "old_string": "foo", "new_string": "z", "replace_all": true})
	contains(t, r.Text(), "3 occurrences", "2, 4, 5")
	d.holds("f", "x\nz\ny\nz\nz bar\n")

	d.read("overlap", "aaa") // twice, though only once without overlap
	d.fails("Edit", args{"file_path": "overlap", "old_string": "aa", "new_string": "b"}, "2 times")
	d.read("ends", "a\nb\r\na\r\nb\n") // the model sees twice the same
	d.fails("Edit", args{"file_path": "ends", "old_string": "a\nb", "new_string": "c"}, "2 times", "1, 3")
}

func TestEditExplainsWhatItDidNotFind(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("f", "package a\n\nfunc Hello(name string) error {\n\treturn greet(name)\n}\n")
	d.fails("Edit", args{"file_path": "f", "old_string": "func Hello(nam string) error {", "new_string": "x"}, "does not occur", "3\tfunc Hello(name string) error {")
	d.fails("Edit", args{"file_path": "f", "old_string": "error {\n    return greet(name)\n}", "new_string": "x"}, "white space", "Lines 3 to 5", "4\t\treturn greet(name)")
	d.fails("Edit", args{"file_path": "f", "old_string": "4\t\treturn greet(name)", "new_string": "x"}, "numbers", "leave them out")
	d.fails("Edit", args{"file_path": "f", "old_string": "zzzzzzzzzz", "new_string": "x"}, "No line")
	d.fails("Edit", args{"file_path": "f", "old_string": "a", "new_string": "a"}, "same")
	d.fails("Edit", args{"file_path": "ff", "old_string": "a", "new_string": "b"}, "does not exist", "Did you mean "+d.path("f"))
}

// Whatever a model sends, the file is either exactly what it asked for or unchanged.
func TestMutatedOldStringsNeverWriteWrongly(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("func f(a int) {\n\tx := \"a\"\n\n\tif a > 0 {\n\t\treturn // done  \n\t}\n}\n", 3) +
		"func last(b string) {\n\ty := “b”\r\n\tz := 'c'\n}\n"
	r := rand.New(rand.NewPCG(7, 7))
	d := newDesk(t)
	d.read("f", content)
	changed := 0
	for i := range 200 {
		start := r.IntN(len(content) - 1)
		old := content[start:min(len(content), start+1+r.IntN(60))]
		old = strings.ToValidUTF8(mutate(r, old), "")
		const fresh = "REPLACED"
		_, err := d.call("Edit", args{"file_path": "f", "old_string": old, "new_string": fresh})
		got, _ := os.ReadFile(d.path("f"))
		if err != nil {
			if string(got) != content {
				t.Fatalf("%d: an error, and yet changed by %q", i, old)
			}
			continue
		}
		changed++
		if !exactReplacement(content, string(got), old, fresh) {
			t.Fatalf("%d: old %q made\n%q", i, old, got)
		}
		d.put("f", []byte(content))
		d.call("Read", args{"file_path": "f"})
	}
	if changed == 0 || changed == 200 {
		t.Errorf("%d of 200 were written: the test shows nothing", changed)
	}
}

func mutate(r *rand.Rand, s string) string {
	b := []byte(s)
	at := r.IntN(len(b))
	switch r.IntN(8) {
	case 0:
		return string(append(b[:at:at], b[at+1:]...))
	case 1:
		b[at] ^= 1
		return string(b)
	case 2:
		return strings.ReplaceAll(s, "\t", "    ")
	case 3:
		return strings.TrimSpace(s)
	case 4:
		return strings.ReplaceAll(s, " ", "  ")
	case 5:
		return strings.NewReplacer("“", `"`, "”", `"`).Replace(s)
	case 6:
		return s[:at] + "\n" + s[at:]
	}
	return s
}

// exactReplacement says whether got is content with one occurrence of old replaced, and old the only one that a reader could mean.
func exactReplacement(content, got, old, fresh string) bool {
	straight := strings.NewReplacer("\r\n", "\n", "“", `"`, "”", `"`)
	flat, want := straight.Replace(content), straight.Replace(old)
	if strings.Count(flat, want) != 1 && strings.Count(strings.ReplaceAll(content, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")) != 1 {
		return false
	}
	head, tail, ok := strings.Cut(got, fresh)
	return ok && strings.HasPrefix(content, head) && strings.HasSuffix(content, tail) &&
		straight.Replace(content[len(head):len(content)-len(tail)]) == want
}

func TestEditNeedsTheFileToBeReadAndUnchanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("f", []byte("a\nb\nc\nd\ne\nf\ng\nh\n"))
	edit := args{"file_path": "f", "old_string": "b", "new_string": "B"}
	d.fails("Edit", edit, "has not been read")
	d.ok("Read", args{"file_path": "f"})
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(d.path("f"), later, later); err != nil { // a touch is no change
		t.Fatal(err)
	}
	d.ok("Edit", edit)
	d.put("f", []byte("a\nB\nc\nd\ne\nf\ng\nH\n"))
	edit = args{"file_path": "f", "old_string": "c", "new_string": "C"}
	d.fails("Edit", edit, "changed by someone else", "-h\n+H", "at line 3", "same call again")
	d.holds("f", "a\nB\nc\nd\ne\nf\ng\nH\n")
	d.ok("Edit", edit)
	d.holds("f", "a\nB\nC\nd\ne\nf\ng\nH\n")
	d.put("f", []byte("other\n"))
	d.fails("Edit", edit, "changed by someone else", "+other", "does not occur")
	if err := os.Remove(d.path("f")); err != nil {
		t.Fatal(err)
	}
	d.fails("Edit", edit, "does not exist")
}

func TestAnEmptyOldStringOnlyCreates(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.ok("Edit", args{"file_path": "new/f", "old_string": "", "new_string": "hello\r\n"})
	d.holds("new/f", "hello\r\n")
	d.fails("Edit", args{"file_path": "new/f", "old_string": "", "new_string": "x"}, "not empty")
	d.holds("new/f", "hello\r\n")
	d.put("empty", nil)
	d.ok("Edit", args{"file_path": "empty", "old_string": "", "new_string": "x"})
	d.holds("empty", "x")
	d.ok("Edit", args{"file_path": "empty", "old_string": "x", "new_string": "y"}) // what it wrote, it knows
}

func TestEditFollowsLinksAndKeepsModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are of Unix")
	}
	d := newDesk(t)
	d.put("target", []byte("a\n"))
	os.Chmod(d.path("target"), 0o750)
	os.Symlink("target", d.path("link"))
	d.ok("Read", args{"file_path": "link"})
	d.ok("Edit", args{"file_path": "link", "old_string": "a", "new_string": "b"})
	d.holds("target", "b\n")
	if info, err := os.Lstat(d.path("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if info, err := os.Stat(d.path("target")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	os.Symlink("nowhere", d.path("dangling"))
	d.ok("Write", args{"file_path": "dangling", "content": "x"})
	d.holds("nowhere", "x")

	os.Chmod(d.path("target"), 0o444)
	d.fails("Edit", args{"file_path": "link", "old_string": "b", "new_string": "c"}, "read-only")
	d.holds("target", "b\n")

	d.read("one", "a\n")
	os.Link(d.path("one"), d.path("two"))
	r := d.ok("Edit", args{"file_path": "one", "old_string": "a", "new_string": "b"})
	contains(t, r.Text(), "hard links")
	d.holds("two", "a\n")
}

func TestEditTellsWhatItTouches(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("target", nil)
	os.Symlink("target", d.path("link"))
	c, err := d.tools["Edit"].Bind("1", []byte(`{"file_path":"link","old_string":"a","new_string":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.Access()); got != fmt.Sprintf("[{write %s} {write %s}]", d.path("link"), d.path("target")) {
		t.Error(got)
	}
	if c.Title != "Editing link" || c.Traits.ReadOnly || c.Traits.Parallel {
		t.Errorf("%q %+v", c.Title, c.Traits)
	}
}

func TestEditResultForProgramsAndPeople(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\nten")
	r := d.ok("Edit", args{"file_path": "f.txt", "old_string": "9\nten", "new_string": "9\n9.5\n10"})
	data, err := json.Marshal(r.Data)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"filePath":` + quote(d.path("f.txt")) + `,"oldString":"9\nten","newString":"9\n9.5\n10","originalFile":"1\n2\n3\n4\n5\n6\n7\n8\n9\nten",` +
		`"structuredPatch":[{"oldStart":7,"oldLines":4,"newStart":7,"newLines":5,"lines":[" 7"," 8"," 9","-ten","\\ No newline at end of file","+9.5","+10","\\ No newline at end of file"]}],` +
		`"userModified":false,"replaceAll":false}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	contains(t, r.Text(), "10\t9.5\n11\t10")
	contains(t, r.Display.Diff, "--- f.txt\n+++ f.txt\n@@ -7,4 +7,5 @@\n 7\n", "-ten\n", "+9.5\n+10\n")
	if r.Display.Summary != "Edited f.txt (+2 −1)" {
		t.Error(r.Display.Summary)
	}
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// A gigabyte is edited without taking it into memory. The file is sparse, so the test is quick to set up.
func TestEditOfALargeFileNeedsLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("copies a large file")
	}
	size := int64(300 << 20)
	if raceEnabled {
		size = 24 << 20
	}
	d := newDesk(t)
	f, err := os.Create(d.path("big"))
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("begin é\n")
	f.WriteAt([]byte("\nneedle in a haystack\n"), size-1000)
	f.WriteAt([]byte("end\n"), size-4)
	f.Close()
	_, err = d.call("Read", args{"file_path": "big", "limit": 1})
	if err == nil {
		t.Fatal("a file of NULs is no text")
	}
	stop := make(chan struct{})
	peak := make(chan uint64)
	go watchHeap(stop, peak)
	d.ok("Edit", args{"file_path": "big", "old_string": "needle", "new_string": "pin"})
	close(stop)
	if most := <-peak; most > 60<<20 {
		t.Errorf("the heap grew to %d MiB", most>>20)
	}
	got := make([]byte, 30)
	f, err = os.Open(filepath.Join(d.dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.ReadAt(got, size-1000)
	if !strings.HasPrefix(string(got), "\npin in a haystack\n") {
		t.Errorf("got %q", got)
	}
	if info, _ := f.Stat(); info.Size() != size-3 {
		t.Errorf("size %d", info.Size())
	}
}

func watchHeap(stop chan struct{}, peak chan uint64) {
	var most uint64
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
		select {
		case <-stop:
			peak <- most
			return
		case <-tick.C:
		}
	}
}

// Large files are searched in windows; what lies across their borders is found too, and counted once.
func TestEditFindsWhatLiesAcrossWindows(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcde\n"), 9<<20/16)
	for i := 1; i <= 8; i++ {
		copy(content[i<<20-5+i:], "needle\r\nhay")
	}
	var lines []string
	for i, line := range strings.Split(string(content), "\n") {
		if strings.HasSuffix(line, "needle\r") {
			lines = append(lines, fmt.Sprint(i+1))
		}
	}
	want := strings.ReplaceAll(string(content), "needle\r\nhay", "pin\r\nand\r\nhay")
	for name, encode := range map[string]func(string) []byte{
		"utf-8":  func(s string) []byte { return []byte(s) },
		"utf-16": func(s string) []byte { return encoded(t, unicode.UTF16(unicode.BigEndian, unicode.UseBOM), s) },
	} {
		if raceEnabled && name != "utf-8" {
			continue
		}
		d := newDesk(t)
		d.read("f", string(encode(string(content))))
		d.fails("Edit", args{"file_path": "f", "old_string": "needle\nhay", "new_string": "x"}, "8 times", "lines "+strings.Join(lines, ", ")+".")
		d.ok("Edit", args{"file_path": "f", "old_string": "needle\nhay", "new_string": "pin\nand\nhay", "replace_all": true})
		got, err := os.ReadFile(d.path("f"))
		if err != nil || !bytes.Equal(got, encode(want)) {
			t.Errorf("%s: %v, %d bytes, want %d", name, err, len(got), len(encode(want)))
		}
		if !raceEnabled { // half a million places at once
			d.ok("Edit", args{"file_path": "f", "old_string": "\n", "new_string": "\n\n", "replace_all": true})
		}
	}
}
