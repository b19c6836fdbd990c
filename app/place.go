package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wailsapp/wails/v2/pkg/options"
)

// place is where the window stood when it was closed, in window.json of the data
// folder. It is a convenience: anything unreadable means the defaults.
type place struct {
	Width     int  `json:"width"`
	Height    int  `json:"height"`
	X         int  `json:"x"`
	Y         int  `json:"y"`
	Placed    bool `json:"placed"` // X and Y are known
	Maximised bool `json:"maximised"`
}

const (
	firstWidth, firstHeight = 1280, 800
	mostPixels              = 16384 // beyond any screen: a damaged file
)

func placeFile(dir string) string { return filepath.Join(dir, "window.json") }

func (p place) state() options.WindowStartState {
	if p.Maximised {
		return options.Maximised
	}
	return options.Normal
}

func loadPlace(dir string) place {
	first := place{Width: firstWidth, Height: firstHeight}
	raw, err := os.ReadFile(placeFile(dir))
	if err != nil {
		return first
	}
	var p place
	if json.Unmarshal(raw, &p) != nil || p.Width < 1 || p.Height < 1 || p.Width > mostPixels || p.Height > mostPixels {
		return first
	}
	if p.X < -mostPixels || p.X > mostPixels || p.Y < -mostPixels || p.Y > mostPixels {
		p.Placed = false
	}
	return p
}

func savePlace(dir string, p place) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode window place: %w", err)
	}
	tmp := placeFile(dir) + ".new"
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		return fmt.Errorf("save window place: %w", err)
	}
	if err := os.Rename(tmp, placeFile(dir)); err != nil {
		return fmt.Errorf("save window place: %w", err)
	}
	return nil
}
