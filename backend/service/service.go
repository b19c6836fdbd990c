package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"worksite/backend/artifact"
	"worksite/backend/blob"
	"worksite/backend/capability"
	"worksite/backend/config"
	"worksite/backend/domain"
	"worksite/backend/hands"
	"worksite/backend/harness"
	"worksite/backend/model"
	"worksite/backend/sandbox/local"
	"worksite/backend/stream"
	"worksite/backend/workspace"
	"worksite/sessions"
)

// Config opens a service.
type Config struct {
	DataDir string // "": config.Home()
	Version string
	Log     *slog.Logger // nil: discarded
	// OllamaURL and OpenAIURL override the settings when not empty.
	OllamaURL, OpenAIURL string
	// Stays is set by processes that stay (the window, the server): they settle at
	// the start what a dead process left. Single commands look at their own session only.
	Stays bool
	// PracticePause slows the recorded answers down as a model would be; negative: no pause.
	PracticePause int // milliseconds between pieces
}

// Service is the whole product behind its faces. It is safe for concurrent use.
type Service struct {
	cfg        Config
	log        *slog.Logger
	ledger     *sessions.Store
	workspaces *workspace.Store
	artifacts  *artifact.Store
	blobs      *blob.Store
	models     *model.Registry
	sandbox    *local.Local
	hands      *capability.Registry
	harness    *harness.Harness
	hub        *stream.Hub
	runner     *runner
	holder     *holder
	seen       *hands.Seen
	replayed   map[domain.SessionID]bool // sessions whose events seen has
	based      map[domain.SessionID]bool // of these, those whose base snapshot is in the ledger or about to be
	settled    map[domain.SessionID]bool // sessions whose newest review was looked after

	mu       sync.Mutex
	settings config.Settings
	notices  []Notice
	trouble  map[domain.SessionID]error
	handles  map[domain.WorkspaceID]*openWorkspace

	closing atomic.Bool
	stop    context.CancelFunc
	ctx     context.Context // of background work; ends with Close
	wg      sync.WaitGroup
}

