package audit

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"worksite/backend/domain"
	"worksite/sessions/internal/chain"
)

type (
	// Ledger is what an export needs of one.
	Ledger interface {
		// Head signs the log as it is now: a C2SP tlog-checkpoint.
		Head(ctx context.Context) (string, error)
		// Log reads the hashes of the log.
		Log(ctx context.Context) tlog.HashReader
		// Read returns the events of a session that span selects.
		Read(ctx context.Context, session domain.SessionID, span domain.Span) ([]domain.Event, error)
		// Key returns the key of a cell that wrote in the ledger.
		Key(ctx context.Context, cell domain.CellID) (ed25519.PublicKey, error)
		// SignEnvelope signs a DSSE payload by the key that signs heads.
		SignEnvelope(payloadType string, payload []byte) []byte
	}
	// Config says what is exported.
	Config struct {
		Session domain.SessionID
		Product string // name and version of the program, for the manifest
		// Redact lists the kinds whose content stays here; their headers, hashes and
		// signatures go along, so that everything can still be proven.
		Redact []domain.Kind
		// Since is an earlier head of this ledger (see [HeadOf]); the file then proves
		// that the log continues it. Empty: none.
		Since []byte
		// Blobs opens an artifact or output by its hash, CodeNotFound when it is gone.
		// nil: the file has none of them.
		Blobs func(domain.Hash) (io.ReadCloser, error)
	}
)

// member is a file of the archive. What it writes must be the same every time.
type member struct {
	name  string
	write func(io.Writer) error
	size  int64
	sum   domain.Hash
}

type exporter struct {
	ctx       context.Context //nolint:containedctx // one export
	ledger    Ledger
	config    Config
	head      head
	since     head
	log       tlog.HashReader
	positions []int64
	redacted  []int64
	last      int64 // seq
	cells     []domain.Cell
	refs      map[domain.Hash]bool
	absent    []domain.Hash
}

// Write writes the audit export of a session: its events up to a head that is
// signed now. It fails with CodeConflict when the ledger does not continue the
// head in Config.Since, or the session was deleted meanwhile.
func Write(ctx context.Context, l Ledger, c Config, w io.Writer) error {
	x := exporter{ctx: ctx, ledger: l, config: c, log: &cached{from: l.Log(ctx), known: map[int64]tlog.Hash{}}, refs: map[domain.Hash]bool{}}
	for _, k := range c.Redact {
		if _, ok := domain.Kinds()[k]; !ok {
			return domain.Errorf(domain.CodeInvalid, "there is no kind of event %q to redact", k).WithHint("Kinds are like message.sent or tool_call.completed.")
		}
	}
	if err := x.heads(); err != nil {
		return err
	}
	members, err := x.members()
	if err != nil {
		return err
	}
	manifest, err := x.manifest(members)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, m := range append([]member{manifest}, members...) {
		if err := out.WriteHeader(&tar.Header{Name: m.name, Size: m.size, Mode: 0o444, Format: tar.FormatUSTAR}); err != nil {
			return fmt.Errorf("write %s: %w", m.name, err)
		}
		again := member{name: m.name, write: m.write}
		if err := again.measure(out); err != nil {
			return fmt.Errorf("write %s: %w", m.name, err)
		}
		if again.sum != m.sum {
			return domain.Errorf(domain.CodeConflict, "%s changed while it was written", m.name).WithHint("Export again.")
		}
	}
	return out.Close()
}

// measure writes the member to w and notes its size and hash.
func (m *member) measure(w io.Writer) error {
	h := sha256.New()
	var n counter
	err := m.write(io.MultiWriter(h, &n, w))
	m.size, m.sum = int64(n), domain.Hash(h.Sum(nil))
	return err
}

type counter int64

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func text(name string, content []byte) member {
	return member{name: name, write: func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}}
}

// heads opens the head to export and the earlier one to continue.
func (x *exporter) heads() error {
	note, err := x.ledger.Head(x.ctx)
	if err != nil {
		return err
	}
	if x.head, err = x.open([]byte(note)); err != nil {
		return err
	}
	if len(x.config.Since) == 0 {
		return nil
	}
	if x.since, err = x.open(x.config.Since); err != nil {
		return domain.Errorf(domain.CodeInvalid, "the earlier head is not one that this ledger signed: %w", err)
	}
	if x.since.cell != x.head.cell {
		return domain.Errorf(domain.CodeInvalid, "the earlier head is of %s, this ledger is of %s", x.since.cell, x.head.cell)
	}
	return nil
}

