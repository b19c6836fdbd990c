package app

import (
	"os"
	"testing"
)

func TestPlaceIsRemembered(t *testing.T) {
	dir := t.TempDir()
	first := place{Width: firstWidth, Height: firstHeight}
	if got := loadPlace(dir); got != first {
		t.Errorf("first start %+v", got)
	}
	want := place{Width: 900, Height: 700, X: -20, Y: 40, Placed: true, Maximised: true}
	if err := savePlace(dir, want); err != nil {
		t.Fatal(err)
	}
	if got := loadPlace(dir); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for name, content := range map[string]string{
		"not JSON":     "garbage",
		"empty":        "",
		"no size":      `{"x":1}`,
		"a giant":      `{"width":1000000000,"height":10}`,
		"a wrong type": `{"width":"wide","height":10}`,
	} {
		if err := os.WriteFile(placeFile(dir), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := loadPlace(dir); got != first {
			t.Errorf("%s: got %+v, want the defaults", name, got)
		}
	}
	if err := os.WriteFile(placeFile(dir), []byte(`{"width":800,"height":600,"x":99999999,"y":0,"placed":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := loadPlace(dir); got.Placed {
		t.Errorf("a place off every screen was kept: %+v", got)
	}
}
