package service

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"path"
	"unicode/utf8"

	"worksite/backend/artifact"
	"worksite/backend/domain"
)

// checkMost bounds what a check of an artifact reads.
const checkMost = 64 << 20

// Artifacts lists the kept outputs of a session, or of all with "".
func (s *Service) Artifacts(ctx context.Context, session domain.SessionID) ([]ArtifactView, error) {
	list, err := s.artifacts.List(ctx, session)
	if err != nil {
		return nil, err
	}
	out := make([]ArtifactView, 0, len(list))
	for _, a := range list {
		out = append(out, artifactView(a))
	}
	return out, nil
}

func artifactView(a artifact.Artifact) ArtifactView {
	v := ArtifactView{
		Ref: a.Ref, Session: a.Session, Source: a.Source, Previewed: artifact.Preview(a.Ref.MediaType),
		Produced: mark(a.Produced), Validated: mark(a.Validated), Adopted: mark(a.Adopted), Withdrawn: mark(a.Withdrawn),
	}
	if a.Validated != nil {
		v.Check = a.Validated.Detail
	}
	if a.Adopted != nil {
		v.SavedTo = a.Adopted.Detail
	}
	return v
}

func mark(m *artifact.Mark) *Mark {
	if m == nil {
		return nil
	}
	return &Mark{At: m.At, By: m.By}
}

// Promote keeps a file of the session's workspace as an artifact.
func (s *Service) Promote(ctx context.Context, id domain.SessionID, file string) (ArtifactView, error) {
	v, err := s.ledger.View(ctx, id)
	if err != nil {
		return ArtifactView{}, err
	}
	ws, err := s.open(ctx, v.Workspace)
	if err != nil {
		return ArtifactView{}, err
	}
	rel, err := ws.Resolve(file)
	if err != nil {
		return ArtifactView{}, err
	}
	content, _, err := ws.Handle.ReadFile(rel)
	if err != nil {
		return ArtifactView{}, err
	}
	ref, err := s.artifacts.Promote(ctx, artifact.Promotion{Session: id, Name: path.Base(rel), Source: rel, By: by}, bytes.NewReader(content))
	if err != nil {
		return ArtifactView{}, err
	}
	return s.recordArtifact(ctx, id, ref, domain.ArtifactPromoted{V: 1, Artifact: ref, Source: rel, By: by})
}

// recordArtifact appends the event of a fact and returns the artifact as it is now.
func (s *Service) recordArtifact(ctx context.Context, id domain.SessionID, ref domain.ArtifactRef, p domain.Payload) (ArtifactView, error) {
	if _, err := s.ledger.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: p}}}); err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return ArtifactView{}, err // an artifact outlives its session
	}
	a, err := s.artifacts.Get(ctx, ref.ID, ref.Revision)
	return artifactView(a), err
}

// ArtifactContent opens the bytes of one revision.
func (s *Service) ArtifactContent(ctx context.Context, id domain.ArtifactID, rev int) (domain.ArtifactRef, io.ReadCloser, error) {
	r, a, err := s.artifacts.Open(ctx, id, rev)
	return a.Ref, r, err
}

// Blob opens kept bytes by hash: whole outputs of commands, artifacts, and the
// files of snapshots.
func (s *Service) Blob(_ context.Context, hash domain.Hash) (io.ReadCloser, error) {
	r, err := s.blobs.Open(hash)
	if err == nil {
		return r, nil
	}
	return s.workspaces.Blob(hash)
}

// SaveArtifact writes an artifact to a place of the person's, which adopts it. A
// file that is there is never replaced.
func (s *Service) SaveArtifact(ctx context.Context, id domain.ArtifactID, rev int, to string) (ArtifactView, error) {
	a, err := s.artifacts.Get(ctx, id, rev)
	if err != nil {
		return ArtifactView{}, err
	}
	if err := s.artifacts.Save(ctx, id, rev, to, false); err != nil {
		return ArtifactView{}, err
	}
	p, err := s.artifacts.Adopt(ctx, id, rev, by, to)
	if err != nil {
		return ArtifactView{}, err
	}
	return s.recordArtifact(ctx, a.Session, a.Ref, p)
}

// AdoptArtifact records that the person took the artifact.
func (s *Service) AdoptArtifact(ctx context.Context, id domain.ArtifactID, rev int) (ArtifactView, error) {
	a, err := s.artifacts.Get(ctx, id, rev)
	if err != nil {
		return ArtifactView{}, err
	}
	p, err := s.artifacts.Adopt(ctx, id, rev, by, "")
	if err != nil {
		return ArtifactView{}, err
	}
	return s.recordArtifact(ctx, a.Session, a.Ref, p)
}

// WithdrawArtifact records that the artifact is not wanted any more.
func (s *Service) WithdrawArtifact(ctx context.Context, id domain.ArtifactID, rev int) (ArtifactView, error) {
	a, err := s.artifacts.Get(ctx, id, rev)
	if err != nil {
		return ArtifactView{}, err
	}
	p, err := s.artifacts.Withdraw(ctx, id, rev, by)
	if err != nil {
		return ArtifactView{}, err
	}
	return s.recordArtifact(ctx, a.Session, a.Ref, p)
}

// ValidateArtifact checks that the bytes open as what they say they are. Only a
// check that passes makes the fact; what cannot be checked here is refused.
func (s *Service) ValidateArtifact(ctx context.Context, id domain.ArtifactID, rev int, _ string) (ArtifactView, error) {
	r, a, err := s.artifacts.Open(ctx, id, rev)
	if err != nil {
		return ArtifactView{}, err
	}
	defer r.Close()
	check, err := checkContent(a.Ref.MediaType, io.LimitReader(r, checkMost))
	if err != nil {
		return ArtifactView{}, domain.Errorf(domain.CodeConflict, "%s does not pass the check: %w", a.Ref.Name, err)
	}
	p, err := s.artifacts.Validate(ctx, id, rev, check, "worksite")
	if err != nil {
		return ArtifactView{}, err
	}
	return s.recordArtifact(ctx, a.Session, a.Ref, p)
}

// checkContent reads the whole content in the form of its media type and says
// what was found.
func checkContent(mediaType string, r io.Reader) (string, error) {
	switch kind := artifact.Preview(mediaType); {
	case kind == "csv":
		rows, err := csv.NewReader(r).ReadAll()
		return fmt.Sprintf("opens as CSV: %d rows, each with the same number of fields", len(rows)), err
	case kind == "image":
		_, format, err := image.Decode(r)
		return "opens as " + format, err
	case mediaType == "application/json":
		var v any
		err := json.NewDecoder(r).Decode(&v)
		return "opens as JSON", err
	case kind == "text" || kind == "markdown":
		b, err := io.ReadAll(r)
		if err == nil && !utf8.Valid(b) {
			err = fmt.Errorf("it is not valid UTF-8 text")
		}
		return fmt.Sprintf("opens as text: %d lines", bytes.Count(b, []byte("\n"))), err
	}
	return "", fmt.Errorf("there is no check for %s here", mediaType)
}
