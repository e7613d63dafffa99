package words

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// literals finds every text that the UI gives to T or F, with the place where it stands.
func literals(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Logf("%v", err) // somebody is writing it just now
			return nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || selector.Sel.Name != "T" && selector.Sel.Name != "F" {
				return true
			}
			if text, ok := constant(call.Args[0]); ok {
				found[text] = files.Position(call.Pos()).String()
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// constant is the value of a literal, or of literals joined by +.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		right, okToo := constant(e.Y)
		return left + right, ok && okToo && e.Op == token.ADD
	}
	return "", false
}

func TestEveryTextHasAChineseOne(t *testing.T) {
	t.Parallel()
	zh := In("zh_CN.UTF-8")
	for text, where := range literals(t) {
		if strings.Trim(text, " ·%sdv:./()—…-") == "" {
			continue // nothing in it to translate
		}
		if _, ok := zh.texts[text]; !ok {
			t.Errorf("%s: no Chinese text for %q", where, text)
		}
	}
}

// verbs are the formatting directives of a text in the order of their values.
func verbs(text string) []string {
	directive := regexp.MustCompile(`%(\[\d+\])?([-+# 0]*[\d*]*(?:\.[\d*]+)?[a-zA-Z%])`)
	var all []string
	ordered := true
	for _, m := range directive.FindAllStringSubmatch(text, -1) {
		if m[2] == "%" {
			continue
		}
		if m[1] != "" {
			ordered = false
		}
		all = append(all, m[1]+m[2])
	}
	if ordered {
		return all
	}
	for i, v := range all {
		if !strings.HasPrefix(v, "[") {
			all[i] = "[" + strconv.Itoa(i+1) + "]" + v
		}
	}
	sort.Strings(all)
	for i, v := range all {
		_, all[i], _ = strings.Cut(v, "]")
	}
	return slices.Clip(all)
}

func TestTranslatedFormatsTakeTheSameValues(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	names, _ := fs.Glob(files, "zh/*.json")
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]string
		if err := json.Unmarshal(data, &texts); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for english, chinese := range texts {
			if !slices.Equal(verbs(english), verbs(chinese)) {
				t.Errorf("%s: %q takes %v, %q takes %v", name, english, verbs(english), chinese, verbs(chinese))
			}
			if chinese == "" {
				t.Errorf("%s: %q has an empty text", name, english)
			}
			if other, ok := seen[english]; ok && other != chinese {
				t.Errorf("%s: %q is %q here and %q elsewhere", name, english, chinese, other)
			}
			seen[english] = chinese
		}
	}
}

func TestEnglishNeedsNothing(t *testing.T) {
	t.Parallel()
	var none *Words
	if In("en_US") != nil || In("") != nil || none.T("Yes") != "Yes" || none.F("%d files", 3) != "3 files" {
		t.Error("English is not English")
	}
	if In("zh-Hans").T("a text nobody wrote") != "a text nobody wrote" {
		t.Error("a text without a translation is not shown")
	}
	if verbs("%[2]s in %[1]d%%")[0] != "d" {
		t.Error("indexed values are not put in order")
	}
}
