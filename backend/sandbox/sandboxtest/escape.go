package sandboxtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"worksite/backend/domain"
	"worksite/backend/process"
	"worksite/backend/sandbox"
)

// Sandbox is what the suite tests.
type Sandbox interface {
	Spec(workspace string, kind ...domain.TaskKind) (sandbox.Spec, error)
	Run(ctx context.Context, s sandbox.Spec, c sandbox.Command) (sandbox.Result, error)
}

// Escape runs every attempt in a sandbox that open makes for a home folder, each with
// a world of its own. open skips the test where no sandbox can be had.
func Escape(t *testing.T, open func(t *testing.T, home, path string) Sandbox) {
	t.Helper()
	t.Setenv("WORKSITE_TEST_SECRET", "CANARY_ENVIRONMENT")
	for _, a := range attempts {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			w := newWorld(t, open)
			r := w.attempt(t, a, false)
			if strings.Contains(r.Text(), "PWNED") {
				t.Errorf("escaped: %s", r.Text())
			}
			if !strings.Contains(r.Text(), a.want) || r.Report.KilledBy == "sandbox" {
				t.Errorf("did not come to its end: %+v %s", r.Report, r.Text())
			}
			if r.TimedOut {
				t.Errorf("did not end: %s", r.Text())
			}
			if changed := w.changed(); len(changed) > 0 {
				t.Errorf("changed outside: %v", changed)
			}
		})
	}
}

// Controls runs the attempts that are harmless unsandboxed, where each must work.
func Controls(t *testing.T, open func(t *testing.T, home, path string) Sandbox) {
	t.Helper()
	t.Setenv("WORKSITE_TEST_SECRET", "CANARY_ENVIRONMENT")
	for _, a := range attempts {
		if !a.control {
			continue
		}
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			w := newWorld(t, open)
			r := w.attempt(t, a, true)
			if !a.changes && !strings.Contains(r.Text(), "PWNED") {
				t.Errorf("does not work even unsandboxed, so it proves nothing: %s", r.Text())
			}
			if a.changes && len(w.changed()) == 0 {
				t.Errorf("changes nothing even unsandboxed, so it proves nothing: %s", r.Text())
			}
		})
	}
}

// world is a home folder with canaries, two workspaces, a victim and services.
type world struct {
	box       Sandbox
	home      string
	ws, other string
	abstract  string
	victim    int
	tcp       net.Listener
	udp       net.PacketConn
	before    map[string]string
	datagrams chan struct{}
}

func newWorld(t *testing.T, open func(t *testing.T, home, path string) Sandbox) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{home: filepath.Join(base, "home"), datagrams: make(chan struct{}, 1)}
	w.ws, w.other = filepath.Join(w.home, "src", "ws"), filepath.Join(w.home, "src", "other")
	w.box = open(t, w.home, "/usr/local/bin:/usr/bin:/bin")
	for name, text := range map[string]string{
		".ssh/id_ed25519": "CANARY_KEY", ".aws/credentials": "CANARY_AWS", ".netrc": "CANARY_NETRC", ".config/gh/hosts.yml": "CANARY_GH",
		".bashrc": "# mine\n", "src/other/secret.txt": "CANARY_OTHER", "src/ws/file": "x\n", "src/ws/AGENTS.md": "rules\n",
	} {
		must(t, os.MkdirAll(filepath.Join(w.home, filepath.Dir(name)), 0o755))
		must(t, os.WriteFile(filepath.Join(w.home, name), []byte(text), 0o644))
	}
	must(t, os.Symlink(w.home, filepath.Join(w.ws, "link-home")))
	w.git(t, "init", "-q", "-b", "main")
	w.git(t, "add", "file", "AGENTS.md")
	w.git(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	w.services(t)
	w.before = w.look()
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) git(t *testing.T, args ...string) {
	t.Helper()
	r, err := process.Run(t.Context(), process.Spec{
		Argv: append([]string{"git"}, args...), Dir: w.ws, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1"}, Timeout: time.Minute,
	})
	must(t, err)
	if r.Code != 0 {
		t.Fatal(r.Text())
	}
}

