package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"time"

	"worksite/backend/domain"
	"worksite/backend/server"
	"worksite/backend/service"
)

// stream measures committed events through the API to one page: as fast as they
// can be read, from the ledger over HTTP.
func (f *figures) stream(ctx context.Context) error {
	svc, err := service.Open(ctx, service.Config{DataDir: filepath.Join(f.dir, "served")})
	if err != nil {
		return err
	}
	defer svc.Close()
	dir, err := f.folder("served-work")
	if err != nil {
		return err
	}
	w, err := svc.AddWorkspace(ctx, dir)
	if err != nil {
		return err
	}
	s, err := svc.CreateSession(ctx, service.NewSession{Workspace: w.ID, Title: "bench", Model: &domain.ModelRef{Provider: "practice", Name: "sample"}})
	if err != nil {
		return err
	}
	const events = 4000
	title := strings.Repeat("t", 40)
	for i := range events {
		t := fmt.Sprintf("%s %d", title, i)
		if _, err := svc.UpdateSession(ctx, s.ID, service.SessionPatch{Title: &t}); err != nil {
			return err
		}
	}
	handler := server.New(svc, server.Config{})
	ts := httptest.NewServer(handler)
	defer ts.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ts.URL+"/api/stream?cursor=0", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+handler.Token())
	begun := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	got := 0
	for got < events {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		var frame struct{ Type string }
		if err := json.Unmarshal(line, &frame); err != nil {
			return err
		}
		if frame.Type == "event" {
			got++
		}
	}
	rate := float64(got) / time.Since(begun).Seconds()
	f.row("stream: committed events to a page over HTTP", fmt.Sprintf("%.0f /s", rate), "2000 /s", fmt.Sprintf("%.1f", rate/2000), "≥ 1")
	return nil
}
