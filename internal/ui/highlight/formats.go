package highlight

import (
	"strings"
	"unicode/utf8"
)

// These are the languages that are not made of words: formats of data and of text. Each reads a line by its shape.

func spans(all ...Span) []Span {
	kept := all[:0]
	for _, s := range all {
		if s.Start < s.End {
			kept = append(kept, s)
		}
	}
	return kept
}

func readDiff(line string, state State) ([]Span, State) {
	kind := Plain
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
		kind = Comment
	case strings.HasPrefix(line, "@@"):
		kind = Function
	case strings.HasPrefix(line, "+"):
		kind = Inserted
	case strings.HasPrefix(line, "-"):
		kind = Deleted
	default:
		return nil, 0
	}
	return spans(Span{0, len(line), kind}), 0
}

// readMarkdown keeps one bit: whether the line is inside a fence.
func readMarkdown(line string, state State) ([]Span, State) {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	switch {
	case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
		return spans(Span{indent, len(line), Comment}), state ^ 1
	case state == 1:
		return spans(Span{0, len(line), String}), state
	case strings.HasPrefix(text, "#"):
		return spans(Span{indent, len(line), Title}), 0
	case strings.HasPrefix(text, ">"):
		return spans(Span{indent, len(line), Comment}), 0
	}
	var found []Span
	if len(text) > 1 && strings.IndexByte("-*+", text[0]) >= 0 && text[1] == ' ' {
		found = append(found, Span{indent, indent + 1, Keyword})
	}
	for at := 0; ; {
		open := strings.IndexByte(line[at:], '`')
		if open < 0 {
			return found, 0
		}
		end := strings.IndexByte(line[at+open+1:], '`')
		if end < 0 {
			return found, 0
		}
		found = append(found, Span{at + open, at + open + end + 2, String})
		at += open + end + 2
	}
}

// quotedEnd is where the string that begins at i ends, or the end of the line.
func quotedEnd(line string, i int) int {
	quote := line[i]
	for i++; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if line[i] == quote {
			return i + 1
		}
	}
	return len(line)
}

func readJSON(line string, state State) ([]Span, State) {
	var found []Span
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '"':
			end := quotedEnd(line, i)
			kind := String
			if rest := strings.TrimLeft(line[end:], " "); strings.HasPrefix(rest, ":") {
				kind = Type
			}
			found = append(found, Span{i, end, kind})
			i = end
		case c == '/' && strings.HasPrefix(line[i:], "//"):
			return append(found, Span{i, len(line), Comment}), 0
		default:
			end := valueEnd(line, i)
			if kind := scalar(line[i:end]); kind != Plain {
				found = append(found, Span{i, end, kind})
			}
			i = max(end, i+1)
		}
	}
	return found, 0
}

// valueEnd is where a bare value ends.
func valueEnd(line string, i int) int {
	for i < len(line) && (isASCIILetter(line[i]) || isDigit(line[i]) || strings.IndexByte("+-._", line[i]) >= 0) {
		i++
	}
	return i
}

// scalar tells numbers and constants of data formats.
func scalar(text string) Kind {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "~", "inf", "nan":
		return Keyword
	case "":
		return Plain
	}
	digits := strings.TrimLeft(text, "+-.")
	if digits == "" || !isDigit(digits[0]) {
		return Plain
	}
	for i := range len(text) {
		if !isDigit(text[i]) && strings.IndexByte("+-._:xXabcdefABCDEFTZoeE", text[i]) < 0 {
			return Plain
		}
	}
	return Number
}

func readYAML(line string, state State) ([]Span, State) {
	var found []Span
	i := len(line) - len(strings.TrimLeft(line, " "))
	if line[i:] == "---" || line[i:] == "..." {
		return spans(Span{i, len(line), Comment}), 0
	}
	for strings.HasPrefix(line[i:], "- ") {
		found = append(found, Span{i, i + 1, Keyword})
		i += 2
		i += len(line[i:]) - len(strings.TrimLeft(line[i:], " "))
	}
	if end := keyEnd(line, i); end > i {
		found = append(found, Span{i, end, Type})
		i = min(end+1, len(line))
	}
	return values(found, line, i, "#"), 0
}

// keyEnd is where the colon of a key stands, or 0.
func keyEnd(line string, i int) int {
	for j := i; j < len(line); j++ {
		switch c := line[j]; {
		case c == ':' && (j+1 == len(line) || line[j+1] == ' '):
			return j
		case c == '"' || c == '\'':
			if j != i {
				return 0
			}
			j = quotedEnd(line, j) - 1
		case c == '#' || c == '{' || c == '[':
			return 0
		}
	}
	return 0
}

