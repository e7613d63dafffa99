package skill

import (
	"embed"
	"path"
	"strings"
)

//go:embed bundled/*.md
var bundled embed.FS

// BundledSkills are the skills that come with gofer. No file of theirs is on the disk.
func BundledSkills() []*Skill {
	entries, err := bundled.ReadDir("bundled")
	if err != nil {
		panic(err) // it is embedded
	}
	var list []*Skill
	for _, e := range entries {
		data, err := bundled.ReadFile(path.Join("bundled", e.Name()))
		if err != nil {
			panic(err)
		}
		front, body, _, err := splitFront(data)
		if err != nil {
			panic(err)
		}
		s, _, err := parse(front)
		if err != nil {
			panic(err)
		}
		s.Name, s.Origin, s.Size = strings.TrimSuffix(e.Name(), ".md"), Bundled, int64(len(data))
		s.text = body
		list = append(list, s)
	}
	return list
}

// Made is a skill whose text is made by the program.
func Made(s Skill, text string) *Skill {
	s.text, s.Size = text, int64(len(text))
	return &s
}
