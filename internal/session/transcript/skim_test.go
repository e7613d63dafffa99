package transcript

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzUnquoteAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range []string{`"plain"`, `"a\nb\t\"\\\/\b\f\r"`, `"\u00e9\ud83d\ude00\ud83d x \udc00"`, "\"\xff\"", `"\x"`, `"\u12"`, `"`, `"\"`, "\"a\x00b\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if end := stringEnd(value, 0); end != len(value) {
			return // not one string
		}
		var want string
		err := json.Unmarshal(value, &want)
		got, ok := unquote(value)
		if err == nil && (!ok || got != want) {
			t.Errorf("%q is %q (%t), want %q", value, got, ok, want)
		}
		// Raw control characters are let through: a person would rather see them than nothing.
		if err != nil && ok && !strings.ContainsFunc(string(value), func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q is %q, but the standard library says %v", value, got, err)
		}
	})
}

func FuzzSkimAgreesWithTheStandardLibrary(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":["}",{"d":"\\\""}]},"e":null}`))
	f.Add([]byte(` { "x" : [ ] , "y" : -1.5e3 } `))
	f.Fuzz(func(t *testing.T, object []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(object, &want) != nil || want == nil {
			return
		}
		got := map[string]string{}
		err := skim(object, func(key, value []byte) bool {
			name, _ := unquote([]byte(`"` + string(key) + `"`))
			got[name] = string(value)
			return true
		})
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v: %q for %q", err, got, object)
		}
		for k, v := range want {
			if got[k] != string(v) {
				t.Errorf("%q: %q, want %q", k, got[k], v)
			}
		}
	})
}
