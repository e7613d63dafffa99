package transcript

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A keyFile is a file that holds secrets, as it was when it was last read.
type keyFile struct {
	path    string
	changed time.Time
	size    int64
}

// maxKeyFile bounds what is read of a file that should hold a few lines.
const maxKeyFile = 256 << 10

// AddEnv lets the mask know the values of all variables whose names say that they are secret.
func (m *Mask) AddEnv(environ []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := false
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && secretName(name) && !looksLikePath(value) {
			fresh = m.learn(name, value) || fresh
		}
	}
	if fresh {
		m.table.Store(newMaskTable(m.values))
	}
}

// AddFiles lets the mask know the secrets of files of the forms NAME=value, name: value and "name": "value". They are read
// again when they change (see Refresh). Files that are not there count when they come.
func (m *Mask) AddFiles(paths ...string) {
	m.mu.Lock()
	for _, p := range paths {
		m.files = append(m.files, keyFile{path: p})
	}
	m.mu.Unlock()
	m.Refresh()
}

// KeyFiles returns the files that usually hold secrets of a project and of a user.
func KeyFiles(project, home string) []string {
	files, _ := filepath.Glob(filepath.Join(escapeGlob(project), ".env*"))
	files = append(files, filepath.Join(project, ".env"), filepath.Join(project, ".env.local"))
	if home != "" {
		files = append(files, filepath.Join(home, ".aws", "credentials"), filepath.Join(home, ".netrc"), filepath.Join(home, ".npmrc"), filepath.Join(home, ".pypirc"))
	}
	return files
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Refresh reads the key files that have changed. What was a secret once stays one.
func (m *Mask) Refresh() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := false
	for i := range m.files {
		f := &m.files[i]
		info, err := os.Stat(f.path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxKeyFile || info.ModTime().Equal(f.changed) && info.Size() == f.size {
			continue
		}
		f.changed, f.size = info.ModTime(), info.Size()
		fresh = m.readKeys(f.path) || fresh
	}
	if fresh {
		m.table.Store(newMaskTable(m.values))
	}
}

func (m *Mask) readKeys(path string) (fresh bool) {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "export ")
		if name, value, ok := cutSetting(line); ok && secretName(name) && !looksLikePath(value) {
			fresh = m.learn(name, value) || fresh
		}
	}
	return fresh
}

// cutSetting splits NAME=value, name: value, "name": "value" and, as in .netrc, name value.
func cutSetting(line string) (name, value string, ok bool) {
	i := strings.IndexAny(line, "=:")
	if words := strings.Fields(line); i < 0 && len(words) >= 2 {
		for k := 0; k+1 < len(words); k += 2 {
			if secretName(words[k]) {
				return words[k], words[k+1], true
			}
		}
		return "", "", false
	}
	if i < 0 {
		return "", "", false
	}
	name = strings.Trim(strings.TrimSpace(line[:i]), `"'`)
	// //registry.example/:_authToken=value
	if k := strings.LastIndexAny(line, ":="); strings.HasPrefix(line, "//") && k > i {
		name, i = line[:k], k
	}
	value = strings.TrimSuffix(strings.TrimSpace(line[i+1:]), ",")
	if quote := strings.IndexAny(value, `"'`); quote == 0 {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			value = value[1 : 1+end]
		}
	} else if comment := strings.Index(value, " #"); comment >= 0 {
		value = strings.TrimSpace(value[:comment])
	}
	return name, value, true
}

// secretName reports whether a variable of this name holds a secret.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{"SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY", "API_KEY", "APIKEY", "AUTHTOKEN"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	for _, end := range []string{"_KEY", "_TOKEN", "_PAT", "_PWD"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return name == "TOKEN" || name == "KEY"
}

// looksLikePath keeps the names of files, such as that of a key file, out of the mask.
func looksLikePath(value string) bool {
	for _, begin := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(value, begin) {
			return !strings.ContainsAny(value, "+=") // base64 may begin with a slash
		}
	}
	return false
}