// members measures everything but the manifest, in the order of the archive.
func (x *exporter) members() ([]member, error) {
	events := member{name: "events.ndjson", write: x.events}
	if err := events.measure(io.Discard); err != nil {
		return nil, err
	}
	// Later passes write what the first one saw, and no more.
	x.last = int64(len(x.positions))
	if x.last == 0 {
		return nil, domain.Errorf(domain.CodeNotFound, "session %s has no events to export", x.config.Session)
	}
	keys, err := encode(struct {
		Cells []domain.Cell `json:"cells"`
	}{x.cells})
	if err != nil {
		return nil, err
	}
	proofs, err := x.proofs()
	if err != nil {
		return nil, err
	}
	rest := []member{text("keys.json", keys), text("checkpoint.txt", x.head.note)}
	if x.since.size > 0 {
		rest = append(rest, text("since.txt", x.since.note))
	}
	for i := range rest {
		if err := rest[i].measure(io.Discard); err != nil {
			return nil, err
		}
	}
	blobs, err := x.blobs()
	return append(append(rest, events, proofs), blobs...), err
}

// events writes the lines; its first pass collects what they refer to.
func (x *exporter) events(w io.Writer) error {
	first := x.last == 0
	for after := int64(0); first || after < x.last; {
		page, err := x.ledger.Read(x.ctx, x.config.Session, domain.Span{After: after, Limit: 500})
		if err != nil {
			return err
		}
		for i := range page {
			e := &page[i]
			if e.Pos > x.head.size || !first && e.Seq > x.last {
				return nil // the head does not cover it
			}
			redact := slices.Contains(x.config.Redact, e.Kind) || chain.Redacted(e)
			if first {
				if err := x.collect(e, redact); err != nil {
					return err
				}
			}
			l, err := encode(lineOf(e, redact))
			if err != nil {
				return err
			}
			if _, err := w.Write(l); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(page) == 0 {
			return nil
		}
	}
	return nil
}

// collect notes an event's position, the key it needs and the blobs it shows.
func (x *exporter) collect(e *domain.Event, redact bool) error {
	if err := checkNames(e); err != nil {
		return err
	}
	x.positions = append(x.positions, e.Pos)
	for _, id := range []domain.CellID{x.head.cell, e.Cell} {
		if slices.ContainsFunc(x.cells, func(c domain.Cell) bool { return c.ID == id }) {
			continue
		}
		key, err := x.ledger.Key(x.ctx, id)
		if err != nil {
			return err
		}
		x.cells = append(x.cells, domain.Cell{ID: id, PublicKey: domain.Hex(key)})
	}
	if redact {
		x.redacted = append(x.redacted, e.Pos)
		return nil
	}
	p, err := domain.DecodePayload(e.Kind, e.Payload)
	if err != nil {
		return nil //nolint:nilerr // a kind of a later version is exported as it is; its blobs are unknown here
	}
	switch p := p.(type) {
	case domain.ToolCallCompleted:
		x.refer(p.Output.Spill)
		if p.Output.Artifact != nil {
			x.refer(p.Output.Artifact.SHA256)
		}
	case domain.ArtifactPromoted:
		x.refer(p.Artifact.SHA256)
	}
	return nil
}

func (x *exporter) refer(h domain.Hash) {
	if !h.IsZero() {
		x.refs[h] = true
	}
}

// blobs are the members that hold what the events refer to.
func (x *exporter) blobs() (out []member, err error) {
	for h := range x.refs {
		m := member{name: "blobs/sha256/" + h.String(), write: func(w io.Writer) error {
			r, err := x.config.Blobs(h)
			if err != nil {
				return err
			}
			_, err = io.Copy(w, r)
			return errors.Join(err, r.Close())
		}}
		err := error(domain.Errorf(domain.CodeNotFound, "blobs are not exported"))
		if x.config.Blobs != nil {
			err = m.measure(io.Discard)
		}
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
			x.absent = append(x.absent, h)
		case err != nil:
			return nil, fmt.Errorf("read blob %s: %w", h, err)
		case m.sum != h:
			return nil, domain.Errorf(domain.CodeInternal, "the blob %s is damaged", h)
		default:
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b member) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(x.absent, func(a, b domain.Hash) int { return bytes.Compare(a[:], b[:]) })
	return out, nil
}
