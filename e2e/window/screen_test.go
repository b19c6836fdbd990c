//go:build linux

package window

import (
	"bufio"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests; a loaded machine of two cores needs
// a few seconds for the slowest step, starting WebKit.
const patience = 60 * time.Second

// python is the system's own: the one that has GTK.
const python = "/usr/bin/python3"

// screen is a virtual display with a window manager and a session bus.
type screen struct {
	t    *testing.T
	env  []string // of every program on it
	shot int
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	if os.Getenv("WORKSITE_WINDOW") != "1" {
		t.Skip("skipped: set WORKSITE_WINDOW=1, or run `make window-smoke`")
	}
	s := &screen{t: t}
	home := t.TempDir()
	runtimeDir := filepath.Join(home, "run")
	if err := os.Mkdir(runtimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + runtimeDir,
		"LANG=C.UTF-8", "NO_AT_BRIDGE=0", "GTK_A11Y=atspi", "GTK_THEME=Adwaita",
	}

	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	x := s.command("Xvfb", "-displayfd", "3", "-screen", "0", "1600x1000x24", "-nolisten", "tcp", "-noreset")
	x.ExtraFiles = []*os.File{write}
	s.start(x)
	write.Close()
	display := firstLine(t, read, "Xvfb's display number")
	s.env = append(s.env, "DISPLAY=:"+display)

	bus := s.command("dbus-daemon", "--session", "--nofork", "--nosyslog", "--print-address=3")
	if read, write, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	bus.ExtraFiles = []*os.File{write}
	s.start(bus)
	write.Close()
	s.env = append(s.env, "DBUS_SESSION_BUS_ADDRESS="+firstLine(t, read, "the session bus"))

	s.start(s.command("openbox"))
	s.eventually("the window manager", func() (bool, string) {
		out, err := s.command("xdotool", "get_desktop").CombinedOutput()
		return err == nil, string(out)
	})
	return s
}

func firstLine(t *testing.T, r *os.File, what string) string {
	t.Helper()
	defer r.Close()
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return strings.TrimSpace(line)
}

// command is a program on this screen.
func (s *screen) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Env = s.env
	return cmd
}

// start runs cmd until the test's end; what it prints is shown when the test fails.
func (s *screen) start(cmd *exec.Cmd) *program {
	s.t.Helper()
	p := &program{cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p
	}
	cmd.Stderr = p
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("start %s: %v", cmd.Path, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	s.t.Cleanup(func() {
		p.kill()
		if s.t.Failed() {
			s.t.Logf("%s printed:\n%s", filepath.Base(cmd.Path), p.output())
		}
	})
	return p
}

// program is a running program.
type program struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // once done

	mu  sync.Mutex
	out []byte
}

func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = append(p.out, b...)
	return len(b), nil
}

func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.out)
}

// kill ends the program and what it started, at once, as a power cut would.
func (p *program) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended by itself
	<-p.done
}

func (p *program) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// eventually waits until check says yes; the text tells what was seen last.
func (s *screen) eventually(what string, check func() (bool, string)) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, seen := check()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			s.picture("failed")
			s.t.Fatalf("waited %s for %s; last seen: %s", patience, what, seen)
		}
		time.Sleep(100 * time.Millisecond) // a poll; the deadline above decides
	}
}

// xdotool runs one xdotool command line.
func (s *screen) xdotool(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "xdotool", args...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("xdotool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// windowID waits for a window with exactly this title.
func (s *screen) windowID(title string) string {
	s.t.Helper()
	var id string
	s.eventually("a window called "+title, func() (bool, string) {
		out, err := s.command("xdotool", "search", "--onlyvisible", "--name", "^"+title+"$").Output()
		ids := strings.Fields(string(out))
		if err != nil || len(ids) == 0 {
			return false, "no such window"
		}
		id = ids[len(ids)-1]
		return true, ""
	})
	return id
}

func (s *screen) moveWindow(id string, x, y, w, h int) {
	s.t.Helper()
	s.xdotool("windowsize", id, strconv.Itoa(w), strconv.Itoa(h))
	s.xdotool("windowmove", id, strconv.Itoa(x), strconv.Itoa(y))
}

func (s *screen) click(x, y int) {
	s.t.Helper()
	s.xdotool("mousemove", strconv.Itoa(x), strconv.Itoa(y), "click", "1")
}

func (s *screen) key(keys ...string) {
	s.t.Helper()
	s.xdotool(append([]string{"key", "--clearmodifiers"}, keys...)...)
}

func (s *screen) typeText(text string) {
	s.t.Helper()
	s.xdotool("type", "--delay", "8", text)
}

// drag takes the files from a real drag source and drops them at x, y.
func (s *screen) drag(x, y int, paths ...string) {
	s.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	defer read.Close()
	source := s.command(python, append([]string{"dragsource.py"}, paths...)...)
	source.Stdout = write
	p := s.start(source)
	write.Close()
	lines := bufio.NewReader(read)
	said := func(want string) {
		s.t.Helper()
		if err := read.SetReadDeadline(time.Now().Add(patience)); err != nil {
			s.t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, want) {
			s.picture("drag-failed")
			s.t.Fatalf("the drag source said %q (%v), want %s\n%s", line, err, want, p.output())
		}
	}
	said("ready")
	id := s.windowID("dragsource")
	s.moveWindow(id, 1400, 820, 160, 120)
	s.xdotool("windowactivate", "--sync", id)
	// GTK starts a drag after the pointer moved a few pixels with the button held,
	// and a target has to answer before the drop: so it goes in small steps.
	step := func(x, y int) { s.xdotool("mousemove", strconv.Itoa(x), strconv.Itoa(y), "sleep", "0.03") }
	const fromX, fromY = 1480, 890
	step(fromX, fromY)
	s.xdotool("mousedown", "1")
	for i := 1; i <= 6; i++ {
		step(fromX-4*i, fromY-3*i)
	}
	said("begin")
	const steps = 14
	for i := 1; i <= steps; i++ {
		step(fromX-24+(x-fromX+24)*i/steps, fromY-18+(y-fromY+18)*i/steps)
	}
	for _, d := range []int{1, 0, 1, 0} {
		s.xdotool("mousemove", strconv.Itoa(x+d), strconv.Itoa(y), "sleep", "0.15")
	}
	s.xdotool("mouseup", "1")
	said("end")
	p.kill()
}

// picture keeps the whole screen under out/ and returns it.
func (s *screen) picture(name string) image.Image {
	s.t.Helper()
	if err := os.MkdirAll("out", 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.shot++
	path := filepath.Join("out", fmt.Sprintf("%s-%02d-%s.png", s.t.Name(), s.shot, name))
	if out, err := s.command("import", "-window", "root", path).CombinedOutput(); err != nil {
		s.t.Errorf("picture: %v\n%s", err, out)
		return image.NewUniform(image.Black)
	}
	f, err := os.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		s.t.Fatal(err)
	}
	return img
}

// colours counts the distinct colours of a part of the screen, up to 1,000.
func colours(img image.Image, part image.Rectangle) int {
	seen := map[[3]uint32]bool{}
	part = part.Intersect(img.Bounds())
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
			if len(seen) >= 1000 {
				return len(seen)
			}
		}
	}
	return len(seen)
}