// Open opens the data folder. Looking for runs that a crash left goes on after it
// has returned; nothing of it needs a model or a network.
func Open(ctx context.Context, cfg Config) (_ *Service, err error) {
	if cfg.DataDir == "" {
		if cfg.DataDir, err = config.Home(); err != nil {
			return nil, err
		}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "the data folder %s cannot be made: %w", cfg.DataDir, err).
			WithHint("Give Worksite a folder it may write to with WORKSITE_HOME.")
	}
	s := &Service{cfg: cfg, log: cfg.Log, trouble: map[domain.SessionID]error{}, handles: map[domain.WorkspaceID]*openWorkspace{}, replayed: map[domain.SessionID]bool{}, based: map[domain.SessionID]bool{}, settled: map[domain.SessionID]bool{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	var closers []func() error
	defer func() {
		if err != nil {
			s.stop()
			for i := len(closers) - 1; i >= 0; i-- {
				err = errors.Join(err, closers[i]())
			}
		}
	}()
	var note string
	if s.settings, note, err = config.LoadSettings(cfg.DataDir); err != nil {
		return nil, err
	}
	if note != "" {
		s.notices = append(s.notices, Notice{ID: "settings_damaged", Level: "warning", Text: note})
	}
	if s.ledger, err = sessions.Open(ctx, sessions.Config{Dir: cfg.DataDir}); err != nil {
		return nil, err
	}
	closers = append(closers, s.ledger.Close)
	if s.holder, err = newHolder(cfg.DataDir, s.ledger.Cell().ID); err != nil {
		return nil, err
	}
	closers = append(closers, s.holder.lock.Release)
	if s.workspaces, err = workspace.Open(workspace.Config{Dir: cfg.DataDir}); err != nil {
		return nil, err
	}
	closers = append(closers, s.workspaces.Close)
	if s.blobs, err = blob.New(filepath.Join(cfg.DataDir, "blobs")); err != nil {
		return nil, err
	}
	if s.artifacts, err = artifact.Open(artifact.Config{Dir: cfg.DataDir, Blobs: s.blobs}); err != nil {
		return nil, err
	}
	closers = append(closers, s.artifacts.Close)
	if err := os.MkdirAll(s.scratch(), 0o700); err != nil {
		return nil, fmt.Errorf("make the scratch folder: %w", err)
	}
	if err := s.join(); err != nil {
		return nil, err
	}
	s.noteStart()
	s.sweepSandbox()
	if cfg.Stays {
		s.wg.Go(func() {
			s.recoverRuns()
			if _, err := s.workspaces.GC(s.ctx); err != nil && s.ctx.Err() == nil {
				s.log.Warn("collect unused pre-images", "error", err)
			}
		})
	}
	return s, nil
}

// sweepSandbox removes the placeholders that a crash left in workspaces, before
// anything looks at the files: they would be taken for the person's.
func (s *Service) sweepSandbox() {
	if left := s.sandbox.Sweep(); len(left) > 0 {
		s.log.Info("removed placeholders that a crash had left", "paths", left)
	}
}

// join wires the loop from the parts that are open.
func (s *Service) join() error {
	var err error
	if s.sandbox, err = local.New(local.Config{DataDir: s.cfg.DataDir}); err != nil {
		return fmt.Errorf("prepare the sandbox: %w", err)
	}
	s.models = s.newModels()
	s.hub = stream.New(s.ledger)
	s.seen = hands.NewSeen()
	s.hands = s.newHands()
	s.runner = newRunner(s)
	s.harness, err = harness.New(harness.Config{
		Ledger: s.ledger, Model: s.models, Hands: toolbox{s.hands, s}, Gate: gate{s}, Brief: briefer{s}, Live: s.hub,
	})
	return err
}

// Close stops what runs, leaving it to be continued, and closes the stores. It
// returns after the last goroutine.
func (s *Service) Close() error {
	if s.closing.Swap(true) {
		return nil
	}
	s.runner.close()
	s.stop()
	s.hub.Notify("closing")
	s.wg.Wait()
	return errors.Join(s.hands.Close(), s.closeHandles(), s.artifacts.Close(), s.workspaces.Close(), s.ledger.Close(), s.holder.lock.Release())
}

// Closing reports whether Close was called; streams end then.
func (s *Service) Closing() bool { return s.closing.Load() }

// Notices are what the person should know from the start on: damage that was
// found and mended, running as root.
func (s *Service) Notices() []Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices)
}

// DataDir returns the data folder.
func (s *Service) DataDir() string { return s.cfg.DataDir }

// Version returns the program's version.
func (s *Service) Version() string { return s.cfg.Version }

// noteStart collects what the person should know from the beginning.
func (s *Service) noteStart() {
	if os.Geteuid() == 0 && os.Getenv("WORKSITE_ALLOW_ROOT") != "1" {
		s.notices = append(s.notices, Notice{
			ID: "root", Level: "warning",
			Text: "Worksite runs as root. A mistake outside the sandbox could reach the whole machine, so commands are never run unsandboxed here.",
			Hint: "Start it as your own user, or set WORKSITE_ALLOW_ROOT=1 to hide this.",
		})
	}
	for _, r := range s.ledger.Report() {
		s.notices = append(s.notices, Notice{ID: "ledger_damaged", Level: "error", Text: r})
	}
	for _, r := range s.workspaces.Notices() {
		s.notices = append(s.notices, Notice{ID: "workspaces_damaged", Level: "error", Text: r})
	}
	for _, r := range s.artifacts.Report() {
		s.notices = append(s.notices, Notice{ID: "artifacts_damaged", Level: "error", Text: r})
	}
}

// setTrouble remembers why a session could not be run; nil clears it.
func (s *Service) setTrouble(session domain.SessionID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.trouble, session)
		return
	}
	s.trouble[session] = err
	s.hub.Notify("session:" + string(session))
}

// scratch is the folder for what only lives as long as a call.
func (s *Service) scratch() string { return filepath.Join(s.cfg.DataDir, "scratch") }
