package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"worksite/backend/domain"
)

func open(t testing.TB) *Store {
	t.Helper()
	s, err := New(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPutOpenRoundTrip(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	big := make([]byte, 3<<20)
	rand.Read(big)
	for _, b := range [][]byte{nil, []byte("a"), []byte("a\r\nb\x00"), big} {
		h, n, err := s.Put(ctx, bytes.NewReader(b))
		if err != nil || n != int64(len(b)) || h != domain.HashBytes(b) {
			t.Fatalf("put: %v %d %v", h, n, err)
		}
		if h2, err := s.PutBytes(ctx, b); err != nil || h2 != h {
			t.Fatalf("put again: %v %v", h2, err)
		}
		got, err := s.Read(h, 0)
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("read: %d bytes, %v", len(got), err)
		}
	}
	if _, err := s.Read(domain.HashBytes(big), 10); domain.CodeOf(err) != domain.CodeTooLarge {
		t.Fatalf("limit: %v", err)
	}
	if _, err := s.Open(domain.HashBytes([]byte("never"))); domain.CodeOf(err) != domain.CodeNotFound {
		t.Fatalf("missing: %v", err)
	}
	left, _ := os.ReadDir(filepath.Join(s.dir, "tmp"))
	if len(left) != 0 {
		t.Fatalf("temporary files left: %v", left)
	}
}

func TestPutCancelled(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := s.Put(ctx, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	left, _ := os.ReadDir(filepath.Join(s.dir, "tmp"))
	if len(left) != 0 || s.Has(domain.HashBytes([]byte("x"))) {
		t.Fatal("a cancelled put left something behind")
	}
}

// A damaged blob is reported when it is read and healed when it is put again.
func TestDamageIsSeenAndHealed(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	h, err := s.PutBytes(ctx, []byte("precious"))
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(s.path(h), 0o600)
	if err := os.WriteFile(s.path(h), []byte("precioux"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(h); domain.CodeOf(err) != domain.CodeInternal || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("verify: %v", err)
	}
	if err := os.WriteFile(s.path(h), []byte("prec"), 0o600); err != nil { // cut short by a full disk
		t.Fatal(err)
	}
	if _, err := s.PutBytes(ctx, []byte("precious")); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(h); err != nil {
		t.Fatalf("after putting again: %v", err)
	}
}

func TestBatch(t *testing.T) {
	for _, n := range []int{1, 3, syncEach + 5, packMin * 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := open(t)
			ctx := context.Background()
			b := s.Batch()
			var want [][]byte
			for i := range n {
				want = append(want, []byte(strings.Repeat(fmt.Sprintf("line %d\n", i), i%50)))
			}
			want = append(want, bytes.Repeat([]byte("large"), packSmall))
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for i := w; i < len(want); i += 3 { // overlapping on purpose
						if err := b.PutBytes(ctx, domain.HashBytes(want[i]), want[i]); err != nil {
							t.Error(err)
						}
					}
				}()
			}
			wg.Wait()
			if err := b.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			again, err := New(s.dir) // as another process sees it
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				for _, st := range []*Store{s, again} {
					if got, err := st.Read(domain.HashBytes(w), 0); err != nil || !bytes.Equal(got, w) {
						t.Fatalf("read back: %v", err)
					}
				}
			}
			if _, err := s.PutMany(ctx, want); err != nil {
				t.Fatal(err)
			}
			packsNow, _ := filepath.Glob(filepath.Join(s.dir, "pack", "*.pack"))
			if len(packsNow) > 1 {
				t.Fatalf("putting the same again wrote another pack: %v", packsNow)
			}
			if left, _ := os.ReadDir(filepath.Join(s.dir, "tmp")); len(left) != 0 {
				t.Fatalf("temporary files left: %v", left)
			}
		})
	}
}

