package dialog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// schema is as much of a JSON schema as servers may use in a question to a person: an object of plain values.
type schema struct {
	Properties orderedFields `json:"properties"`
	Required   []string      `json:"required"`
}

type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []named  `json:"oneOf"`
	Format      string   `json:"format"`
	MinLength   *int     `json:"minLength"`
	MaxLength   *int     `json:"maxLength"`
	Minimum     *float64 `json:"minimum"`
	Maximum     *float64 `json:"maximum"`
	Default     any      `json:"default"`
	Items       *struct {
		Enum  []string `json:"enum"`
		AnyOf []named  `json:"anyOf"`
	} `json:"items"`
}

type named struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// orderedFields keeps the order in which the server lists its fields.
type orderedFields []struct {
	name string
	property
}

// UnmarshalJSON reads an object member by member.
func (o *orderedFields) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("the properties are no object")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		field := struct {
			name string
			property
		}{name: fmt.Sprint(name)}
		if err := dec.Decode(&field.property); err != nil {
			return fmt.Errorf("the field %s cannot be read: %w", name, err)
		}
		*o = append(*o, field)
	}
	return nil
}

// mostEntries bounds what a server may ask for at once.
const mostEntries = 50

// Entries makes the fields of a form out of the schema of a server.
func Entries(raw json.RawMessage) ([]Entry, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("the form of the server cannot be read: %w", err)
	}
	if len(s.Properties) > mostEntries {
		return nil, fmt.Errorf("the form of the server has %d fields, which is too many", len(s.Properties))
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	var out []Entry
	for _, p := range s.Properties {
		e := Entry{Name: p.name, Title: p.Title, About: p.Description, Kind: p.Type, Required: required[p.name], Check: p.check()}
		switch {
		case p.Type == "array" && p.Items != nil:
			e.Kind = "choices"
			e.choices(p.Items.Enum, nil, p.Items.AnyOf)
		case len(p.Enum) > 0 || len(p.OneOf) > 0:
			e.Kind = "choice"
			e.choices(p.Enum, p.EnumNames, p.OneOf)
		case p.Type != "string" && p.Type != "number" && p.Type != "integer" && p.Type != "boolean":
			return nil, fmt.Errorf("the field %s of the server's form is of the type %q, which nobody can fill in here", p.name, p.Type)
		}
		e.Preset(p.Default)
		out = append(out, e)
	}
	return out, nil
}

func (e *Entry) choices(values, labels []string, named []named) {
	e.Options, e.Labels = values, labels
	for _, n := range named {
		e.Options, e.Labels = append(e.Options, n.Const), append(e.Labels, n.Title)
	}
}

// check makes a function of the bounds that the schema sets.
func (p property) check() func(string) error {
	return func(text string) error {
		n := utf8.RuneCountInString(text)
		switch {
		case p.MinLength != nil && n < *p.MinLength:
			return fmt.Errorf("at least %d characters", *p.MinLength)
		case p.MaxLength != nil && n > *p.MaxLength:
			return fmt.Errorf("at most %d characters", *p.MaxLength)
		}
		if p.Type == "number" || p.Type == "integer" {
			return p.checkNumber(text)
		}
		return checkFormat(p.Format, text)
	}
}

func (p property) checkNumber(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsInf(v, 0) || math.IsNaN(v):
		return errors.New("a number, please")
	case p.Type == "integer" && v != math.Trunc(v):
		return errors.New("a whole number, please")
	case p.Minimum != nil && v < *p.Minimum:
		return fmt.Errorf("at least %v", *p.Minimum)
	case p.Maximum != nil && v > *p.Maximum:
		return fmt.Errorf("at most %v", *p.Maximum)
	}
	return nil
}

func checkFormat(format, text string) error {
	switch format {
	case "email":
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
			return errors.New("an e-mail address, please")
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" {
			return errors.New("an address such as https://example.com, please")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return errors.New("a date such as 2026-01-31, please")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return errors.New("a time such as 2026-01-31T12:00:00Z, please")
		}
	}
	return nil
}

// value is what the person entered, as it is sent; nil: nothing, which only a field that is not required may be.
func (e *Entry) value() (any, error) {
	switch e.Kind {
	case "boolean":
		return e.chosen[0], nil
	case "choice":
		for i, on := range e.chosen {
			if on && i < len(e.Options) {
				return e.Options[i], nil
			}
		}
		return nil, e.missing()
	case "choices":
		list := []string{}
		for i, on := range e.chosen {
			if on && i < len(e.Options) {
				list = append(list, e.Options[i])
			}
		}
		if len(list) == 0 {
			return nil, e.missing()
		}
		return list, nil
	}
	text := strings.TrimSpace(e.field.Text())
	if text == "" {
		return nil, e.missing()
	}
	if e.Check != nil {
		if err := e.Check(text); err != nil {
			return nil, err
		}
	}
	switch e.Kind {
	case "integer":
		f, err := strconv.ParseFloat(text, 64)
		return int64(f), err
	case "number":
		return strconv.ParseFloat(text, 64)
	}
	return text, nil
}

func (e *Entry) missing() error {
	if e.Required {
		return errors.New("this is needed")
	}
	return nil
}
