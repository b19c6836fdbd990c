package audit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/mod/sumdb/tlog"

	"worksite/backend/domain"
)

// manifest is the signed statement about all other members.
func (x *exporter) manifest(members []member) (member, error) {
	s := statement{
		Type: statementType, PredicateType: predicateType,
		Subject: []subject{{Name: origin(x.head.cell), Digest: digest{x.head.root[:]}}},
		Predicate: predicate{
			Product: plain(x.config.Product), Cell: x.head.cell, Size: x.head.size, Events: int64(len(x.positions)),
			Sessions: []span{{ID: x.config.Session, First: 1, Last: x.last}}, Cells: x.cells,
			Redacted: redactions{Kinds: orEmpty(x.config.Redact), Positions: orEmpty(x.redacted)}, Absent: orEmpty(x.absent),
		},
	}
	for _, m := range members {
		s.Subject = append(s.Subject, subject{Name: m.name, Digest: digest{m.sum[:]}})
	}
	payload, err := encode(s)
	if err != nil {
		return member{}, err
	}
	payload = bytes.TrimSuffix(payload, []byte("\n"))
	raw, err := encode(dsse.Envelope{
		PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []dsse.Signature{{KeyID: string(x.head.cell), Sig: base64.StdEncoding.EncodeToString(x.ledger.SignEnvelope(payloadType, payload))}},
	})
	m := text("manifest.dsse.json", raw)
	return m, errors.Join(err, m.measure(io.Discard))
}

func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

// plain leaves out what JSON would escape.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, s)
}

// proofs measures the member with the proof of every event, and the one that the
// log continues the earlier head.
func (x *exporter) proofs() (member, error) {
	since := tlog.TreeProof{}
	if x.since.size > 0 {
		if x.since.size > x.head.size {
			return member{}, replaced("it has %d events, that head signs %d", x.head.size, x.since.size)
		}
		p, err := tlog.ProveTree(x.head.size, x.since.size, x.log)
		if err != nil {
			return member{}, fmt.Errorf("prove the log: %w", err)
		}
		if err := tlog.CheckTree(p, x.head.size, x.head.root, x.since.size, x.since.root); err != nil {
			return member{}, replaced("%w", err)
		}
		since = append(since, p...)
	}
	m := member{name: "proofs.json", write: func(w io.Writer) error {
		lead := `{"events":[`
		for _, pos := range x.positions {
			path, err := tlog.ProveRecord(x.head.size, pos-1, x.log)
			if err != nil {
				return fmt.Errorf("prove event at position %d: %w", pos, err)
			}
			raw, err := json.Marshal(orEmpty(path))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, `%s{"pos":%d,"path":%s}`, lead, pos, raw); err != nil {
				return err
			}
			lead = ","
		}
		raw, err := json.Marshal(since)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "],\"since\":%s}\n", raw)
		return err
	}}
	return m, m.measure(io.Discard)
}

func replaced(format string, args ...any) error {
	return domain.Errorf(domain.CodeConflict, "this ledger does not continue the earlier head: %w", fmt.Errorf(format, args...)).
		WithHint("Its history was replaced or cut short since then. Keep both; `worksite journal verify` says more.")
}
