package highlight

import "strings"

// readCSS keeps one bit for an open comment.
func readCSS(line string, state State) ([]Span, State) {
	var found []Span
	i := 0
	if state == 1 {
		end := strings.Index(line, "*/")
		if end < 0 {
			return spans(Span{0, len(line), Comment}), 1
		}
		i = end + 2
		found = append(found, Span{0, i, Comment})
	}
	declares := strings.Contains(line, ":") && (strings.HasSuffix(strings.TrimRight(line, " "), ";") || strings.HasPrefix(line, " ")) && !strings.HasSuffix(strings.TrimRight(line, " "), "{")
	value := false
	for i < len(line) {
		switch c := line[i]; {
		case strings.HasPrefix(line[i:], "/*"):
			end := strings.Index(line[i:], "*/")
			if end < 0 {
				return append(found, Span{i, len(line), Comment}), 1
			}
			found = append(found, Span{i, i + end + 2, Comment})
			i += end + 2
		case strings.HasPrefix(line[i:], "//") && (i == 0 || line[i-1] == ' '):
			return append(found, Span{i, len(line), Comment}), 0
		case c == '"' || c == '\'':
			end := quotedEnd(line, i)
			found = append(found, Span{i, end, String})
			i = end
		case c == '{':
			value, declares = false, true
			i++
		case c == ';' || c == '}':
			value = false
			i++
		case c == ':':
			value = declares
			i++
		case isASCIILetter(c) || isDigit(c) || strings.IndexByte("-_.#@$%", c) >= 0:
			end := i + 1
			for end < len(line) && (isASCIILetter(line[end]) || isDigit(line[end]) || strings.IndexByte("-_%.", line[end]) >= 0) {
				end++
			}
			if kind := cssWord(line[i:end], value, declares); kind != Plain {
				found = append(found, Span{i, end, kind})
			}
			i = end
		default:
			i++
		}
	}
	return found, 0
}

func cssWord(word string, value, declares bool) Kind {
	digits := strings.TrimLeft(word, "-.")
	switch {
	case word[0] == '@':
		return Keyword
	case word[0] == '$' || strings.HasPrefix(word, "--"):
		return Type
	case value && (digits != "" && isDigit(digits[0]) || word[0] == '#'):
		return Number
	case value:
		return Plain
	case declares:
		return Type
	}
	return Function // a selector
}

// markup reads HTML and XML. The text of script and style elements is read by the languages they are written in.
type markup struct {
	script, style func(string, State) ([]Span, State)
}

// What a line of markup can leave open; the state of the language inside stands above.
const (
	inText State = iota
	inComment
	inTag
	inScript
	inStyle
	innerShift = 4
)

func (m markup) read(line string, state State) ([]Span, State) {
	var found []Span
	i, mode, inner := 0, state&(1<<innerShift-1), state>>innerShift
	for i < len(line) {
		switch mode {
		case inComment:
			end := len(line)
			if at := strings.Index(line[i:], "-->"); at >= 0 {
				end, mode = i+at+3, inText
			}
			found = append(found, Span{i, end, Comment})
			i = end
		case inTag:
			found, i, mode = attributes(found, line, i)
		case inScript, inStyle:
			read, closing := m.script, "</script"
			if mode == inStyle {
				read, closing = m.style, "</style"
			}
			end := strings.Index(strings.ToLower(line[i:]), closing)
			if end < 0 {
				more, next := read(line[i:], inner)
				return shifted(found, more, i), mode | next<<innerShift
			}
			more, _ := read(line[i:i+end], inner)
			found = shifted(found, more, i)
			i, mode, inner = i+end, inText, 0
		default:
			at := strings.IndexByte(line[i:], '<')
			if at < 0 {
				return found, inText
			}
			i += at
			if strings.HasPrefix(line[i:], "<!--") {
				mode = inComment
				continue
			}
			end := i + 1
			for end < len(line) && (isASCIILetter(line[end]) || isDigit(line[end]) || strings.IndexByte("/-:!?._", line[end]) >= 0) {
				end++
			}
			if end == i+1 {
				i = end
				continue
			}
			found = append(found, Span{i, end, Keyword})
			name := strings.ToLower(line[i+1 : end])
			i, mode = end, inTag
			if name == "script" || name == "style" {
				found, i, mode = attributes(found, line, i)
				if mode == inText && !strings.HasSuffix(line[:i], "/>") {
					mode = inScript
					if name == "style" {
						mode = inStyle
					}
				}
			}
		}
	}
	return found, mode | inner<<innerShift
}

// attributes reads up to the end of a tag.
func attributes(found []Span, line string, i int) ([]Span, int, State) {
	for i < len(line) {
		switch c := line[i]; {
		case c == '>':
			return append(found, Span{i, i + 1, Keyword}), i + 1, inText
		case c == '"' || c == '\'':
			end := len(line)
			if at := strings.IndexByte(line[i+1:], c); at >= 0 {
				end = i + at + 2
			}
			found = append(found, Span{i, end, String})
			i = end
		case isASCIILetter(c) || c == '@' || c == ':':
			end := i + 1
			for end < len(line) && (isASCIILetter(line[end]) || isDigit(line[end]) || strings.IndexByte("-:_.@", line[end]) >= 0) {
				end++
			}
			found = append(found, Span{i, end, Type})
			i = end
		default:
			i++
		}
	}
	return found, i, inTag
}

func shifted(found, more []Span, by int) []Span {
	for _, s := range more {
		found = append(found, Span{s.Start + by, s.End + by, s.Kind})
	}
	return found
}
