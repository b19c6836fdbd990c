package sessions

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"worksite/backend/domain"
)

// R65: the log is the one of the tlog package, hash by hash and root by root, and
// every event can be proven in it.
func TestLogIsRFC6962(t *testing.T) {
	var log treeLog
	var stored []tlog.Hash
	rows := map[int64][]byte{}
	ours := hashReader(func(pos int64) ([]byte, error) { return rows[pos], nil })
	theirs := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = stored[x]
		}
		return out, nil
	})
	if empty, err := tlog.TreeHash(0, theirs); err != nil || domain.Hash(empty) != log.root() {
		t.Errorf("root of nothing: %s, %v", log.root(), err)
	}
	for n := range int64(300) {
		event := domain.HashBytes([]byte{byte(n), byte(n >> 8)})
		want, err := tlog.StoredHashes(n, event[:], theirs)
		if err != nil {
			t.Fatal(err)
		}
		rows[n+1] = log.add(event)
		var flat []byte
		for _, h := range want {
			flat = append(flat, h[:]...)
		}
		if !bytes.Equal(rows[n+1], flat) {
			t.Fatalf("row of leaf %d", n)
		}
		stored = append(stored, want...)
		root, err := tlog.TreeHash(n+1, theirs)
		if err != nil || domain.Hash(root) != log.root() {
			t.Fatalf("root of %d leaves: %s, want %s, %v", n+1, log.root(), root, err)
		}
		for _, leaf := range []int64{0, n / 2, n} {
			proof, err := tlog.ProveRecord(n+1, leaf, ours)
			if err != nil {
				t.Fatal(err)
			}
			h := domain.HashBytes([]byte{byte(leaf), byte(leaf >> 8)})
			if err := tlog.CheckRecord(proof, n+1, root, leaf, tlog.RecordHash(h[:])); err != nil {
				t.Fatalf("leaf %d of %d: %v", leaf, n+1, err)
			}
		}
	}
}

// A head is a signed note that other implementations can open.
func TestCheckpoints(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	cell := cellOf(key)
	keys := map[domain.CellID]ed25519.PublicKey{cell.ID: ed25519.PublicKey(cell.PublicKey)}
	root := domain.HashBytes([]byte("root"))
	text, err := signCheckpoint(cell.ID, key, 42, root)
	if err != nil {
		t.Fatal(err)
	}
	cp, err := openCheckpoint(text, keys)
	if err != nil || cp.size != 42 || cp.root != root || cp.cell != cell.ID {
		t.Errorf("%+v, %v", cp, err)
	}
	for name, bad := range map[string]string{
		"empty": "", "size": replaceOnce(text, "\n42\n", "\n43\n"), "negative": replaceOnce(text, "\n42\n", "\n-2\n"),
		"origin": replaceOnce(text, "worksite/", "elsewhere/"), "unsigned": text[:len(text)/2],
	} {
		if _, err := openCheckpoint(bad, keys); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
	if _, err := openCheckpoint(text, nil); err == nil {
		t.Error("opened without a key")
	}
}

func replaceOnce(s, old, with string) string {
	return string(bytes.Replace([]byte(s), []byte(old), []byte(with), 1))
}
