// Package words holds the texts of the terminal UI in other languages.
//
// Texts are written in English where they are used: words.T("Allow once"). Another language is a folder with JSON files, one for
// each part of the UI, from the English text to the other one; they are read when the language is asked for, and never
// otherwise. A text without a translation is shown in English.
package words

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed zh/*.json
var files embed.FS

// Words translates. A nil *Words is English.
type Words struct{ texts map[string]string }

// In gives the words of a language, named as in "zh", "zh_CN.UTF-8" or "chn". All others are English, which is nil.
func In(language string) *Words {
	language = strings.ToLower(language)
	if !strings.HasPrefix(language, "zh") && language != "chn" && language != "chinese" && language != "中文" {
		return nil
	}
	w := &Words{texts: map[string]string{}}
	names, _ := fs.Glob(files, "zh/*.json")
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(data, &w.texts) // adds to what is there
		}
		if err != nil {
			panic(fmt.Sprintf("words: %s: %v", name, err)) // the files are part of the binary; a test reads them all
		}
	}
	return w
}

// T is the text in the language of the words.
func (w *Words) T(english string) string {
	if w == nil {
		return english
	}
	if text, ok := w.texts[english]; ok {
		return text
	}
	return english
}

// F formats a text, which is translated before its values are put in.
func (w *Words) F(english string, values ...any) string { return fmt.Sprintf(w.T(english), values...) }
