package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// R146
func TestRulesSeeThroughTheText(t *testing.T) {
	rm := []string{"rm"}
	for command, want := range map[string]answer{
		"rm f":                               yes,
		"timeout 5 rm -rf d":                 yes,
		"timeout -k 1 -s KILL 5 rm x":        yes,
		"env rm f":                           yes,
		"env -i A=1 B=2 rm f":                yes,
		"env -S 'rm -rf x'":                  yes,
		"A=1 rm f":                           yes,
		"echo x\nrm f":                       yes,
		"echo x & rm f":                      yes,
		"echo x && rm f":                     yes,
		"echo x | xargs -n 1 rm":             yes,
		"echo x; (cd y; rm f)":               yes,
		"echo $(rm f)":                       yes,
		"echo `rm f`":                        yes,
		"cat <(rm f)":                        yes,
		"echo \"a $(rm f) b\"":               yes,
		"f() { rm f; }; f":                   yes,
		"if true; then rm f; fi":             yes,
		"for i in 1; do rm $i; done":         yes,
		"case x in x) rm f;; esac":           yes,
		"! rm f":                             yes,
		"time rm f":                          yes,
		"/bin/rm f":                          yes,
		`\rm f`:                              yes,
		"'rm' f":                             yes,
		`r"m" f`:                             yes,
		"sudo -u root rm f":                  yes,
		"nohup nice -n 5 setsid rm f":        yes,
		"command -- rm f":                    yes,
		"exec rm f":                          yes,
		"busybox rm f":                       yes,
		"bash -c 'rm f'":                     yes,
		"bash -ec 'rm f'":                    yes,
		"sh -c 'bash -c \"rm f\"'":           yes,
		"eval 'rm f'":                        yes,
		"find . -name x -exec rm {} \\;":     yes,
		"find . -delete":                     yes,
		"trap 'rm f' EXIT":                   yes,
		"watch 'rm f'":                       yes,
		"{ rm f; } > out":                    yes,
		"coproc rm f":                        yes,
		"x=$(rm f)":                          yes,
		"$X f":                               perhaps,
		"$(which rm) f":                      perhaps,
		"r* f":                               perhaps,
		"$'\\x72m' f":                        perhaps,
		"bash script.sh":                     perhaps,
		"echo cm0gZgo= | base64 -d | sh":     perhaps,
		"bash <<E\nrm f\nE":                  perhaps,
		"eval \"$X\"":                        perhaps,
		". ./env":                            perhaps,
		"alias e=rm; e f":                    perhaps,
		"ssh host rm f":                      perhaps,
		"echo 'unfinished":                   perhaps,
		"echo rm":                            no,
		"echo 'rm f'":                        no,
		"grep -r rm .":                       no,
		"rmdir d":                            no,
		"ls *.py":                            no,
		"[ -f rm ] || ls":                    no,
		"# rm f":                             no,
		"python -m pytest -q":                no,
		"cat > f <<E\nrm f\nE":               no,
		"git rm f":                           no,
		"export A=1; ls":                     no,
		"for f in a b; do echo \"$f\"; done": no,
	} {
		if got := Analyze(command).runs(rm); got != want {
			t.Errorf("%q: %d, want %d (%+v)", command, got, want, Analyze(command))
		}
	}
	push := strings.Fields("git push")
	for command, want := range map[string]answer{
		"git push": yes, "git push origin main": yes, "git -C dir push": yes, "git -c a=b push -f": yes, "git --git-dir=x push": yes,
		"git $X": perhaps, "git pull": no, "git log push": no, "git": no,
		"git -C push log": yes, // which options take a value is not known: rather once too often
	} {
		if got := Analyze(command).runs(push); got != want {
			t.Errorf("%q: %d, want %d", command, got, want)
		}
	}
}

func TestWritesAreSeen(t *testing.T) {
	for command, want := range map[string]string{
		"echo x > f": "f", "echo x >> 'a b'": "a b", "x &> all": "all", "x 2> err": "err", "x >| f": "f", "x &>> f": "f", "x <> f": "f", "x << E\nE": "", "(x; y) > sub": "sub",
		"x 2>&1": "", "x < in": "", "x > $F": "?",
	} {
		got := ""
		for _, w := range Analyze(command).Writes {
			got = w.Text
			if w.Dynamic {
				got = "?"
			}
		}
		if got != want {
			t.Errorf("%q writes %q, want %q", command, got, want)
		}
	}
}

// R112
func TestAnalyzeEndsOnAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if rapid.Bool().Draw(t, "shell") {
			text = strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"rm ", "$(", ")", "'", "\"", "bash -c ", "eval ", "; ", "| ", "> ", "env ", "{", "}", "x ", "\n", "&", "`", "-S "})).Draw(t, "parts"), "")
		}
		Analyze(text)
	})
	deep := strings.Repeat("eval ", 200) + "rm"
	if got := Analyze(deep).runs([]string{"rm"}); got == no {
		t.Error("deep nesting hides a command")
	}
	if c := Analyze(strings.Repeat("env ", 100_000) + "x"); c.Problem == "" {
		t.Error("wrappers without end were followed")
	}
}
