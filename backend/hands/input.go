package hands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"worksite/backend/domain"
)

// Decode reads the arguments of a call, which have passed the hand's schema.
func Decode[T any](call domain.HandCall) (T, error) {
	var v T
	if err := json.Unmarshal(call.Input, &v); err != nil {
		return v, domain.Errorf(domain.CodeInvalid, "arguments: %w", err)
	}
	return v, nil
}

// Opaque returns what Prepare left for Execute, or refuses: a prepared call
// without it comes from another process and must be prepared again.
func Opaque[T any](p *domain.PreparedCall) (T, error) {
	v, ok := p.Opaque.(T)
	if !ok {
		return v, domain.Errorf(domain.CodeConflict, "the call was prepared elsewhere; prepare it again")
	}
	return v, nil
}

// ReadOnly makes the prepared call of a hand that only reads.
func ReadOnly(call domain.HandCall, title string, touches ...string) *domain.PreparedCall {
	return &domain.PreparedCall{
		Call: call, Effect: domain.Effect{Class: domain.EffectRead},
		Title: title, Shown: title, ShownKind: "text", Touches: touches,
	}
}

// ProbeRead is what a hand that only reads answers: running it again is safe.
func ProbeRead() (domain.ProbeResult, string) {
	return domain.ProbeNotDone, "it only reads; it can run again"
}

// Clip shortens s to about n bytes at a rune boundary and says by how much.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := n
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return fmt.Sprintf("%s… [%d more bytes]", s[:cut], len(s)-cut)
}

// Size writes a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// Plural writes a count with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "ss") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// NotFound words a missing path with the nearest names that do exist.
func NotFound(ws Reader, rel string) error {
	dir, base := ".", rel
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		dir, base = rel[:i], rel[i+1:]
	}
	err := domain.Errorf(domain.CodeNotFound, "there is no %s", rel)
	entries, rerr := ws.ReadDir(dir)
	if rerr != nil {
		return domain.Errorf(domain.CodeNotFound, "there is no %s, nor a folder %s", rel, dir)
	}
	type near struct {
		name  string
		score float64
	}
	var found []near
	for _, e := range entries {
		if s := Similarity(strings.ToLower(base), strings.ToLower(e.Name())); s >= 0.5 {
			found = append(found, near{e.Name(), s})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int {
		if a.score > b.score {
			return -1
		}
		return 1
	})
	var names []string
	for _, f := range found[:min(3, len(found))] {
		names = append(names, strings.TrimPrefix(dir+"/"+f.name, "./"))
	}
	if len(names) > 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no %s; near names: %s", rel, strings.Join(names, ", "))
	}
	return err
}

// Similarity is the share of letter pairs that two texts have in common, 0 to 1.
func Similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := map[string]int{}
	for i := range len(a) - 1 {
		pairs[a[i:i+2]]++
	}
	common := 0
	for i := range len(b) - 1 {
		if p := b[i : i+2]; pairs[p] > 0 {
			pairs[p]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}
