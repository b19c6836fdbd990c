package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/sessions"
)

// appends measures durable appends of 1 KiB events: one producer, and sixteen
// that share commits.
func (f *figures) appends(ctx context.Context) error {
	store, err := sessions.Open(ctx, sessions.Config{Dir: filepath.Join(f.dir, "ledger")})
	if err != nil {
		return err
	}
	defer store.Close()
	text := strings.Repeat("x", 1000)
	floor := float64(time.Second) / float64(f.sync)
	for _, c := range []struct {
		producers, events int
		target            string
	}{{1, 300, "≥ 0.6"}, {16, 3000, "≥ 8"}} {
		begun := time.Now()
		var wg sync.WaitGroup
		errs := make(chan error, c.producers)
		for range c.producers {
			wg.Go(func() {
				id := domain.NewSessionID()
				draft := func(p domain.Payload) error {
					_, err := store.Append(ctx, domain.AppendRequest{Session: id, Drafts: []domain.Draft{{Payload: p}}})
					return err
				}
				if err := draft(domain.SessionCreated{V: 1, Title: "bench"}); err != nil {
					errs <- err
					return
				}
				for range c.events / c.producers {
					if err := draft(domain.MessageSent{V: 1, MessageID: "msg_1", Text: text}); err != nil {
						errs <- err
						return
					}
				}
			})
		}
		wg.Wait()
		select {
		case err := <-errs:
			return err
		default:
		}
		rate := float64(c.events) / time.Since(begun).Seconds()
		f.row(fmt.Sprintf("ledger: durable signed appends, %d producer(s)", c.producers), fmt.Sprintf("%.0f /s", rate),
			fmt.Sprintf("%.0f fdatasync/s", floor), fmt.Sprintf("%.2f", rate/floor), c.target)
	}
	return nil
}
