// Package outstyle reads output styles: Markdown files that say how replies are to be written.
//
// A file may begin with a front matter: name, description and keep-coding-instructions. Reading runs nothing, files are bounded, and one that
// cannot be read is a problem that does not touch the others.
package outstyle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Style is how replies are to be written.
type Style struct {
	Name        string
	Description string
	Text        string
	KeepCoding  bool   // what gofer says about writing code stays beside it
	Forced      bool   // force-for-plugin: a plugin's style that counts as soon as the plugin does
	File        string // "" for those that come with gofer
}

// A Source is a folder of styles, or one file.
type Source struct {
	Path   string
	Prefix string // of a plugin: its styles are called prefix:name
}

const (
	mostFile  = 256 << 10
	mostFiles = 500 // in one folder
)

// Load reads all sources. Of two styles with one name the later counts.
func Load(sources ...Source) (styles []Style, problems []error) {
	for _, s := range sources {
		files, err := list(s.Path)
		if err != nil {
			problems = append(problems, err)
		}
		for _, file := range files {
			style, err := read(file)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: this output style cannot be used: %w", file, err))
				continue
			}
			if s.Prefix != "" {
				style.Name = s.Prefix + ":" + style.Name
			} else {
				style.Forced = false
			}
			styles = put(styles, style)
		}
	}
	return styles, problems
}

func put(styles []Style, s Style) []Style {
	for i := range styles {
		if strings.EqualFold(styles[i].Name, s.Name) {
			styles[i] = s
			return styles
		}
	}
	return append(styles, s)
}

// list names the files of a source. A folder that is not there has none.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") && !strings.EqualFold(e.Name(), "README.md") {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) > mostFiles {
		return files[:mostFiles], fmt.Errorf("%s has more than %d files; the others were not read", path, mostFiles)
	}
	return files, err
}

func read(file string) (Style, error) {
	s := Style{Name: strings.TrimSuffix(filepath.Base(file), ".md"), File: file}
	info, err := os.Stat(file)
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() {
		return s, errors.New("it is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return s, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	switch {
	case err != nil:
		return s, err
	case len(data) > mostFile:
		return s, fmt.Errorf("it has more than %d KB", mostFile>>10)
	case bytes.IndexByte(data, 0) >= 0:
		return s, errors.New("it is not a text file")
	}
	return s, s.parse(string(data))
}

// parse reads the front matter and the text behind it.
func (s *Style) parse(text string) error {
	text = strings.ReplaceAll(strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\ufffd"), "\r\n", "\n")
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		front, body, ok := strings.Cut("\n"+rest, "\n---")
		if !ok {
			return errors.New("the front matter does not end: a line --- is missing behind it")
		}
		var fields struct {
			Name        string `yaml:"name"`
			Description string `yaml:"description"`
			Keep        bool   `yaml:"keep-coding-instructions"`
			Forced      bool   `yaml:"force-for-plugin"`
		}
		if err := yaml.Unmarshal([]byte(front), &fields); err != nil {
			return fmt.Errorf("the front matter is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if name := strings.TrimSpace(fields.Name); name != "" {
			s.Name = name
		}
		s.Description, s.KeepCoding, s.Forced = strings.TrimSpace(fields.Description), fields.Keep, fields.Forced
		_, text, _ = strings.Cut(body, "\n")
	}
	if s.Text = strings.TrimSpace(text); s.Text == "" {
		return errors.New("it says nothing")
	}
	if strings.ContainsAny(s.Name, "\n\r") || len(s.Name) > 100 {
		return errors.New("its name must be one short line")
	}
	return nil
}
