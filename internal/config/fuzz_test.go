package config

import (
	"bytes"
	"encoding/json"
	"testing"
)

func seeds(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, "{\n  \"a\": {\"b\": [1, 2]}, // c\n}", `{"permissions":{"allow":["x",],},}`, `[1,{"a":"\ud83d\ude00"}]`, "\ufeff{}", `{"a":1,"a":{}}`, `{"model":"x" /* y */}`, ` `, `{"a":"\\"}`, `nul`, `{"model":1e999}`} {
		f.Add([]byte(s))
	}
}

// FuzzParse holds the scanner against encoding/json: it never panics, takes all that is JSON, understands the same, and reads the same as a stream.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		root, loose, err := parse(data)
		strict := json.Valid(data)
		if strict && err != nil {
			t.Fatalf("refused: %v", err)
		}
		if err == nil {
			out := root.appendJSON(nil)
			if !json.Valid(out) {
				t.Fatalf("became %s", out)
			}
			if strict && loose == nil {
				var a, b any
				json.Unmarshal(data, &a)
				json.Unmarshal(out, &b)
				x, _ := json.Marshal(a)
				y, _ := json.Marshal(b)
				if !bytes.Equal(x, y) {
					t.Fatalf("%s became %s", x, y)
				}
			}
		}
		if _, streamErr := locate(scanReader(bytes.NewReader(data)), []string{"a", "b"}); err == nil && streamErr != nil {
			t.Fatalf("the stream is refused: %v", streamErr)
		}
		t2 := parseText(User, "f", data)
		resolve(Options{Trust: Trusted}, []*text{t2})
	})
}

// FuzzEdit sets a value in any text that parses: it is there, and everything else is as it was.
func FuzzEdit(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		root, _, err := parse(data)
		if err != nil || root.kind != '{' {
			return
		}
		path := []string{"permissions", "allow"}
		for name, plan := range map[string]func(doc) ([]splice, error){
			"set":    func(d doc) ([]splice, error) { return d.set([]string{"model"}, "new") },
			"add":    func(d doc) ([]splice, error) { return d.add(path, "rule") },
			"remove": func(d doc) ([]splice, error) { return d.remove([]string{"a"}) },
			"drop":   func(d doc) ([]splice, error) { return d.drop(path, "x") },
		} {
			d := docOf("f", data)
			splices, err := plan(d)
			if err != nil {
				continue // it says so when something of another kind is in the way
			}
			after, _, err := parse([]byte(d.applied(splices)))
			if err != nil {
				t.Fatalf("%s: %v in %s", name, err, d.applied(splices))
			}
			for _, m := range root.members {
				if m.key == "model" || m.key == "permissions" || m.key == "a" {
					continue
				}
				if got := after.member(m.key); got == nil || string(got.appendJSON(nil)) != string(root.member(m.key).appendJSON(nil)) {
					t.Fatalf("%s: %q is lost in %s", name, m.key, d.applied(splices))
				}
			}
			if name == "set" && after.member("model").text != "new" {
				t.Fatalf("not set: %s", d.applied(splices))
			}
			if name == "add" {
				items := after.member("permissions").member("allow").items
				found := false
				for _, it := range items {
					found = found || it.text == "rule"
				}
				if !found {
					t.Fatalf("not added: %s", d.applied(splices))
				}
			}
		}
	})
}
