package audit_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"worksite-verify/check"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"worksite/backend/domain"
	"worksite/sessions"
	"worksite/sessions/audit"
)

var update = flag.Bool("update", false, "write the vectors of the verifiers again; their keys stay, their bytes do not")

const vectors = "../../verify/testdata"

var (
	report = []byte("# Report\n\n4 suppliers, 2 corrected.\n")
	output = bytes.Repeat([]byte("ok  sample/clean_test.go\n"), 40)
)

func key(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{fill}, ed25519.SeedSize))
}

// ledger opens a ledger of its own with a key that is always the same.
func ledger(t testing.TB, k ed25519.PrivateKey) *sessions.Store {
	t.Helper()
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s, err := sessions.Open(t.Context(), sessions.Config{Dir: t.TempDir(), Key: k, Now: func() time.Time {
		at = at.Add(1500 * time.Millisecond)
		return at
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func add(t testing.TB, s *sessions.Store, id domain.SessionID, generation int64, run domain.RunID, list ...domain.Payload) {
	t.Helper()
	drafts := make([]domain.Draft, len(list))
	for i, p := range list {
		drafts[i] = domain.Draft{Payload: p, Run: run}
	}
	if _, err := s.Append(t.Context(), domain.AppendRequest{Session: id, Generation: generation, Drafts: drafts}); err != nil {
		t.Fatal(err)
	}
}

// work writes a small session that has an output and an artifact, with events of
// another session in between. Run as often as one likes.
func work(t testing.TB, s *sessions.Store) domain.SessionID {
	t.Helper()
	id, other := domain.NewSessionID(), domain.NewSessionID()
	add(t, s, id, 0, "", domain.SessionCreated{V: 1, Title: "Suppliers", TaskKind: domain.TaskGeneral, Mode: domain.ModeAuto})
	add(t, s, other, 0, "", domain.SessionCreated{V: 1, Title: "Other"})
	msg := domain.NewMessageID()
	add(t, s, id, 0, "", domain.MessageSent{V: 1, MessageID: msg, Text: "Check März & <b>the secret plan</b>"})
	add(t, s, other, 0, "", domain.SessionRenamed{V: 1, Title: "Another"})
	add(t, s, id, 0, "", domain.SessionRenamed{V: 1, Title: "Suppliers, checked"})
	artifact := domain.ArtifactRef{ID: domain.NewArtifactID(), Name: "report.md", Revision: 1, MediaType: "text/markdown", SHA256: domain.HashBytes(report), Size: int64(len(report))}
	run := domain.NewRunID()
	add(t, s, id, 0, run, domain.RunStarted{V: 1, MessageID: msg, Mode: domain.ModeAuto})
	lease, err := s.Acquire(t.Context(), id, "test", time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := domain.NewCallID()
	effect := domain.Effect{Tool: "bash", Class: domain.EffectSandboxed}
	add(t, s, id, lease.Generation, run,
		domain.MessageCompleted{V: 1, MessageID: domain.NewMessageID(), ToolCalls: []domain.RequestedCall{{CallID: call, Name: "bash", Arguments: "{}"}}, Finish: domain.FinishTools},
		domain.ToolCallRequested{V: 1, CallID: call, Name: "bash", Input: "{}"},
		domain.GateDecided{V: 1, CallID: call, Digest: effect.Digest(), Layers: []domain.LayerDecision{{Layer: domain.LayerPolicy, Verdict: domain.VerdictAllow, Rule: "test"}}},
		domain.ToolCallIntent{V: 1, CallID: call, Effect: effect, Digest: effect.Digest(), Attempt: 1},
		domain.ToolCallExecuting{V: 1, CallID: call, Attempt: 1, Where: "sandbox on this machine"},
		domain.ToolCallCompleted{V: 1, CallID: call, Attempt: 1, Output: domain.ToolOutput{Text: "ok", Spill: domain.HashBytes(output)}},
		domain.ArtifactPromoted{V: 1, CallID: call, Artifact: artifact, Source: "report.md", By: "agent"},
		domain.RunFinished{V: 1, Outcome: domain.OutcomeDone})
	return id
}

// blobs has the report and the output.
func blobs(h domain.Hash) (io.ReadCloser, error) {
	for _, b := range [][]byte{report, output} {
		if domain.HashBytes(b) == h {
			return io.NopCloser(bytes.NewReader(b)), nil
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "there is no blob %s", h)
}

func export(t testing.TB, s *sessions.Store, c audit.Config) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := audit.Write(t.Context(), s, c, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func verify(t testing.TB, file []byte, key string) check.Verdict {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.worksite.tar")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := check.File(path, check.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// R64, R65, R76, R77: what is exported can be proven by a stranger with the file
// and the key alone, and the verdict says what was not computed again.
func TestExportIsProvenFromItsBytesAlone(t *testing.T) {
	s := ledger(t, key(7))
	id := work(t, s)
	work(t, s)
	file := export(t, s, audit.Config{Session: id, Product: "Worksite \"1\\0\"", Blobs: blobs})
	v := verify(t, file, public(s))
	if !v.OK || v.Events != 12 || v.Blobs != 2 || v.Absent != 0 || v.Redacted != 0 || v.Size != 28 || !v.KeyGiven {
		t.Errorf("%+v", v)
	}
	if v.ReExecuted != 0 || v.Recorded["tool_call.completed"] != 1 || v.Recorded["message.completed"] != 1 {
		t.Errorf("recorded %v", v.Recorded)
	}
	for _, want := range []string{"Re-executed: nothing", "1 answers of models, 1 results of tools", "a local key signs a local log"} {
		if !strings.Contains(v.String(), want) {
			t.Errorf("%q is not in:\n%s", want, v)
		}
	}
	if again := export(t, s, audit.Config{Session: id, Product: "Worksite \"1\\0\"", Blobs: blobs}); !bytes.Equal(again, file) {
		t.Error("the same ledger gave another file")
	}
	if v := verify(t, file, strings.Repeat("0", 64)); v.OK || v.Bad.Member != "manifest.dsse.json" {
		t.Errorf("with another key: %+v", v)
	}
}

// R65: a later export proves that the log continues the head of an earlier one.
func TestExportContinuesAnEarlierHead(t *testing.T) {
	s := ledger(t, key(7))
	first := export(t, s, audit.Config{Session: work(t, s)})
	head, err := audit.HeadOf(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := audit.HeadOf(bytes.NewReader(head)); err != nil || !bytes.Equal(again, head) {
		t.Errorf("a head by itself: %q, %v", again, err)
	}
	for range 3 {
		id := work(t, s)
		if v := verify(t, export(t, s, audit.Config{Session: id, Since: head}), ""); !v.OK || v.Since != 14 || v.Absent != 2 {
			t.Errorf("%+v", v)
		}
	}
	other := ledger(t, key(7)) // the same key and another history
	id := work(t, other)
	work(t, other)
	err = audit.Write(t.Context(), other, audit.Config{Session: id, Since: head}, io.Discard)
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("another history: %v", err)
	}
	short := ledger(t, key(7))
	id = domain.NewSessionID()
	add(t, short, id, 0, "", domain.SessionCreated{V: 1})
	if err = audit.Write(t.Context(), short, audit.Config{Session: id, Since: head}, io.Discard); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a shorter history: %v", err)
	}
	stranger := ledger(t, key(8))
	id = work(t, stranger)
	if err = audit.Write(t.Context(), stranger, audit.Config{Session: id, Since: head}, io.Discard); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("another cell: %v", err)
	}
	if _, err := audit.HeadOf(strings.NewReader("no")); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("no head: %v", err)
	}
}

// R65: what is redacted is nowhere in the file, and the rest is still proven.
func TestRedactionKeepsTheProof(t *testing.T) {
	s := ledger(t, key(7))
	id := work(t, s)
	file := export(t, s, audit.Config{Session: id, Blobs: blobs, Redact: []domain.Kind{"message.sent", "tool_call.completed"}})
	v := verify(t, file, "")
	if !v.OK || v.Redacted != 2 || v.Events != 12 || v.Blobs != 1 {
		t.Errorf("%+v", v)
	}
	events, err := s.Read(t.Context(), id, domain.Span{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(part(t, file, "events.ndjson")), "\n")
	for i, e := range events {
		shown := strings.Contains(lines[i], hex.EncodeToString(e.Salt)) || strings.Contains(lines[i], `"payload"`)
		if hidden := e.Kind == "message.sent" || e.Kind == "tool_call.completed"; shown == hidden {
			t.Errorf("event %d, %s: shown %v", e.Seq, e.Kind, shown)
		}
	}
	if bytes.Contains(file, output) {
		t.Error("the output of a redacted call is in the file")
	}
	err = audit.Write(t.Context(), s, audit.Config{Session: id, Redact: []domain.Kind{"message.send"}}, io.Discard)
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a kind that is not one: %v", err)
	}
}

// The envelope is DSSE as its own library verifies it.
func TestManifestIsDSSE(t *testing.T) {
	s := ledger(t, key(7))
	var e dsse.Envelope
	if err := json.Unmarshal(part(t, export(t, s, audit.Config{Session: work(t, s)}), "manifest.dsse.json"), &e); err != nil {
		t.Fatal(err)
	}
	v, err := dsse.NewEnvelopeVerifier(signedBy{s.Cell()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), &e); err != nil {
		t.Error(err)
	}
	e.PayloadType += "x"
	if _, err := v.Verify(t.Context(), &e); err == nil {
		t.Error("another type verifies")
	}
}

type signedBy struct{ cell domain.Cell }

func (s signedBy) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(ed25519.PublicKey(s.cell.PublicKey), data, sig) {
		return errors.New("no")
	}
	return nil
}
func (s signedBy) KeyID() (string, error)   { return string(s.cell.ID), nil }
func (s signedBy) Public() crypto.PublicKey { return ed25519.PublicKey(s.cell.PublicKey) }

func TestExportRefuses(t *testing.T) {
	s := ledger(t, key(7))
	id := work(t, s)
	if err := audit.Write(t.Context(), s, audit.Config{Session: "ses_none"}, io.Discard); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("no such session: %v", err)
	}
	broken := func(domain.Hash) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("other bytes")), nil }
	if err := audit.Write(t.Context(), s, audit.Config{Session: id, Blobs: broken}, io.Discard); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged blob: %v", err)
	}
	n := 0
	fades := func(h domain.Hash) (io.ReadCloser, error) {
		if n++; n > 2 {
			return nil, domain.Errorf(domain.CodeNotFound, "gone")
		}
		return blobs(h)
	}
	if err := audit.Write(t.Context(), s, audit.Config{Session: id, Blobs: fades}, io.Discard); err == nil {
		t.Error("a blob went away between the two passes")
	}
	full := errors.New("no space left")
	if err := audit.Write(t.Context(), s, audit.Config{Session: id}, failing{full}); !errors.Is(err, full) {
		t.Errorf("a full disk: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Ten thousand signed events are checked on one core: the figure is in docs/audit.md.
func BenchmarkVerify10000(b *testing.B) {
	s := ledger(b, key(7))
	id := domain.NewSessionID()
	add(b, s, id, 0, "", domain.SessionCreated{V: 1})
	for range 20 {
		var list []domain.Payload
		for i := range 500 {
			list = append(list, domain.SessionRenamed{V: 1, Title: fmt.Sprint(strings.Repeat("x", 900), i)})
		}
		add(b, s, id, 0, "", list...)
	}
	path := filepath.Join(b.TempDir(), "a.worksite.tar")
	began := time.Now()
	if err := os.WriteFile(path, export(b, s, audit.Config{Session: id}), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Logf("export: %v", time.Since(began))
	for b.Loop() {
		if v, err := check.File(path, check.Options{}); err != nil || !v.OK || v.Events != 10001 {
			b.Fatal(v, err)
		}
	}
}

func public(s *sessions.Store) string { return hex.EncodeToString(s.Cell().PublicKey) }
