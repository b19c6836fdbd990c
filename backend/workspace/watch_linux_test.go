package workspace

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// exhaustedEnv makes the test binary the child that has no inotify instances left.
const exhaustedEnv = "WORKSITE_TEST_EXHAUSTED"

// R154
// With all inotify instances used up the watch says so, goes on by looking, and
// still tells. The limit is set in a user namespace of its own, so that nobody else
// meets it.
func TestExhaustedWatchesDegrade(t *testing.T) {
	if os.Getenv(exhaustedEnv) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestExhaustedWatchesDegrade$", "-test.v")
		cmd.Env = append(os.Environ(), exhaustedEnv+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Skipf("skipped: no user namespaces here: %v", err)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	f := newFixture(t)
	f.write("a", "a")
	if err := os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0); err != nil {
		t.Skipf("skipped: the limit cannot be set here: %v", err)
	}
	ch, err := f.Watch(ctx, f.ws.ID)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-ch:
		if n.Degraded == "" {
			t.Fatalf("did not say so: %+v", n)
		}
		t.Log(n.Degraded)
	case <-time.After(20 * time.Second):
		t.Fatal("said nothing")
	}
	f.write("a", "changed")
	expect(t, ch, "a")
	f.write("sub/b", "b")
	expect(t, ch, "sub/b")
	f.remove("a")
	expect(t, ch, "a")
}
