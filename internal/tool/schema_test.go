package tool

import (
	"context"
	"strings"
	"testing"
)

type sample struct {
	Path  string   `json:"path" desc:"which file"`
	Limit *int     `json:"limit,omitempty" min:"1"`
	Mode  string   `json:"mode,omitempty" enum:"a|b"`
	Flag  bool     `json:"-i,omitempty"`
	Items []nested `json:"items,omitempty" maxlen:"2"`
}

type nested struct {
	Label string `json:"label"`
}

func sampleTool(got *sample) *Tool {
	return Define(Spec[sample]{Name: "Sample", Run: func(_ context.Context, in sample, _ Call) (Result, error) {
		*got = in
		return Text("ok"), nil
	}})
}

func TestSchemaComesFromTheType(t *testing.T) {
	const want = `{"type":"object","properties":{"path":{"type":"string","description":"which file"},"limit":{"type":"integer","minimum":1},` +
		`"mode":{"type":"string","enum":["a","b"]},"-i":{"type":"boolean"},"items":{"type":"array","items":{"type":"object",` +
		`"properties":{"label":{"type":"string"}},"required":["label"],"additionalProperties":false},"maxItems":2}},"required":["path"],"additionalProperties":false}`
	if got := string(sampleTool(new(sample)).Schema); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInputIsDecodedAndForgiven(t *testing.T) {
	var got sample
	c, err := sampleTool(&got).Bind("1", []byte(`{"path":"x","limit":"5","-i":"true","mode":null,"items":"[{\"label\":\"l\"}]"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got.Path != "x" || got.Limit == nil || *got.Limit != 5 || !got.Flag || got.Mode != "" || len(got.Items) != 1 || got.Items[0].Label != "l" {
		t.Errorf("got %+v", got)
	}
}

func TestBadInputNamesTheFieldAndWhatWasExpected(t *testing.T) {
	for input, want := range map[string]string{
		`{}`:                               `"path" is missing; it must be a string (which file)`,
		`{"path":5}`:                       `"path" must be a string, but it is the number 5`,
		`{"path":"x","limit":0}`:           `"limit" must be at least 1, but it is 0`,
		`{"path":"x","limit":1.5}`:         `"limit" must be a whole number, but it is the number 1.5`,
		`{"path":"x","mode":"c"}`:          `"mode" must be one of a, b, but it is "c"`,
		`{"path":"x","items":[{}]}`:        `"items[0].label" is missing`,
		`{"path":"x","items":[1]}`:         `"items[0]" must be an object`,
		`{"path":"x","items":[{},{},{}]}`:  `"items" must have at most 2 items, but it has 3`,
		`{"path":"x","pth":1}`:             `there is no field "pth"; the fields are path, limit, mode, -i, items`,
		`{"path":`:                         `not valid JSON`,
		`[1]`:                              `it must be an object, but it is a list`,
		`"text"`:                           `it must be an object, but it is a string`,
		`null`:                             `it must be an object, but it is null`,
		`{"path":null}`:                    `"path" must be a string, but it is null`,
		`{"path":"x","items":{"label":1}}`: `"items" must be a list, but it is an object`,
	} {
		_, err := sampleTool(new(sample)).Bind("1", []byte(input))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", input, err, want)
		}
	}
}

func FuzzBindNeverPanics(f *testing.F) {
	f.Add([]byte(`{"path":"x"}`))
	f.Add([]byte(`{"path":"x","items":"[1]"}`))
	tool := sampleTool(new(sample))
	f.Fuzz(func(_ *testing.T, input []byte) { tool.Bind("1", input) })
}
