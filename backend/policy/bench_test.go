package policy

import (
	"testing"

	"worksite/backend/domain"
)

func BenchmarkDecide(b *testing.B) {
	r := fine(bashCall("cd src && timeout 60 python -m pytest -q tests | tail -n 20 > out.txt"), domain.ModeAuto)
	for b.Loop() {
		if d := Decide(r); d.Verdict != domain.VerdictAllow {
			b.Fatal(d)
		}
	}
}
