package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"gofer/internal/ui/words"
)

// Every text that a command of the terminal UI says has a Chinese one, and so has the help of every command.
func TestCommandsSpeakChinese(t *testing.T) {
	t.Parallel()
	zh := words.In("zh")
	files, err := filepath.Glob("ui_*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	literal := regexp.MustCompile(`(?:u\.say\(|Help: |Intro: |Empty: )("(?:[^"\\]|\\.)*")`)
	seen := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllSubmatch(data, -1) {
			text, err := strconv.Unquote(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			seen++
			if text != "" && zh.T(text) == text {
				t.Errorf("%s: no Chinese text for %q", file, text)
			}
		}
	}
	if seen < 80 {
		t.Errorf("only %d texts were found", seen)
	}
}
