package sessions_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"worksite/backend/domain"
	"worksite/sessions"
)

// belief is what the recorded process was told until some instant.
type belief struct {
	head     string
	sessions map[domain.SessionID]*believed
}

type believed struct {
	hashes   []domain.Hash // acknowledged, by seq
	flight   int           // events that were about to be appended
	lease    domain.Lease
	leaving  *domain.Lease // the lease that was about to be
	deleting bool
	deleted  bool
}

func (b *belief) see(m *mark) {
	s := b.sessions[m.Session]
	if s == nil {
		s = &believed{}
		b.sessions[m.Session] = s
	}
	if m.Head != "" {
		b.head = m.Head
	}
	if !m.Acked {
		s.flight, s.leaving, s.deleting = len(m.Events), m.Lease, m.Deleted
		return
	}
	s.flight, s.leaving, s.deleting = 0, nil, false
	for _, e := range m.Events {
		s.hashes = append(s.hashes, e.Hash)
	}
	if m.Lease != nil {
		s.lease = *m.Lease
	}
	s.deleted = s.deleted || m.Deleted
}

func (b *belief) clone() *belief {
	c := &belief{head: b.head, sessions: map[domain.SessionID]*believed{}}
	for id, s := range b.sessions {
		one := *s
		c.sessions[id] = &one
	}
	return c
}

// damages counts crash points by what was wrong with them.
type damages struct {
	points, acked            int
	lost, corrupt, bad, odds int
	first                    string
}

func (d *damages) add(o damages) {
	d.points += o.points
	d.acked += o.acked
	d.lost += o.lost
	d.corrupt += o.corrupt
	d.bad += o.bad
	d.odds += o.odds
	d.first = cmp.Or(d.first, o.first)
}

func (d *damages) note(n *int, format string, args ...any) {
	*n = 1
	d.first = cmp.Or(d.first, fmt.Sprintf(format, args...))
}

// examine opens what a crash left and compares it with what was believed.
func examine(ctx context.Context, dir string, b *belief) (d damages) {
	d.points = 1
	s, err := sessions.Open(ctx, sessions.Config{Dir: dir})
	if err != nil {
		d.note(&d.corrupt, "open: %v", err)
		return d
	}
	defer s.Close()
	if o := s.Opened(); o.SetAside != "" || o.Rebuilt || o.KeySetAside != "" || o.Backup != "" {
		d.note(&d.corrupt, "opened: %+v", o)
	} else if o.Missing > 0 {
		d.note(&d.lost, "opened: %+v", o)
	}
	r, err := s.Verify(ctx, "")
	if err != nil {
		d.note(&d.corrupt, "verify: %v", err)
	} else if !r.OK() {
		d.note(&d.bad, "verify: %v", r.Bad)
	}
	for id, want := range b.sessions {
		d.acked += len(want.hashes)
		examineSession(ctx, s, id, want, &d)
	}
	return d
}

func examineSession(ctx context.Context, s *sessions.Store, id domain.SessionID, want *believed, d *damages) {
	events, err := s.Read(ctx, id, domain.Span{})
	if domain.CodeOf(err) == domain.CodeNotFound {
		if len(want.hashes) > 0 && !want.deleted && !want.deleting {
			d.note(&d.lost, "%s is not there", id)
		}
		return
	}
	if err != nil {
		d.note(&d.corrupt, "read: %v", err)
		return
	}
	if want.deleted {
		d.note(&d.lost, "%s was deleted and is there", id)
	}
	if extra := len(events) - len(want.hashes); extra < 0 {
		d.note(&d.lost, "%d of %d events are there", len(events), len(want.hashes))
	} else if extra != 0 && extra != want.flight {
		d.note(&d.bad, "%d events are there, %d were acknowledged, %d were under way", len(events), len(want.hashes), want.flight)
	}
	generation := int64(0)
	for i, e := range events {
		if i < len(want.hashes) && e.Hash != want.hashes[i] {
			d.note(&d.lost, "event %d of %s is another", e.Seq, id)
		}
		generation = max(generation, e.Generation)
	}
	lease, _, err := s.LeaseOf(ctx, id)
	if err != nil {
		d.note(&d.corrupt, "lease: %v", err)
	}
	as := func(l *domain.Lease) bool {
		return l != nil && l.Holder == lease.Holder && l.Generation == lease.Generation
	}
	same := as(&want.lease) && want.lease.ExpiresAt.Equal(lease.ExpiresAt) || as(want.leaving)
	if !same || lease.Generation < generation {
		d.note(&d.odds, "the lease is %+v, was %+v, was to be %+v; events have generation %d", lease, want.lease, want.leaving, generation)
	}
}

// recorder compiles the shim.
func recorder(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("skipped: writes are recorded by LD_PRELOAD, on Linux")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("skipped: no C compiler")
	}
	lib := filepath.Join(t.TempDir(), "recorder.so")
	if out, err := exec.CommandContext(t.Context(), cc, "-O2", "-fPIC", "-shared", "-o", lib, "testdata/recorder.c", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("compile the recorder: %v\n%s", err, out)
	}
	return lib
}

