// Package config is the one typed configuration: where the data folder is, and
// the person's settings in it. It imports domain only.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"worksite/backend/domain"
)

// Version is the program's version; the linker sets it.
var Version = "dev"

// Home returns the data folder: $WORKSITE_HOME, else the system's place for a
// person's application data. It is not created.
func Home() (string, error) {
	if dir := os.Getenv("WORKSITE_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	if runtime.GOOS != "windows" && runtime.GOOS != "darwin" {
		if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "worksite"), nil
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the home folder: %w", err)
		}
		return filepath.Join(home, ".local", "share", "worksite"), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	return filepath.Join(dir, "Worksite"), nil
}

// Settings are the person's choices; the zero value of each field means "not
// chosen".
type Settings struct {
	Theme     string          `json:"theme"` // "system", "light", "dark", "contrast"
	Model     domain.ModelRef `json:"model"`
	Mode      domain.Mode     `json:"mode"`
	Budget    domain.Budget   `json:"budget"`
	OllamaURL string          `json:"ollamaUrl"`
	OpenAIURL string          `json:"openaiUrl"`
	Started   bool            `json:"started"` // the first-start page was answered
}

const settingsFile = "settings.json"

// LoadSettings reads the settings of a data folder. A damaged file is set aside
// and reported as a note; it never stops the start.
func LoadSettings(dir string) (s Settings, note string, err error) {
	path := filepath.Join(dir, settingsFile)
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return s, "", fmt.Errorf("read settings: %w", err)
	}
	if err == nil {
		if jerr := json.Unmarshal(raw, &s); jerr != nil {
			aside := path + ".damaged"
			if err := os.Rename(path, aside); err != nil {
				return s, "", fmt.Errorf("set damaged settings aside: %w", err)
			}
			s = Settings{}
			note = fmt.Sprintf("The settings could not be read (%v). They were set aside as %s and the defaults are used.", jerr, filepath.Base(aside))
		}
	}
	s.fill()
	return s, note, nil
}

func (s *Settings) fill() {
	if s.Theme == "" {
		s.Theme = "system"
	}
	if s.Mode == "" {
		s.Mode = domain.ModeAsk
	}
	if s.Budget == (domain.Budget{}) {
		s.Budget = domain.Budget{Steps: 200}
	}
}

// Save writes s atomically.
func (s Settings) Save(dir string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode settings: %w", err)
	}
	f, err := os.CreateTemp(dir, settingsFile+".*")
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, settingsFile))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write settings: %w", err), os.Remove(f.Name()))
	}
	return nil
}
