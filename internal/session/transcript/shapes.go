package transcript

import "bytes"

// shapes are the well-known tokens that give themselves away by how they begin.
func shapes() []pattern {
	const with = "[masked secret]"
	var list []pattern
	add := func(shape func([]byte) int, prefixes ...string) {
		for _, p := range prefixes {
			list = append(list, pattern{text: p, with: with, shape: shape})
		}
	}
	add(token(20), "sk-ant-", "sk-proj-", "sk-svcacct-", "sk-or-v1-", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-", "ya29.", "shpat_", "whsec_")
	add(token(30), "hf_", "github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_", "pypi-", "dop_v1_", "AGE-SECRET-KEY-1", "AIza")
	add(token(16), "sk_live_", "rk_live_", "sk_test_", "rk_test_")
	add(mixed(token(40)), "sk-")
	add(mixed(token(24)), "Bearer ")
	add(dotted(40), "SG.")
	add(dotted(40), "eyJ")
	add(accessKey, "AKIA", "ASIA")
	add(privateKey, "-----BEGIN ")
	return list
}

func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// token is a run of at least n letters, digits, dashes and underscores.
func token(n int) func([]byte) int {
	return func(rest []byte) int {
		end := 0
		for end < len(rest) && tokenByte(rest[end]) {
			end++
		}
		if end < n {
			return -1
		}
		return end
	}
}

// mixed wants digits and letters in a token, because its beginning alone says little.
func mixed(shape func([]byte) int) func([]byte) int {
	return func(rest []byte) int {
		n := shape(rest)
		if n < 0 || !bytes.ContainsAny(rest[:n], "0123456789") || !bytes.ContainsAny(rest[:n], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return -1
		}
		return n
	}
}

// dotted is a token of several parts, at least n bytes in all, such as a JSON web token.
func dotted(n int) func([]byte) int {
	return func(rest []byte) int {
		end, dots := 0, 0
		for end < len(rest) && (tokenByte(rest[end]) || rest[end] == '.') {
			if rest[end] == '.' {
				dots++
			}
			end++
		}
		if end < n || dots == 0 {
			return -1
		}
		return end
	}
}

// accessKey is the id of a cloud access key: exactly 16 capitals and digits.
func accessKey(rest []byte) int {
	end := 0
	for end < len(rest) && (rest[end] >= 'A' && rest[end] <= 'Z' || rest[end] >= '0' && rest[end] <= '9') {
		end++
	}
	if end != 16 || end < len(rest) && tokenByte(rest[end]) {
		return -1
	}
	return end
}

// privateKey is all between the first and the last line of a key file; without a last line, all to the end of the string.
func privateKey(rest []byte) int {
	head := rest[:min(len(rest), 60)]
	i := bytes.Index(head, []byte("PRIVATE KEY-----"))
	if i < 0 || bytes.IndexByte(head[:i], '"') >= 0 {
		return -1
	}
	stop := bytes.IndexByte(rest, '"')
	if stop < 0 {
		stop = len(rest)
	}
	for stop > 0 && stop < len(rest) && rest[stop-1] == '\\' {
		stop--
	}
	if end := bytes.Index(rest[:stop], []byte("PRIVATE KEY-----")); end >= 0 {
		if last := bytes.Index(rest[end+1:stop], []byte("PRIVATE KEY-----")); last >= 0 {
			return end + 1 + last + len("PRIVATE KEY-----")
		}
	}
	return stop
}
