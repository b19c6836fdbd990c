package local

import (
	"os"
	"strings"
)

type configuredPath struct {
	path  string
	hooks bool
}

// settings are what matters here of a Git configuration.
type settings struct {
	paths          []configuredPath // core.hooksPath and included files: Git obeys them
	worktree       string           // core.worktree
	worktreeConfig bool             // extensions.worktreeConfig
}

func readSettings(file string) (s settings) {
	eachSetting(file, func(section, key, value string) {
		switch {
		case section == "core" && key == "worktree":
			s.worktree = value
		case section == "extensions" && key == "worktreeconfig":
			s.worktreeConfig = !strings.EqualFold(value, "false")
		case value == "" || strings.HasPrefix(value, "~"): // in the home folder: out of reach anyway
		case section == "core" && key == "hookspath":
			s.paths = append(s.paths, configuredPath{value, true})
		case (section == "include" || section == "includeif") && key == "path":
			s.paths = append(s.paths, configuredPath{value, false})
		}
	})
	return s
}

// eachSetting reads enough of Git's file format to find plain settings: sections,
// keys, quoted values. It does not follow continuation lines.
func eachSetting(file string, fn func(section, key, value string)) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return
	}
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, rest, ok := strings.Cut(line[1:], "]")
			if !ok {
				continue
			}
			name, _, _ = strings.Cut(name, " ")
			section, line = strings.ToLower(name), strings.TrimSpace(rest)
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		fn(section, strings.ToLower(strings.TrimSpace(key)), unquote(strings.TrimSpace(value)))
	}
}

// unquote takes quotes, escapes and a trailing comment off a value.
func unquote(s string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