// values reads what stands behind a key: strings, numbers, constants, a comment.
func values(found []Span, line string, i int, comment string) []Span {
	for i < len(line) {
		switch c := line[i]; {
		case strings.IndexByte(comment, c) >= 0 && (i == 0 || line[i-1] == ' '):
			return append(found, Span{i, len(line), Comment})
		case c == '"' || c == '\'':
			end := quotedEnd(line, i)
			found = append(found, Span{i, end, String})
			i = end
		case c == '&' || c == '*' || c == '!' || c == '|' || c == '>':
			end := valueEnd(line, i+1)
			found = append(found, Span{i, end, Keyword})
			i = end
		case c == ' ' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}' || c == '=':
			i++
		default:
			end := i
			for end < len(line) && strings.IndexByte(" ,[]{}=", line[end]) < 0 {
				end++
			}
			if kind := scalar(line[i:end]); kind != Plain {
				found = append(found, Span{i, end, kind})
			}
			i = max(end, i+1)
		}
	}
	return found
}

func readTOML(line string, state State) ([]Span, State) {
	text := strings.TrimLeft(line, " ")
	i := len(line) - len(text)
	switch {
	case strings.HasPrefix(text, "#"), strings.HasPrefix(text, ";"):
		return spans(Span{i, len(line), Comment}), 0
	case strings.HasPrefix(text, "[") && strings.Contains(text, "]") && !strings.Contains(text, "="):
		return spans(Span{i, i + strings.LastIndexByte(text, ']') + 1, Title}), 0
	}
	var found []Span
	if key := strings.IndexByte(text, '='); key > 0 {
		found = spans(Span{i, i + len(strings.TrimRight(text[:key], " ")), Type})
		i += key
	}
	return values(found, line, i, "#;"), 0
}

func readMake(line string, state State) ([]Span, State) {
	if strings.HasPrefix(strings.TrimLeft(line, " "), "#") {
		return spans(Span{0, len(line), Comment}), 0
	}
	var found []Span
	i := 0
	if !strings.HasPrefix(line, " ") {
		word := valueEnd(line, 0)
		switch line[:word] {
		case "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif", "include", "define", "endef", "export", "override":
			found = spans(Span{0, word, Keyword})
			i = word
		default:
			if at := strings.IndexAny(line, ":="); at > 0 && line[at] == ':' && !strings.HasPrefix(line[at:], ":=") {
				found = spans(Span{0, at, Function})
				i = at
			} else if at > 0 {
				found = spans(Span{0, len(strings.TrimRight(line[:at], " :?+")), Type})
				i = at
			}
		}
	}
	for i < len(line) {
		dollar := strings.IndexByte(line[i:], '$')
		if dollar < 0 || i+dollar+1 >= len(line) {
			break
		}
		_, size := utf8.DecodeRuneInString(line[i+dollar+1:])
		start, end := i+dollar, i+dollar+1+size
		if c := line[start+1]; c == '(' || c == '{' {
			if closing := strings.IndexAny(line[start:], ")}"); closing > 0 {
				end = start + closing + 1
			}
		}
		found = append(found, Span{start, end, Number})
		i = end
	}
	return found, 0
}

func readDocker(line string, state State) ([]Span, State) {
	text := strings.TrimLeft(line, " ")
	i := len(line) - len(text)
	if strings.HasPrefix(text, "#") {
		return spans(Span{i, len(line), Comment}), state
	}
	var found []Span
	if state == 0 { // not the continuation of a line
		end := valueEnd(line, i)
		switch strings.ToUpper(line[i:end]) {
		case "FROM", "RUN", "CMD", "LABEL", "EXPOSE", "ENV", "ADD", "COPY", "ENTRYPOINT", "VOLUME", "USER", "WORKDIR", "ARG", "ONBUILD", "STOPSIGNAL", "HEALTHCHECK", "SHELL":
			found = spans(Span{i, end, Keyword})
			i = end
		}
	}
	for i < len(line) {
		switch c := line[i]; c {
		case '"', '\'':
			end := quotedEnd(line, i)
			found = append(found, Span{i, end, String})
			i = end
		case '$':
			end := i + 1
			for end < len(line) && (isASCIILetter(line[end]) || isDigit(line[end]) || strings.IndexByte("_{}", line[end]) >= 0) {
				end++
			}
			found = append(found, Span{i, end, Type})
			i = end
		default:
			i++
		}
	}
	if strings.HasSuffix(line, "\\") {
		return found, 1
	}
	return found, 0
}