// services are what must not be reached: sockets of three kinds and a process.
func (w *world) services(t *testing.T) {
	t.Helper()
	w.abstract = "worksite-test-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(filepath.Dir(w.home))
	var lc net.ListenConfig
	var err error
	w.tcp, err = lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = w.tcp.Close() }) // the test is over
	w.udp, err = lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	must(t, err)
	for _, addr := range []string{"@" + w.abstract, filepath.Join(w.home, "agent.sock"), filepath.Join(w.ws, "service.sock")} {
		l, err := listenUnix(t.Context(), addr)
		must(t, err)
		t.Cleanup(func() { _ = l.Close() }) // the test is over
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		b := make([]byte, 1500)
		for {
			if _, _, err := w.udp.ReadFrom(b); err != nil {
				return
			}
			select {
			case w.datagrams <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() { _ = w.udp.Close(); <-received }) // the reader ends only when it worked

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	started := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = process.Run(ctx, process.Spec{
			Argv: []string{"sh", "-c", "echo $$; exec sleep 7332 # worksite-victim"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
			OnOutput: func(p []byte) { w.victim, _ = strconv.Atoi(string(bytes.TrimSpace(p))); close(started) },
		})
	}()
	<-started
	t.Cleanup(func() { cancel(); <-ended })
}

// listenUnix listens also where the path is too long for a socket's name.
func listenUnix(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	if len(addr) < 100 {
		return lc.Listen(ctx, "unix", addr)
	}
	link, err := os.MkdirTemp("", "s")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(link)
	if err := os.Symlink(filepath.Dir(addr), filepath.Join(link, "d")); err != nil {
		return nil, err
	}
	return lc.Listen(ctx, "unix", filepath.Join(link, "d", filepath.Base(addr)))
}

func (w *world) attempt(t *testing.T, a attempt, unsandboxed bool) sandbox.Result {
	t.Helper()
	spec, err := w.box.Spec(w.ws)
	must(t, err)
	spec.Unsandboxed = unsandboxed
	spec.Limits = sandbox.Limits{TmpSize: 64 << 20, Memory: 512 << 20, FileSize: 256 << 20, Processes: 256}
	for k, v := range map[string]string{
		"WS": w.ws, "FAKE_HOME": w.home, "OTHER": w.other, "VICTIM": strconv.Itoa(w.victim), "ABSTRACT": w.abstract,
		"PORT": port(w.tcp.Addr()), "UPORT": port(w.udp.LocalAddr()),
	} {
		spec.Env[k] = v
	}
	argv := []string{"bash", "-c", a.code}
	if a.py {
		if _, err := process.LookPath("python3", "/usr/local/bin:/usr/bin:/bin"); err != nil {
			t.Skip("skipped: no python3")
		}
		argv = []string{"python3", "-c", prelude + a.code}
	}
	r, err := w.box.Run(t.Context(), spec, sandbox.Command{Argv: argv, Timeout: 30 * time.Second})
	must(t, err)
	return r
}

func port(a net.Addr) string {
	_, p, err := net.SplitHostPort(a.String())
	if err != nil {
		panic(err)
	}
	return p
}

// look takes a picture of everything that must not change: all of the home folder but
// what a command may write, which is the workspace without its control files.
func (w *world) look() map[string]string {
	seen := map[string]string{}
	_ = filepath.WalkDir(filepath.Dir(w.home), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		rel, inside := strings.CutPrefix(p, w.ws+"/")
		if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 && !d.IsDir() || info.Mode()&fs.ModeDevice != 0 {
			seen["set-id or device "+p] = ""
		}
		if inside && !control(rel) {
			return nil
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, _ := os.ReadFile(p)
			text += fmt.Sprintf(" %x", sha256.Sum256(b))
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			text += " " + to
		}
		seen[p] = text
		return nil
	})
	return seen
}

// control tells paths of the workspace that must stay what they were, or absent.
func control(rel string) bool {
	for _, c := range []string{".git/config", ".git/hooks", ".git/commondir", ".envrc", ".vscode", ".idea", ".mcp.json", "AGENTS.md", ".worksite"} {
		if rel == c || strings.HasPrefix(rel, c+"/") {
			return true
		}
	}
	return rel == ".git"
}

// changed lists what is different outside.
func (w *world) changed() []string {
	var out []string
	after := w.look()
	for p, was := range w.before {
		if now, ok := after[p]; !ok {
			out = append(out, "gone: "+p)
		} else if now != was {
			out = append(out, "changed: "+p)
		}
	}
	for p := range after {
		if _, ok := w.before[p]; !ok {
			out = append(out, "new: "+p)
		}
	}
	if state := processState(w.victim); state != "S" {
		out = append(out, "the victim's state is "+strconv.Quote(state))
	}
	if n := running("7331"); n > 0 {
		out = append(out, strconv.Itoa(n)+" processes survived")
	}
	select {
	case <-w.datagrams:
		out = append(out, "a datagram came out")
	case <-time.After(20 * time.Millisecond): // loopback delivers at once; this is slack for the reader
	}
	return out
}

func processState(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return f[0]
}

// running counts processes `sleep N`.
func running(n string) (count int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, _ := os.ReadFile(f); string(b) == "sleep\x00"+n+"\x00" {
			count++
		}
	}
	return count
}
