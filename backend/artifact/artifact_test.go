package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"worksite/backend/domain"
)

// memory keeps the contract of Blobs.
type memory struct {
	mu   sync.Mutex
	m    map[domain.Hash][]byte
	puts int
}

func (m *memory) Put(ctx context.Context, r io.Reader) (domain.Hash, int64, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return domain.Hash{}, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts++
	m.m[domain.HashBytes(b)] = b
	return domain.HashBytes(b), int64(len(b)), ctx.Err()
}

func (m *memory) Open(h domain.Hash) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.m[h]
	if !ok {
		return nil, domain.Errorf(domain.CodeNotFound, "no blob %s", h)
	}
	return io.NopCloser(&verified{bytes.NewReader(b), h, b}), nil
}

type verified struct {
	*bytes.Reader
	want domain.Hash
	all  []byte
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.Reader.Read(p)
	if errors.Is(err, io.EOF) && domain.HashBytes(v.all) != v.want {
		return n, errors.New("blob is damaged")
	}
	return n, err
}

func (v *verified) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{v})
}

func open(t *testing.T, dir string, blobs Blobs) *Store {
	t.Helper()
	s, err := Open(Config{Dir: dir, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newStore(t *testing.T) (*Store, *memory) {
	t.Helper()
	m := &memory{m: map[domain.Hash][]byte{}}
	return open(t, t.TempDir(), m), m
}

func promote(t *testing.T, s *Store, call domain.CallID, name, content string) domain.ArtifactRef {
	t.Helper()
	ref, err := s.Promote(t.Context(), Promotion{Session: "ses_1", CallID: call, Name: name, Source: "out/" + name, By: Agent}, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// R38
func TestConcurrentPromotionsGiveConsecutiveRevisions(t *testing.T) {
	m := &memory{m: map[domain.Hash][]byte{}}
	dir := t.TempDir()
	stores := []*Store{open(t, dir, m), open(t, dir, m)} // as two processes
	const n = 20
	revisions := make([]int, n)
	ids := make([]domain.ArtifactID, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			ref, err := stores[i%2].Promote(t.Context(), Promotion{Session: "ses_1", Name: "report.md", By: Agent}, strings.NewReader(fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
			}
			revisions[i], ids[i] = ref.Revision, ref.ID
		})
	}
	wg.Wait()
	slices.Sort(revisions)
	for i, r := range revisions {
		if r != i || ids[i] != ids[0] {
			t.Fatalf("revisions %v, ids %v", revisions, ids)
		}
	}
	// Never used again, whatever is deleted.
	if err := stores[0].Delete(t.Context(), ids[0], n-1); err != nil {
		t.Fatal(err)
	}
	if ref := promote(t, stores[1], "", "report.md", "new"); ref.Revision != n {
		t.Fatalf("revision %d after deleting %d", ref.Revision, n-1)
	}
	if ref := promote(t, stores[1], "", "other.md", "new"); ref.Revision != 0 || ref.ID == ids[0] {
		t.Fatalf("another name: %+v", ref)
	}
}

// R44
func TestPromoteIsIdempotentByCall(t *testing.T) {
	s, m := newStore(t)
	first := promote(t, s, "call_1", "a.md", "one")
	again := promote(t, s, "call_1", "a.md", "two, after a crash")
	if again != first || m.puts != 1 {
		t.Fatalf("%+v and %+v, %d puts", first, again, m.puts)
	}
	got, ok, err := s.PromotedBy(t.Context(), "ses_1", "call_1")
	if err != nil || !ok || got != first {
		t.Fatalf("%+v %v %v", got, ok, err)
	}
	if _, ok, _ := s.PromotedBy(t.Context(), "ses_2", "call_1"); ok {
		t.Fatal("another session's call")
	}
	if second := promote(t, s, "", "a.md", "one"); second.Revision != 1 {
		t.Fatalf("%+v", second)
	}
	if third := promote(t, s, "", "a.md", "one"); third.Revision != 2 { // "" is no call
		t.Fatalf("%+v", third)
	}
}

func TestPromoteKeepsNothingWhenItsReaderFails(t *testing.T) {
	s, _ := newStore(t)
	broken := domain.Errorf(domain.CodeConflict, "changed meanwhile")
	_, err := s.Promote(t.Context(), Promotion{Session: "ses_1", Name: "a", By: Agent}, io.MultiReader(strings.NewReader("x"), failing{broken}))
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Fatal(err)
	}
	if list, _ := s.List(t.Context(), ""); len(list) != 0 {
		t.Fatalf("%+v", list)
	}
	for _, name := range []string{"", "..", "a/b", "a\x00", strings.Repeat("x", 256)} {
		if _, err := s.Promote(t.Context(), Promotion{Session: "ses_1", Name: name, By: Agent}, strings.NewReader("")); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// R45 R60
func TestProducedValidatedAdoptedAreSeparateFacts(t *testing.T) {
	s, _ := newStore(t)
	ref := promote(t, s, "call_1", "a.csv", "a,b\n1,2\n")
	a, err := s.Get(t.Context(), ref.ID, 0)
	if err != nil || a.Produced == nil || a.Produced.By != Agent || a.Validated != nil || a.Adopted != nil || a.Withdrawn != nil || a.Source != "out/a.csv" {
		t.Fatalf("%+v %v", a, err)
	}
	if _, err := s.Validate(t.Context(), ref.ID, 0, "", "check"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("validated without a check: %v", err)
	}
	for _, by := range []string{"", Agent} {
		if _, err := s.Adopt(t.Context(), ref.ID, 0, by, ""); domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("adopted by %q: %v", by, err)
		}
	}
	v, err := s.Validate(t.Context(), ref.ID, 0, "pytest -q", "check")
	if err != nil || v.Artifact != ref || v.Check != "pytest -q" {
		t.Fatalf("%+v %v", v, err)
	}
	if a, _ = s.Get(t.Context(), ref.ID, 0); a.Validated == nil || a.Validated.Detail != "pytest -q" || a.Adopted != nil {
		t.Fatalf("validated alone: %+v", a)
	}
	if _, err := s.Adopt(t.Context(), ref.ID, 0, "you", "/tmp/a.csv"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Withdraw(t.Context(), ref.ID, 0, "you"); err != nil {
		t.Fatal(err)
	}
	a, _ = s.Get(t.Context(), ref.ID, 0)
	if a.Adopted.By != "you" || a.Adopted.Detail != "/tmp/a.csv" || a.Withdrawn == nil || a.Validated == nil || a.Produced == nil {
		t.Fatalf("%+v", a)
	}
	if _, err := s.db.Exec("UPDATE mark SET by = 'me'"); err == nil {
		t.Error("a fact was changed")
	}
	if _, err := s.db.Exec("DELETE FROM mark"); err == nil {
		t.Error("a fact was removed")
	}
	if _, err := s.Adopt(t.Context(), ref.ID, 7, "you", ""); domain.CodeOf(err) != domain.CodeNotFound {
		t.Error(err)
	}
}

// R11 R28 R43
func TestFoundBySessionAndReadWithoutTheWorkspace(t *testing.T) {
	s, m := newStore(t)
	file := filepath.Join(t.TempDir(), "report.md")
	if err := os.WriteFile(file, []byte("# R"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Promote(t.Context(), Promotion{Session: "ses_1", Name: "report.md", Source: "report.md", By: Agent}, f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	promote(t, s, "", "b.txt", "b")
	if _, err := s.Promote(t.Context(), Promotion{Session: "ses_2", Name: "report.md", By: Agent}, strings.NewReader("other")); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), "ses_1")
	if err != nil || len(list) != 2 || list[0].Ref.Name != "b.txt" || list[1].Ref != ref {
		t.Fatalf("%+v %v", list, err)
	}
	if all, _ := s.List(t.Context(), ""); len(all) != 3 {
		t.Fatalf("%d of 3", len(all))
	}
	r, a, err := s.Open(t.Context(), ref.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	r.Close()
	if err != nil || string(b) != "# R" || a.Ref.MediaType != "text/markdown" {
		t.Fatalf("%q %+v %v", b, a, err)
	}
	// Deleted: the bytes are no longer wanted, the facts stay.
	if err := s.Delete(t.Context(), ref.ID, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(t.Context(), ref.ID, 0); domain.CodeOf(err) != domain.CodeNotFound {
		t.Error(err)
	}
	if got, err := s.Get(t.Context(), ref.ID, 0); err != nil || !got.Deleted || got.Produced == nil {
		t.Errorf("%+v %v", got, err)
	}
	wanted, err := s.Referenced(t.Context())
	if err != nil || len(wanted) != 2 || slices.Contains(wanted, ref.SHA256) || len(m.m) != 3 {
		t.Errorf("%v %v", wanted, err)
	}
}

func TestSaveNeverClobbersSilently(t *testing.T) {
	s, m := newStore(t)
	ref := promote(t, s, "", "a.md", "content")
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.md")
	if err := s.Save(t.Context(), ref.ID, 0, path, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), ref.ID, 0, path, false); domain.CodeOf(err) != domain.CodeConflict || domain.HintOf(err) == "" {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "edited" {
		t.Fatalf("clobbered: %q", b)
	}
	if err := s.Save(t.Context(), ref.ID, 0, path, true); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "content" {
		t.Fatalf("%q", b)
	}
	// Damaged bytes reach no file, and nothing is left behind.
	m.m[ref.SHA256] = []byte("damaged")
	if err := s.Save(t.Context(), ref.ID, 0, path, true); err == nil {
		t.Fatal("saved damaged bytes")
	}
	if b, _ := os.ReadFile(path); string(b) != "content" {
		t.Fatalf("%q", b)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Fatalf("left behind: %v", entries)
	}
	if err := s.Save(t.Context(), ref.ID, 0, "relative.md", false); domain.CodeOf(err) != domain.CodeInvalid {
		t.Error(err)
	}
	// A name that is taken between the look and the end is not clobbered either.
	tmp := filepath.Join(dir, "tmp")
	if err := os.WriteFile(tmp, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := place(tmp, path); !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}

// R144
func TestDamagedDatabaseIsSetAsideAndRebuiltFromEvents(t *testing.T) {
	m := &memory{m: map[domain.Hash][]byte{}}
	dir := t.TempDir()
	s := open(t, dir, m)
	promote(t, s, "call_1", "a.md", "one")
	ref := promote(t, s, "call_2", "a.md", "two")
	v, err := s.Validate(t.Context(), ref.ID, 1, "pytest", "check")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	path := filepath.Join(dir, "artifacts.db")
	for _, sfx := range []string{"-wal", "-shm"} {
		os.Remove(path + sfx)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, m)
	if len(s.Report()) != 1 || !strings.Contains(s.Report()[0], "set aside") {
		t.Fatalf("report %q", s.Report())
	}
	if left, _ := filepath.Glob(path + ".damaged-*"); len(left) != 1 {
		t.Fatalf("set aside: %v", left)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for range 2 { // idempotent
		apply(t, s, at, domain.ArtifactPromoted{V: 1, CallID: "call_2", Artifact: ref, Source: "out/a.md", By: Agent})
		apply(t, s, at, v)
		apply(t, s, at, domain.RunFinished{V: 1}) // not ours
	}
	a, err := s.Get(t.Context(), ref.ID, 1)
	if err != nil || a.Ref != ref || !a.Produced.At.Equal(at) || a.Validated == nil || a.CallID != "call_2" {
		t.Fatalf("%+v %v", a, err)
	}
	if next := promote(t, s, "", "a.md", "three"); next.Revision != 2 || next.ID != ref.ID {
		t.Fatalf("%+v", next)
	}
}

func apply(t *testing.T, s *Store, at time.Time, p domain.Payload) {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), domain.Event{Session: "ses_1", Kind: p.Kind(), Payload: raw, CreatedAt: at}); err != nil {
		t.Fatal(err)
	}
}

func TestApplyAfterTheFactAddsNothing(t *testing.T) {
	s, _ := newStore(t)
	ref := promote(t, s, "call_1", "a.md", "one")
	v, _ := s.Validate(t.Context(), ref.ID, 0, "pytest", "check")
	before := count(t, s)
	apply(t, s, time.Now(), domain.ArtifactPromoted{V: 1, CallID: "call_1", Artifact: ref, By: Agent})
	apply(t, s, time.Now(), v)
	if after := count(t, s); after != before {
		t.Fatalf("%d facts, then %d", before, after)
	}
}

func count(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.db.QueryRow("SELECT count(*) FROM mark").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMediaTypes(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	for name, c := range map[string]struct{ content, want, preview string }{
		"a.md":     {"# T\n", "text/markdown", "markdown"},
		"a.csv":    {"a,b\n1,2\n", "text/csv", "csv"},
		"a.PNG":    {png, "image/png", "image"},
		"fake.png": {"<script>alert(1)</script>", "text/html", "text"},
		"fake.md":  {png, "image/png", "image"},
		"a.json":   {`{"a":1}`, "application/json", "text"},
		"a.py":     {"import os\n", "text/x-python", "text"},
		"notes":    {"plain words\n", "text/plain", "text"},
		"empty.md": {"", "text/markdown", "markdown"},
		"a.pdf":    {"%PDF-1.7\n", "application/pdf", "none"},
		"a.bin":    {"\x00\x01\x02\x03", "application/octet-stream", "none"},
		"a.svg":    {`<svg xmlns="http://www.w3.org/2000/svg"></svg>`, "image/svg+xml", "image"},
	} {
		got := MediaType(name, []byte(c.content))
		if got != c.want || Preview(got) != c.preview {
			t.Errorf("%s: %s, %s; want %s, %s", name, got, Preview(got), c.want, c.preview)
		}
	}
}
