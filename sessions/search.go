package sessions

import (
	"context"
	"errors"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/sessions/projection"
)

const defaultHits = 50

// Search finds the messages and session titles that contain every word of text,
// without regard to case, newest first, at most limit (0: 50). Titles come first.
func (s *Store) Search(ctx context.Context, text string, limit int) ([]projection.Hit, error) {
	words := projection.Words(text)
	if len(words) == 0 {
		return nil, nil
	}
	if limit <= 0 {
		limit = defaultHits
	}
	all, err := s.Views(ctx, true)
	if err != nil {
		return nil, err
	}
	titles := make(map[domain.SessionID]string, len(all))
	var hits []projection.Hit
	for _, v := range all {
		titles[v.ID] = v.Title
		if len(hits) < limit && projection.Matches(v.Title, words) {
			hits = append(hits, projection.Hit{Session: v.ID, Title: v.Title, Seq: v.TitleSeq, At: v.UpdatedAt, Snippet: projection.Snippet(v.Title, words)})
		}
	}
	if len(hits) >= limit {
		return hits, nil
	}
	more, err := s.searchText(ctx, words, limit-len(hits), titles)
	return append(hits, more...), s.explain("search", err)
}

func (s *Store) searchText(ctx context.Context, words []string, limit int, titles map[domain.SessionID]string) ([]projection.Hit, error) {
	query := "SELECT e.session, e.seq, e.kind, e.created_at, e.payload FROM search s JOIN event e ON e.pos = s.pos WHERE e.payload IS NOT NULL" +
		strings.Repeat(" AND instr(s.folded, ?) > 0", len(words)) + " ORDER BY s.pos DESC LIMIT ?"
	args := make([]any, 0, len(words)+1)
	for _, w := range words {
		args = append(args, w)
	}
	rows, err := s.read.QueryContext(ctx, query, append(args, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var hits []projection.Hit
	for rows.Next() {
		var session, kind string
		var created int64
		var payload []byte
		var h projection.Hit
		if err := rows.Scan(&session, &h.Seq, &kind, &created, &payload); err != nil {
			return nil, err
		}
		p, err := domain.DecodePayload(domain.Kind(kind), payload)
		if err != nil {
			return nil, err
		}
		h.Session, h.Title, h.At = domain.SessionID(session), titles[domain.SessionID(session)], time.UnixMicro(created).UTC()
		h.Snippet = projection.Snippet(projection.Text(p), words)
		hits = append(hits, h)
	}
	return hits, errors.Join(rows.Err(), rows.Close())
}
