package cli

import (
	"reflect"
	"strings"
	"testing"
)

type options struct {
	Print  bool     `flag:"print,p" help:"answer and exit"`
	Resume Optional `flag:"resume,r" arg:"id" help:"go on"`
	Tools  List     `flag:"allowedTools,allowed-tools" arg:"rules" help:"tools"`
	Prompt *string  `flag:"system-prompt" arg:"text"`
	Format string   `flag:"output-format" enum:"text|json"`
	Turns  int      `flag:"max-turns" arg:"n"`
	Budget float64  `flag:"max-budget-usd" arg:"n"`
}

func TestParse(t *testing.T) {
	empty := ""
	for _, c := range []struct {
		args  string
		want  options
		words string
	}{
		{args: "-p hello", want: options{Print: true}, words: "hello"},
		{args: "hello -p", want: options{Print: true}, words: "hello"},
		{args: "-r -p", want: options{Print: true, Resume: Optional{Set: true}}},
		{args: "-rp", want: options{Resume: Optional{Set: true, Value: "p"}}},
		{args: "-pr id hi", want: options{Print: true, Resume: Optional{Set: true, Value: "id"}}, words: "hi"},
		{args: "--resume=id hi", want: options{Resume: Optional{Set: true, Value: "id"}}, words: "hi"},
		{args: "--allowedTools A,B C -p hi", want: options{Print: true, Tools: List{true, []string{"A", "B", "C"}}}, words: "hi"},
		{args: "-p --allowed-tools A hi", want: options{Print: true, Tools: List{true, []string{"A", "hi"}}}}, // swallowed
		{args: "--allowedTools=A hi --allowedTools=B", want: options{Tools: List{true, []string{"A", "B"}}}, words: "hi"},
		{args: "--allowedTools=", want: options{Tools: List{Set: true}}},
		{args: "--system-prompt= x", want: options{Prompt: &empty}, words: "x"},
		{args: "--max-turns 3 --max-budget-usd=0.5 --output-format json", want: options{Turns: 3, Budget: 0.5, Format: "json"}},
		{args: "-- --print -x", words: "--print -x"},
	} {
		var got options
		words, err := Parse(strings.Fields(c.args), &got, nil)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if !reflect.DeepEqual(got, c.want) || strings.Join(words, " ") != c.words {
			t.Errorf("%s: got %+v %q", c.args, got, words)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--no-such":            "unknown option '--no-such'",
		"--pint":               "(did you mean --print?)",
		"-x":                   "unknown option '-x'",
		"--max-turns":          "'--max-turns <n>' needs a value",
		"--max-turns x":        `takes a whole number, not "x"`,
		"--output-format yaml": `must be one of text, json, not "yaml"`,
		"--print=perhaps":      "is a switch",
		"--allowedTools":       "needs a value",
		"--max-budget-usd NaN": "takes a number",
	} {
		_, err := Parse(strings.Fields(args), &options{}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-p --resume x --allowedTools a b -- c")
	f.Fuzz(func(_ *testing.T, line string) { Parse(strings.Fields(line), &options{}, nil) })
}
