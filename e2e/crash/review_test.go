package crash_test

import (
	"fmt"
	"slices"
	"strings"

	"worksite/backend/domain"
)

// state is what a person sees of a session's changes.
type state struct {
	Accepted, Rejected int
	Files              []struct {
		Path, Status string
		Pre, Post    domain.Hash
		ByYou        bool
	}
}

// reviews are the commands of the review, each after the one before it. They name
// files, so that what is known of the log does not matter.
var reviews = []string{"accept f1.txt", "reject f2.txt", "reject old.txt", "restore f0.txt f1.txt", "undo"}

// review carries the review out and returns what the person sees at the end. arm
// names a fail point for each command, "" for none, and what to do when it was hit.
func (s *site) review(arm func(command string) (point string, hit func())) (seen string) {
	s.t.Helper()
	var restored domain.EventID
	known := len(s.events())
	for _, command := range reviews {
		words := strings.Fields(command)
		args := append([]string{"workspace", words[0], s.session}, words[1:]...)
		if command == "undo" {
			args = []string{"workspace", "restore", s.session, "--undo", string(restored)}
		}
		before := s.files()
		point, hit := arm(words[0])
		killed := s.start(point, 0, args...)
		fresh := s.answered(command, known, before)
		if killed {
			hit()
			if len(fresh) == 0 { // it came to nothing: once more
				s.start("", 0, args...)
				fresh = s.answered(command, known, before)
			}
		}
		if len(fresh) != 1 {
			s.t.Errorf("%s: the ledger has %d answers", command, len(fresh))
		}
		for _, e := range fresh {
			restored = e.ID
		}
		known += len(fresh)
	}
	for name, content := range s.files() {
		seen += fmt.Sprintf("%s %q\n", name, content)
	}
	lines := strings.Split(seen, "\n")
	var v state
	s.decode(&v, "workspace", "diff", s.session, "--json")
	lines = append(lines, fmt.Sprintf("%d hunks accepted, %d rejected", v.Accepted, v.Rejected))
	for _, f := range v.Files {
		if f.Path != "log.txt" {
			lines = append(lines, fmt.Sprintf("%+v", f))
		}
	}
	slices.Sort(lines)
	s.output("journal", "verify")
	return strings.Join(lines, "\n")
}

// answered returns what the ledger has after known events. Each file is as before,
// or as the ledger says; once somebody has looked, it is as the ledger says.
func (s *site) answered(command string, known int, before map[string]string) []domain.Event {
	s.t.Helper()
	images := map[string]domain.FileImage{}
	fresh := s.events()[known:]
	for _, e := range fresh {
		switch p := decoded(s.t, e).(type) {
		case domain.HunkRejected:
			images[p.File.Path] = p.File
		case domain.WorkspaceRestored:
			for _, f := range p.Files {
				images[f.Path] = f
			}
		}
	}
	look := func(settled bool) {
		s.t.Helper()
		now := s.files()
		for name := range now {
			if _, ok := before[name]; !ok && images[name].Post.IsZero() {
				s.t.Errorf("%s: %s came into being", command, name)
			}
		}
		for name, was := range before {
			if got, ok := now[name]; images[name].Path == "" && (!ok || got != was) {
				s.t.Errorf("%s: %s changed and the ledger does not know", command, name)
			}
		}
		for name, f := range images {
			have := domain.Hash{}
			if b, ok := now[name]; ok {
				have = domain.HashBytes([]byte(b))
			}
			if have != f.Post && (settled || have != f.Pre) {
				s.t.Errorf("%s: %s is %.12s, before %.12s, after %.12s; settled %v", command, name, have, f.Pre, f.Post, settled)
			}
		}
	}
	look(false)
	s.output("workspace", "diff", s.session)
	look(true)
	return fresh
}
