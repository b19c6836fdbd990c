package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"worksite/backend/config"
)

func TestHome(t *testing.T) {
	t.Setenv("WORKSITE_HOME", "/data/w")
	if got, err := config.Home(); err != nil || got != "/data/w" {
		t.Fatalf("got %q, %v", got, err)
	}
	t.Setenv("WORKSITE_HOME", "")
	t.Setenv("XDG_DATA_HOME", "/xdg")
	if got, err := config.Home(); err != nil || !strings.Contains(strings.ToLower(got), "worksite") {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	s, note, err := config.LoadSettings(dir)
	if err != nil || note != "" || s.Mode != "ask" || s.Theme != "system" {
		t.Fatalf("defaults: %+v, %q, %v", s, note, err)
	}
	s.Theme, s.Started = "dark", true
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	if got, _, err := config.LoadSettings(dir); err != nil || got != s {
		t.Fatalf("read back %+v, %v", got, err)
	}
}

// R144: damaged settings never stop the start; they are set aside whole.
func TestDamagedSettings(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(path, []byte("{\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, note, err := config.LoadSettings(dir)
	if err != nil || note == "" || s.Mode != "ask" {
		t.Fatalf("got %+v, %q, %v", s, note, err)
	}
	if b, err := os.ReadFile(path + ".damaged"); err != nil || string(b) != "{\x00" {
		t.Fatalf("set aside: %q, %v", b, err)
	}
}
