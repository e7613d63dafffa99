package shellsyntax

import "strings"

// sed reads its script: s///w, w, r and e use files and run commands from inside it.
func (a *analysis) sed(c *Command, sc *scope) {
	args := c.Args[1:]
	var scripts, files []Word
	given, inPlace, bad := false, false, ""
	take := func(i *int) Word {
		if *i+1 < len(args) {
			*i++
			return args[*i]
		}
		return Word{}
	}
	for i := 0; i < len(args); i++ {
		w := args[i]
		p := w.Pattern
		switch {
		case p == "--":
			files = append(files, args[i+1:]...)
			i = len(args)
		case w.maybeFlag() && p[0] != '-':
			bad = "an unknown word may be an option of sed"
			files = append(files, w)
		case p == "-" || !strings.HasPrefix(p, "-"):
			files = append(files, w)
		case p == "-e" || p == "--expression":
			given = true
			scripts = append(scripts, take(&i))
		case strings.HasPrefix(p, "--expression="):
			given = true
			scripts = append(scripts, Word{Pattern: strings.TrimPrefix(p, "--expression=")})
		case p == "-f" || p == "--file" || strings.HasPrefix(p, "--file="):
			given, bad = true, "the script of sed is in a file"
			f := strings.TrimPrefix(p, "--file=")
			if f == p {
				f = take(&i).Pattern
			}
			c.Files = a.file(c.Files, File{Use: Read}, f, sc.dirs)
		case strings.HasPrefix(p, "--i") || strings.HasPrefix(p, "-i") || strings.HasPrefix(p, "-I"):
			inPlace = true
		case p == "-l" || p == "--line-length":
			take(&i)
		case p == "--posix" || p == "--debug" || p == "--sandbox" || p == "--quiet" || p == "--silent" || p == "--regexp-extended" || p == "--separate" || p == "--unbuffered" || p == "--null-data" ||
			strings.HasPrefix(p, "--line-length="):
		case strings.HasPrefix(p, "--"):
			bad = "an option of sed is not known"
		default:
			for j := 1; j < len(p); j++ {
				switch p[j] {
				case 'n', 'E', 'r', 's', 'u', 'z', 'b':
				case 'i', 'I':
					inPlace = true
					j = len(p)
				case 'e':
					given = true
					if j+1 < len(p) {
						scripts = append(scripts, Word{Pattern: p[j+1:]})
					} else {
						scripts = append(scripts, take(&i))
					}
					j = len(p)
				default:
					bad = "an option of sed is not known"
					j = len(p)
				}
			}
		}
	}
	if !given && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, f := range files {
		if f.Pattern == "-" {
			continue
		}
		c.Files = a.file(c.Files, File{Use: Read}, f.Pattern, sc.dirs)
		if inPlace {
			c.Files = a.file(c.Files, File{Use: Write}, f.Pattern, sc.dirs)
		}
	}
	var texts []string
	for _, s := range scripts {
		if strings.ContainsAny(s.Pattern, Wild) {
			bad = "the script of sed is known only when it runs"
		}
		texts = append(texts, s.Pattern)
	}
	c.ReadOnly = !inPlace && bad == ""
	c.Doubt = bad
	if bad == "" {
		a.sedScript(c, strings.Join(texts, "\n"), sc)
	}
	if c.Doubt != "" {
		c.mention(c.Args[1:], nil)
	}
}

// sedScript walks the commands of a script of sed. What it does not understand is in doubt.
func (a *analysis) sedScript(c *Command, s string, sc *scope) {
	fail := func() { c.ReadOnly, c.Doubt = false, "the script of sed is not understood" }
	line := func(i int) (string, int) {
		end := strings.IndexByte(s[i:], '\n')
		if end < 0 {
			return s[i:], len(s)
		}
		return s[i : i+end], i + end + 1
	}
	file := func(use Use, name string) {
		c.Files = a.file(c.Files, File{Use: use, Aside: true}, strings.TrimSpace(name), sc.dirs)
	}
	i := 0
	for i < len(s) {
		if strings.IndexByte(" \t\n;{}", s[i]) >= 0 {
			i++
			continue
		}
		if s[i] == '#' {
			_, i = line(i)
			continue
		}
		var ok bool
		if i, ok = sedAddress(s, i); !ok || i >= len(s) {
			fail()
			return
		}
		cmd := s[i]
		i++
		switch cmd {
		case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		case 'q', 'Q', 'l', 'L':
			for i < len(s) && (s[i] == ' ' || s[i] >= '0' && s[i] <= '9') {
				i++
			}
		case ':', 'b', 't', 'T':
			for i < len(s) && s[i] != '\n' && s[i] != ';' && s[i] != '}' {
				i++
			}
		case 'a', 'i', 'c':
			for {
				var text string
				text, i = line(i)
				if !strings.HasSuffix(text, `\`) || i >= len(s) {
					break
				}
			}
		case 'r', 'R':
			var name string
			name, i = line(i)
			file(Read, name)
		case 'w', 'W':
			var name string
			name, i = line(i)
			file(Write, name)
		case 's', 'y':
			if i, ok = sedSubstitute(s, i); !ok {
				fail()
				return
			}
			for cmd == 's' && i < len(s) && strings.IndexByte("gpiIMmew0123456789", s[i]) >= 0 {
				switch s[i] {
				case 'e':
					c.ReadOnly, c.Doubt = false, "sed runs what it finds"
				case 'w':
					var name string
					name, i = line(i + 1)
					file(Write, name)
					i--
				}
				i++
			}
		default: // e runs a command, and what is unknown may
			c.ReadOnly, c.Doubt = false, "sed may run a command from its script"
			return
		}
	}
}

func sedAddress(s string, i int) (int, bool) {
	for i < len(s) {
		switch ch := s[i]; {
		case ch >= '0' && ch <= '9' || strings.IndexByte("$,~+! \t", ch) >= 0:
			i++
		case ch == '/' || ch == '\\':
			if ch == '\\' {
				if i++; i >= len(s) {
					return i, false
				}
			}
			end, ok := sedUntil(s, i+1, s[i])
			if !ok {
				return i, false
			}
			for i = end; i < len(s) && (s[i] == 'I' || s[i] == 'M'); i++ {
			}
		default:
			return i, true
		}
	}
	return i, true
}

// sedUntil returns the index behind the next delim. Brackets hide a delimiter for some versions of sed and not for
// others, so that such an expression is not understood.
func sedUntil(s string, i int, delim byte) (int, bool) {
	bracket := false
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == delim:
			return i + 1, !bracket
		case s[i] == '[':
			bracket = true
		case s[i] == ']':
			bracket = false
		case s[i] == '\n':
			return i, false
		}
	}
	return i, false
}

func sedSubstitute(s string, i int) (int, bool) {
	if i >= len(s) || s[i] == '\n' || s[i] == '\\' {
		return i, false
	}
	delim := s[i]
	i, ok := sedUntil(s, i+1, delim)
	if !ok {
		return i, false
	}
	for ; i < len(s); i++ { // the replacement knows no brackets, and may have line breaks
		switch s[i] {
		case '\\':
			i++
		case delim:
			return i + 1, true
		}
	}
	return i, false
}
