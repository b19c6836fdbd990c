package hands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"worksite/backend/domain"
)

// Change is a file's content before and after, computed by Prepare and carried
// out by [Change.Apply]. It is what write and edit keep in PreparedCall.Opaque.
type Change struct {
	Image   domain.FileImage
	Content []byte
	Mode    fs.FileMode
	Notes   []string // what was kept of the file's form, for the model
	Where   string   // e.g. "lines 3-5", for the model
	Summary string   // e.g. "+14 −3"
}

// ReadForChange reads the file that a call is going to change. before is nil
// when there is none; a file that exists must have been read in this session.
func ReadForChange(ws Reader, seen *Seen, call domain.HandCall, rel string) (before []byte, img Image, err error) {
	before, img, err = ws.ReadFile(rel)
	if domain.CodeOf(err) == domain.CodeNotFound || errors.Is(err, fs.ErrNotExist) {
		return nil, Image{}, nil
	}
	if err != nil {
		return nil, img, err
	}
	if before == nil {
		before = []byte{}
	}
	return before, img, seen.Check(call.Session, rel, img.Hash)
}

// Prepared makes the prepared call of one changed file: both images, the whole
// diff, what it touches and the standing permission it could get.
func (c *Change) Prepared(ws Workspace, call domain.HandCall, verb string, before []byte) *domain.PreparedCall {
	diff := Diff(c.Image.Path, before, c.Content)
	c.Summary = diff.Summary()
	p := &domain.PreparedCall{
		Call:      call,
		Effect:    domain.Effect{Class: domain.EffectIdempotent, Files: []domain.FileImage{c.Image}},
		Title:     verb + " " + c.Image.Path,
		Shown:     strings.ToValidUTF8(diff.Text, "\uFFFD"),
		ShownKind: "diff",
		Touches:   []string{c.Image.Path},
		Scopes:    []domain.GrantScope{EditScope(ws.ID())},
		Opaque:    c,
	}
	p.Touches = append(p.Touches, HiddenCharacters(c.Content, before)...)
	return p
}

// EditScope is the standing permission to change files of a workspace.
func EditScope(ws domain.WorkspaceID) domain.GrantScope {
	return domain.GrantScope{
		ID:    "session:fs.write:" + string(ws),
		Words: "edit and create files in this workspace during this session, without asking each time (protected files stay refused)",
	}
}

// Apply carries the change out, unless the world moved on since Prepare or p is
// not the call that the change was computed for.
func (c *Change) Apply(ctx context.Context, ws Workspace, seen *Seen, p *domain.PreparedCall) (domain.HandResult, error) {
	var res domain.HandResult
	call, rel := p.Call, c.Image.Path
	if len(p.Effect.Files) != 1 || p.Effect.Files[0] != c.Image {
		return res, domain.Errorf(domain.CodeConflict, "the change of %s is not the one that was decided on; nothing was written", rel)
	}
	if yes, why := ws.Protected(rel); yes {
		return res, domain.Errorf(domain.CodeForbidden, "%s is protected: %s", rel, why)
	}
	if domain.HashBytes(c.Content) != c.Image.Post {
		return res, domain.Errorf(domain.CodeConflict, "the new content of %s is not the one that was decided on; nothing was written", rel)
	}
	drafts, err := Begin(ctx, ws, call.Session)
	if err != nil {
		return res, fmt.Errorf("take base snapshot: %w", err)
	}
	img, err := ws.WriteFile(ctx, rel, c.Image.Pre, c.Content, c.Mode)
	if err != nil {
		return res, err
	}
	seen.Mark(call.Session, rel, img.Post)
	res.Drafts = append(drafts, domain.FileWritten{V: 1, CallID: call.CallID, File: img, Mode: uint32(c.Mode.Perm())})
	res.Output.Files = []domain.FileImage{img}
	return res, nil
}

// ProbeChange tells by the images whether a change of files happened.
func ProbeChange(ws Reader, effect domain.Effect) (domain.ProbeResult, string) {
	if len(effect.Files) != 1 {
		return domain.ProbeUnknown, "the record does not name the file"
	}
	f := effect.Files[0]
	_, img, err := ws.ReadFile(f.Path)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound || errors.Is(err, fs.ErrNotExist):
		img.Hash = domain.Hash{}
	case err != nil:
		return domain.ProbeUnknown, fmt.Sprintf("%s cannot be read: %v", f.Path, err)
	}
	switch img.Hash {
	case f.Post:
		return domain.ProbeDone, fmt.Sprintf("%s has exactly the content that was to be written (%.12s)", f.Path, f.Post)
	case f.Pre:
		if f.Pre.IsZero() {
			return domain.ProbeNotDone, f.Path + " does not exist, as before the call"
		}
		return domain.ProbeNotDone, fmt.Sprintf("%s is as it was before the call (%.12s)", f.Path, f.Pre)
	}
	return domain.ProbeUnknown, fmt.Sprintf("%s is neither as before the call nor as after it; something else changed it", f.Path)
}

// RecoveredChange is the result of a change that was found done after a crash.
func RecoveredChange(seen *Seen, call domain.HandCall, effect domain.Effect) (domain.HandResult, error) {
	var res domain.HandResult
	for _, f := range effect.Files {
		seen.Mark(call.Session, f.Path, f.Post)
		res.Drafts = append(res.Drafts, domain.FileWritten{V: 1, CallID: call.CallID, File: f})
	}
	res.Output.Files = effect.Files
	return res, nil
}

// HiddenCharacters warns of characters that make a text read differently from
// what it does, when a change brings new ones in.
func HiddenCharacters(after, before []byte) []string {
	var names []string
	for r, name := range hidden {
		enc := []byte(string(r))
		if n := bytes.Count(after, enc) - bytes.Count(before, enc); n > 0 {
			names = append(names, fmt.Sprintf("hidden characters: %d × %s (%U)", n, name, r))
		}
	}
	slices.Sort(names)
	return names
}

var hidden = map[rune]string{
	'\u202A': "left-to-right embedding", '\u202B': "right-to-left embedding", '\u202C': "pop directional formatting",
	'\u202D': "left-to-right override", '\u202E': "right-to-left override", '\u2066': "left-to-right isolate",
	'\u2067': "right-to-left isolate", '\u2068': "first strong isolate", '\u2069': "pop directional isolate",
	'\u200B': "zero-width space", '\u200C': "zero-width non-joiner", '\u200D': "zero-width joiner", '\u2060': "word joiner",
	'\u00AD': "soft hyphen", '\u001B': "terminal escape", '\u0008': "backspace",
}