func TestBatchAbortLeavesNothing(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	b := s.Batch()
	for i := range packMin * 2 {
		d := []byte(fmt.Sprint(i))
		if err := b.PutBytes(ctx, domain.HashBytes(d), d); err != nil {
			t.Fatal(err)
		}
	}
	d := bytes.Repeat([]byte("x"), packSmall+1)
	if err := b.PutBytes(ctx, domain.HashBytes(d), d); err != nil {
		t.Fatal(err)
	}
	b.Abort()
	if left, _ := os.ReadDir(filepath.Join(s.dir, "tmp")); len(left) != 0 {
		t.Fatalf("temporary files left: %v", left)
	}
}

// age makes everything in the store two hours old.
func age(t *testing.T, s *Store) {
	t.Helper()
	old := time.Now().Add(-2 * time.Hour)
	err := filepath.Walk(s.dir, func(p string, fi os.FileInfo, err error) error {
		if err != nil || fi.IsDir() {
			return err
		}
		return os.Chtimes(p, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.seen = map[domain.Hash]time.Time{}
	s.packs.touched = map[string]time.Time{}
}

func TestGC(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	put := func(v string) domain.Hash {
		h, err := s.PutBytes(ctx, []byte(v))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	kept, gone, again := put("kept"), put("gone"), put("again")
	var packed [][]byte
	for i := range packMin {
		packed = append(packed, []byte(fmt.Sprint("packed ", i)))
	}
	hs, err := s.PutMany(ctx, packed)
	if err != nil {
		t.Fatal(err)
	}
	age(t, s)
	fresh := put("fresh")
	put("again") // referenced anew while it is old: spared
	os.WriteFile(filepath.Join(s.dir, "sha256", "README"), []byte("not a blob"), 0o600)

	keep := func(h domain.Hash) bool { return h == kept || h == hs[7] }
	res, err := s.GC(ctx, time.Now(), keep)
	if err != nil || res.Removed != 1 {
		t.Fatalf("gc: %+v %v", res, err)
	}
	for _, h := range []domain.Hash{kept, fresh, again, hs[0], hs[7]} {
		if err := s.Verify(h); err != nil {
			t.Errorf("lost: %v", err)
		}
	}
	if s.Has(gone) {
		t.Error("unreferenced blob is still there")
	}
	age(t, s)
	if res, err = s.GC(ctx, time.Now(), func(domain.Hash) bool { return false }); err != nil || res.Removed != 3+packMin {
		t.Fatalf("gc of everything: %+v %v", res, err)
	}
	if s.Has(hs[7]) {
		t.Error("packed blob is still there")
	}
	if _, err := s.PutMany(ctx, packed); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(hs[7]); err != nil {
		t.Errorf("put after its pack was removed: %v", err)
	}
}

// A collection and a put that want the same blob at once never lose it.
func TestGCRace(t *testing.T) {
	s := open(t)
	other, err := New(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	data := []byte("contested")
	h := domain.HashBytes(data)
	for range 300 {
		if _, err := s.PutBytes(ctx, data); err != nil {
			t.Fatal(err)
		}
		age(t, s)
		var wg sync.WaitGroup
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := other.GC(ctx, time.Now(), func(domain.Hash) bool { return false }); err != nil {
				t.Error(err)
			}
		}()
		if _, err := s.PutBytes(ctx, data); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if err := s.Verify(h); err != nil {
			t.Fatalf("lost in a race: %v", err)
		}
	}
}

func TestConcurrentPutsOfOneBlob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	data := bytes.Repeat([]byte("same"), 10_000)
	var wg sync.WaitGroup
	for range 4 {
		s, err := New(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if _, _, err := s.Put(context.Background(), bytes.NewReader(data)); err != nil {
					t.Error(err)
				}
				if err := s.Verify(domain.HashBytes(data)); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	wg.Wait()
}

func TestAnyBytesComeBack(t *testing.T) {
	s := open(t)
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		h, _, err := s.Put(context.Background(), bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Open(h)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%v", err)
		}
	})
}