// scratch is a folder in memory if there is one: what is examined is copied often.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "worksite-powercut-") //nolint:usetesting // t.TempDir is on the disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// recordRun lets a child run and returns its record, its folder and its key.
func recordRun(t *testing.T, lib string, seed int, mode string, steps int) (records []record, dir string, key []byte) {
	t.Helper()
	top, err := filepath.EvalSymlinks(scratch(t))
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(top, "data")
	log := filepath.Join(top, "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleEnv+"=powercut", dirEnv+"="+dir, argEnv+"="+fmt.Sprintf("%d %s %d", seed, mode, steps),
		"LD_PRELOAD="+lib, "RECORDER_DIR="+dir, recorderLog+"="+log)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the recorded process: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if records, err = parseRecords(raw); err != nil {
		t.Fatal(err)
	}
	if key, err = os.ReadFile(filepath.Join(dir, "cell.key")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(top); err != nil {
		t.Fatal(err)
	}
	return records, dir, key
}

// powerCuts records a run and examines points of it, each with one of the fates.
func powerCuts(t *testing.T, lib string, seed int, mode string, steps, points int) (sum damages, writes int) {
	t.Helper()
	records, dir, key := recordRun(t, lib, seed, mode, steps)
	begun := slices.IndexFunc(records, func(r record) bool { return r.mark != nil && r.mark.Acked })
	if begun < 0 || len(records)-begun < steps {
		t.Fatalf("%d records, the first acknowledgement is number %d: nothing to cut", len(records), begun)
	}
	r := rand.New(rand.NewPCG(uint64(seed), 512))
	at := map[int][]fate{} // after how many records
	for n := range points {
		i := begun + 1 + r.IntN(len(records)-begun)
		at[i] = append(at[i], fate(n)%fates)
	}
	type job struct {
		files map[string][]byte
		b     *belief
		what  string
	}
	jobs := make(chan job)
	var mu sync.Mutex
	var wg sync.WaitGroup
	top := scratch(t)
	for w := range 2 {
		wg.Go(func() {
			for j := range jobs {
				to := filepath.Join(top, fmt.Sprint(w))
				d := damages{corrupt: 1, first: "the test's own folder"}
				if err := lay(to, j.files, key, j.b.head); err == nil {
					d = examine(t.Context(), to, j.b)
				} else {
					t.Error(err)
				}
				if d.first != "" {
					d.first = j.what + ": " + d.first
				}
				mu.Lock()
				sum.add(d)
				mu.Unlock()
				if err := os.RemoveAll(to); err != nil {
					t.Error(err)
				}
			}
		})
	}
	disk, b := newDisk(dir), &belief{sessions: map[domain.SessionID]*believed{}}
	for i, rec := range records {
		if rec.mark != nil {
			b.see(rec.mark)
		} else if err := disk.do(rec); err != nil {
			t.Fatal(err)
		} else {
			writes++
		}
		for _, how := range at[i+1] {
			jobs <- job{disk.cut(how, r), b.clone(), fmt.Sprintf("seed %d, after record %d of %d, fate %d", seed, i+1, len(records), how)}
		}
	}
	close(jobs)
	wg.Wait()
	return sum, writes
}

// lay puts the files of a crash into a folder.
func lay(dir string, files map[string][]byte, key []byte, head string) error {
	if err := os.MkdirAll(filepath.Join(dir, "heads"), 0o700); err != nil {
		return err
	}
	all := map[string][]byte{"cell.key": key}
	if head != "" {
		all["heads/checkpoint"] = []byte(head)
	}
	for n, b := range files {
		all[n] = b
	}
	for n, b := range all {
		if err := os.WriteFile(filepath.Join(dir, n), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// R65, R117, R135: the power goes at any instant of a real run, and of what was
// not flushed the disk has nothing, all, single sectors, or any of it in any
// order: everything acknowledged is there, nothing is corrupt, every chain, head
// and signature holds, and the leases are those of the ledger. The same with less
// than synchronous=FULL shows that the test can see a loss.
func TestPowerCut(t *testing.T) {
	lib := recorder(t)
	runs, points, controls, steps := 3, 100, 40, 36
	if soaking() {
		runs, points, controls, steps = 40, 250, 500, 180
	}
	var full damages
	writes := 0
	for seed := range runs {
		d, n := powerCuts(t, lib, seed, "FULL", steps, points)
		full.add(d)
		writes += n
	}
	figure(t, "power cut, FULL", "%d points in %d writes and flushes of %d runs, %d acknowledged events looked for: %d points with one lost, %d corrupt, %d chains broken, %d leases wrong",
		full.points, writes, runs, full.acked, full.lost, full.corrupt, full.bad, full.odds)
	if full.lost+full.corrupt+full.bad+full.odds > 0 {
		t.Error(full.first)
	}
	if full.acked < full.points*20 {
		t.Errorf("only %d events were looked for at %d points: the test shows nothing", full.acked, full.points)
	}
	for i, mode := range []string{"NORMAL", "OFF"} {
		d, _ := powerCuts(t, lib, 1000+i, mode, steps, controls)
		figure(t, "power cut, control "+mode, "%d points: %d with one lost, %d corrupt, %d chains broken, %d leases wrong", d.points, d.lost, d.corrupt, d.bad, d.odds)
		if d.lost+d.corrupt < controls/10 {
			t.Errorf("synchronous=%s lost at %d of %d points: the test cannot see a loss", mode, d.lost+d.corrupt, d.points)
		}
	}
}

// soaking reports whether the long forms are asked for.
func soaking() bool { return os.Getenv("WORKSITE_SOAK") != "" }

// figure prints one line of the table that `make soak` shows.
func figure(t *testing.T, name, format string, args ...any) {
	t.Helper()
	t.Logf("figure: %s | %s", name, fmt.Sprintf(format, args...))
}
