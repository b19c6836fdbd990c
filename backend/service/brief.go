package service

import (
	"context"
	"fmt"
	"strings"

	"worksite/backend/domain"
)

// instructionsMost bounds what a folder's own instructions may add to every request.
const instructionsMost = 16 << 10

// briefer gives the fixed beginning of every context of a session.
type briefer struct{ svc *Service }

const briefText = `You are the agent of Worksite. You work in one folder of the person's machine through the tools you are given.
- Read before you change. Make the smallest change that does the job, in the style of the code around it.
- Use edit for existing files and write for new ones. Run the project's own checks with bash and look at the result before you say that something works.
- Commands run in a sandbox without network and without the person's home folder. When something is refused or fails, say so plainly and choose another way.
- For work of several steps, keep a short list with plan. Put a result that the person should keep into a file and hand it over with save_artifact.
- The person reviews every change. Finish with a short summary: what you did, what you checked, what is open.
`

// Brief implements harness.Briefer. Instructions of the folder are read only when
// the person trusts exactly their present content.
func (b briefer) Brief(ctx context.Context, _ domain.SessionID, id domain.WorkspaceID) (string, []domain.ContextSource, error) {
	ws, err := b.svc.open(ctx, id)
	if err != nil {
		return "", nil, err
	}
	text := briefText + fmt.Sprintf("The folder is %s; paths are relative to it.\n", ws.Root())
	sources := []domain.ContextSource{source("system", text)}
	trusted, err := b.svc.workspaces.Trusted(ctx, id)
	if err != nil || !trusted {
		return text, sources, err
	}
	gated, err := b.svc.workspaces.Gated(ctx, id)
	if err != nil {
		return "", nil, err
	}
	for _, g := range gated {
		if g.Kind != "instructions" {
			continue
		}
		raw, err := b.svc.workspaces.ReadTrusted(ctx, ws.Handle, g.Path)
		if err != nil {
			continue // changed since it was trusted, or gone
		}
		if len(raw) > instructionsMost {
			raw = append(raw[:instructionsMost:instructionsMost], "\n[the rest of this file was left out]"...)
		}
		part := fmt.Sprintf("\nInstructions of this folder, from %s:\n%s\n", g.Path, strings.ToValidUTF8(string(raw), "\uFFFD"))
		text += part
		sources = append(sources, source(g.Path, part))
	}
	return text, sources, nil
}

func source(label, text string) domain.ContextSource {
	return domain.ContextSource{Label: label, Bytes: len(text), SHA256: domain.HashBytes([]byte(text))}
}
