package app

import (
	"slices"
	"strings"
)

// mcpWords are the words of a subcommand, read.
type mcpWords struct {
	scope, transport string
	env, headers     map[string]string
	words            []string // what is no option
}

// readWords reads options by hand: a command's own options must stay the command's.
func readWords(args []string) (mcpWords, error) {
	o := mcpWords{env: map[string]string{}, headers: map[string]string{}}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			o.words = append(o.words, args[i+1:]...)
			break
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			o.words = append(o.words, arg)
			if len(o.words) == 2 && (o.transport == "" || o.transport == "stdio") && !isURL(arg) {
				o.words = append(o.words, args[i+1:]...)
				break
			}
			continue
		}
		name, value, has := strings.Cut(arg, "=")
		if !strings.HasPrefix(arg, "--") {
			name, value, has = arg, "", false
		}
		if !has {
			if i++; i >= len(args) {
				return o, usage("%s needs a value", name)
			}
			value = args[i]
		}
		if err := o.take(name, value); err != nil {
			return o, err
		}
		// More variables may follow the first.
		for (name == "-e" || name == "--env") && i+1 < len(args) && strings.Contains(args[i+1], "=") && !strings.HasPrefix(args[i+1], "-") {
			i++
			if err := o.take(name, args[i]); err != nil {
				return o, err
			}
		}
	}
	if o.scope == "" {
		o.scope = scopeLocal
	}
	return o, nil
}

func isURL(s string) bool { return transportOf(s) != "" }

// transportOf is the transport that an address is usually meant for; "" if it is none.
func transportOf(s string) string {
	switch scheme, _, _ := strings.Cut(s, "://"); {
	case scheme == s:
	case scheme == "http", scheme == "https":
		return "http"
	case scheme == "ws", scheme == "wss":
		return "ws"
	}
	return ""
}

func (o *mcpWords) take(name, value string) error {
	switch name {
	case "-s", "--scope":
		if !slices.Contains([]string{scopeLocal, scopeUser, scopeProject}, value) {
			return usage("--scope must be local, user or project, not %q", value)
		}
		o.scope = value
	case "-t", "--transport":
		if !slices.Contains([]string{"stdio", "http", "sse", "ws"}, value) {
			return usage("--transport must be stdio, http, sse or ws, not %q", value)
		}
		o.transport = value
	case "-e", "--env":
		key, val, ok := strings.Cut(value, "=")
		if !ok {
			return usage("--env must be NAME=VALUE, not %q", value)
		}
		o.env[key] = val
	case "-H", "--header":
		key, val, ok := strings.Cut(value, ":")
		if !ok {
			return usage("--header must be \"NAME: VALUE\", not %q", value)
		}
		o.headers[strings.TrimSpace(key)] = strings.TrimSpace(val)
	default:
		return usage("unknown option '%s' of gofer mcp", name)
	}
	return nil
}
