package script

import (
	"strings"
	"testing"
)

func TestParseErrorsTellLineMistakeAndExpectation(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"":                                                  "f.txt:1: the script has no turns; expected at least one line that says turn",
		"# only this":                                       "the script has no turns",
		"colour blue\nturn\ntext a":                         `f.txt:1: "colour" is not a setting; expected one of models, window`,
		"window many\nturn\ntext a":                         `f.txt:1: "many" is not a number that fits here; expected a whole number, at least 1`,
		"delay soon":                                        `f.txt:1: "soon" is not a time; expected something like 300ms`,
		"strict maybe":                                      `f.txt:1: it cannot be "maybe"; expected on or off`,
		"turn\n\nturn\ntext a":                              "f.txt:1: the turn says nothing; expected text",
		"turn\ntext a\nsay b":                               `f.txt:3: "say" is not a line of a turn; expected one of text`,
		"turn\ntext":                                        "f.txt:2: expected the text behind text, or <<END",
		"turn\ntext <<END\nabc":                             "f.txt:2: the text that starts here never ends; expected a line that says END",
		"turn\ncall Read {\"a\": }":                         "f.txt:2: the JSON that starts here is wrong: invalid character '}'",
		"turn\ncall Read {\"a\": 1":                         "f.txt:2: the JSON that starts here is wrong: unexpected EOF",
		"turn\ncall Read {\"a\": 1} x":                      `f.txt:2: expected nothing behind the JSON, but there is " x"`,
		"turn\ncall Read [1]":                               "f.txt:2: the input of a call must be a JSON object",
		"turn\ncall Re.ad {}":                               `f.txt:2: "Re.ad" is not a tool name`,
		"turn\ncall Read as a.b {}":                         `f.txt:2: "a.b" is not an id`,
		"turn\nblock {\"a\": 1}":                            "f.txt:2: expected a JSON object with a type behind block",
		"turn\ntext {{nonsense}}":                           "f.txt:2: nothing is called {{nonsense}}; expected a name that a let line gives, or one of last_user",
		"turn\ncall T {\"a\":\"{{nonsense}}\"}":             "f.txt:2: nothing is called {{nonsense}}",
		"turn\nlet x from nowhere ~ a\ntext b":              `f.txt:2: there is no text "nowhere"; expected one of last_user`,
		"turn\nlet n from result ~ a\ntext b":               `f.txt:2: "n" cannot be a name`,
		"turn\nlet x from result ~ (\ntext b":               "f.txt:2: bad regular expression",
		"turn\nlet x\ntext b":                               "f.txt:2: expected NAME from TEXT ~ REGEXP",
		"turn\nwhen weather ~ fine\ntext a":                 `f.txt:2: "weather ~ fine" is not a condition; expected one of: TEXT ~ REGEXP`,
		"turn\nwhen depth is 3\ntext a":                     "f.txt:2: expected depth with <, <=, =, >= or > and a number",
		"turn\ntext a\nwhen depth > 3":                      "f.txt:3: when stands behind what the turn says",
		"when depth > 3\nturn\ntext a":                      "f.txt:1: when stands before the first turn",
		"turn\ntext a\nelse\ntext b":                        "f.txt:3: else can never be reached",
		"else\ntext b":                                      "f.txt:1: else without a turn",
		"turn\nerror 200":                                   `f.txt:2: "200" is not the status of an error; expected error STATUS`,
		"turn\nfail drop":                                   "f.txt:2: expected fail N and what happens",
		"turn\nfail 1 text x\ntext b":                       `f.txt:2: "text" is not a line of a turn`,
		"turn\nafter drop\ntext a":                          "f.txt:2: expected after N",
		"turn\nstall":                                       "f.txt:2: expected stall TIME",
		"turn\nstall 2s ping 0s":                            "f.txt:2: the time between pings must be more than 0",
		"turn\nraw data":                                    "f.txt:2: expected a quoted text behind raw",
		"turn\nusage in=5\ntext a":                          `f.txt:2: there is no count "in"`,
		"turn\nsignature x\ntext a":                         "f.txt:2: expected signature and its text right behind a think line",
		"turn\nrepeat 0\ntext a":                            `f.txt:2: "0" is not a number that fits here`,
		"turn\ntext a\nsection s\nturn\ntext b":             "f.txt:3: section s has no conditions",
		"turn\ntext a\nsection s\nwhen no tools":            "f.txt:3: section s has no turns",
		"section s\nwhen no tools\nturn\ntext a\nsection s": "f.txt:5: there is a section s already, at line 1; expected another name",
		"turn\ntext a\nsection a b":                         "f.txt:3: expected section NAME",
		"turn\ntext a\nloop":                                "f.txt:3: no turn follows the loop line of section main",
		"turn\ntext a\norder arrival":                       "f.txt:3: order stands inside a turn",
		"order alphabet\nturn\ntext a":                      `f.txt:1: order cannot be "alphabet"; expected depth or arrival`,
		"turn\nfill 1000000000":                             "f.txt:2: fill makes at most 64 MB",
	} {
		_, err := Parse("f.txt", []byte(src))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f.txt:") {
			t.Errorf("%q\ngot  %v\nwant %s", src, err, want)
		}
	}
}

func TestIndentationCommentsAndLineEndsDoNotMatter(t *testing.T) {
	t.Parallel()
	s, err := Parse("f", []byte("# c\r\n\twindow 5_000\r\n\r\n  turn one\r\n\t\ttext a # b\r\n# c\r\n   call\tRead {}"))
	if err != nil {
		t.Fatal(err)
	}
	r := s.sections[0].turns[0].replies[0]
	if s.settings.window != 5000 || len(r.steps) != 2 || r.steps[0].text.src != "a # b" || r.steps[1].name != "Read" {
		t.Errorf("read as %+v with %+v", s.settings, r.steps)
	}
}

func TestMustParsePanicsOnAMistake(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	MustParse("nonsense")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sections))
	f.Add([]byte("turn\nfail 1 after 2 stall 1s ping 1s\ntext <<E\n a\nE\ncall A {\"a\":\n{{n}}}\nstop x y\nusage input=1\nloop\nturn\nblock {\"type\":\"a\"}"))
	f.Add([]byte("turn\nlet a from history ~ (b)\nwhen not depth >= 3\nraw \"a\\n\"\nelse\nthink x\nsignature y\nerror 429 a_error b=c d"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Parse("f", src)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("the error tells no line: %v", err)
			}
			return
		}
		// What can be parsed can be asked, unless the script itself wants to wait or to break the connection.
		for _, word := range []string{"wait", "stall", "delay", "drop", "reset"} {
			if strings.Contains(string(src), word) {
				return
			}
		}
		server := NewServer(s)
		if status, _ := serveDirectly(server, request(hi)); status < 200 || status > 599 {
			t.Errorf("answered with %d", status)
		}
	})
}
