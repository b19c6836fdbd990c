package sessions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"worksite/backend/domain"
	"worksite/sessions"
)

// smallDisk mounts a file system of a few pages, if the test may.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("skipped: a small disk needs the right to mount one (%v)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// R119: a full disk: nothing is acknowledged that is not there, what was is safe,
// the refusal says so and what to do, and with space it goes on.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "2m")
	s := openStore(t, dir)
	id := newSession(t, s)
	acked := int64(1)
	var err error
	for n := 0; err == nil; n++ {
		var events []domain.Event
		events, err = s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{
			{Payload: domain.MessageSent{V: 1, MessageID: "msg_1", Text: strings.Repeat(fmt.Sprint(n), 3000)}},
		}})
		if err == nil {
			acked = events[0].Seq
		}
		if n > 10_000 {
			t.Fatal("the disk does not fill")
		}
	}
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "safe") || domain.HintOf(err) == "" {
		t.Errorf("the refusal: %v, hint %q", err, domain.HintOf(err))
	}
	events, readErr := s.Read(t.Context(), id, domain.Span{})
	if readErr != nil || int64(len(events)) != acked {
		t.Errorf("%d events are there, %d were acknowledged (%v)", len(events), acked, readErr)
	}
	if r, err := s.Verify(t.Context(), ""); err != nil || !r.OK() {
		t.Errorf("verify on a full disk: %v, %v", r.Bad, err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	if e := add(t, s, id, domain.SessionRenamed{V: 1, Title: "space again"}); e[0].Seq != acked+1 {
		t.Errorf("goes on with seq %d after %d", e[0].Seq, acked)
	}
}

// A start on a full disk, or in a folder that cannot be written, shows what is
// there and refuses to write, with the remedy.
func TestStartWithoutWriting(t *testing.T) {
	for name, block := range map[string]func(*testing.T, string){
		"full": func(t *testing.T, dir string) {
			t.Helper()
			f, err := os.Create(filepath.Join(dir, "filler"))
			if err != nil {
				t.Fatal(err)
			}
			block := make([]byte, 4096)
			for err == nil {
				_, err = f.Write(block)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"read-only": func(t *testing.T, dir string) {
			t.Helper()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := smallDisk(t, "4m")
			s, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			id := newSession(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			block(t, dir)
			s = openStore(t, dir)
			v, err := s.View(t.Context(), id)
			if err != nil || v.LastSeq != 1 {
				t.Errorf("%+v, %v", v, err)
			}
			_, err = s.Append(t.Context(), domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: message()}}})
			if domain.CodeOf(err) != domain.CodeUnavailable || domain.HintOf(err) == "" {
				t.Errorf("append: %v, hint %q", err, domain.HintOf(err))
			}
			if len(s.Report()) == 0 {
				t.Error("the person is not told")
			}
			if r, err := s.Verify(t.Context(), ""); err != nil || !r.OK() || r.Events != 1 {
				t.Errorf("%+v %v %v", r, r.Bad, err)
			}
		})
	}
	if os.Geteuid() != 0 {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		_, err := sessions.Open(t.Context(), sessions.Config{Dir: dir})
		if domain.CodeOf(err) != domain.CodeUnavailable || domain.HintOf(err) == "" {
			t.Errorf("a new ledger where nothing can be written: %v", err)
		}
	}
}
