// Package builtin makes the nine hands that every session has. It only joins
// the packages of the hands; what they reach is given in [Config].
package builtin

import (
	"worksite/backend/capability"
	"worksite/backend/hands"
	"worksite/backend/hands/bash"
	"worksite/backend/hands/edit"
	"worksite/backend/hands/glob"
	"worksite/backend/hands/grep"
	"worksite/backend/hands/ls"
	"worksite/backend/hands/plan"
	"worksite/backend/hands/read"
	"worksite/backend/hands/saveartifact"
	"worksite/backend/hands/write"
)

// Config is what the hands reach.
type Config struct {
	Open      hands.OpenFunc     // finds a workspace
	Seen      *hands.Seen        // what each session has read; replayed from the ledger with Seen.Apply
	Sandbox   bash.Sandbox       // runs commands
	PutOutput bash.PutFunc       // keeps whole outputs; nil: they are not kept
	Artifacts saveartifact.Store // keeps artifacts
}

// New returns the hands in the order in which a model sees them.
func New(c Config) []capability.Hand {
	return []capability.Hand{
		read.New(c.Open, c.Seen),
		write.New(c.Open, c.Seen),
		edit.New(c.Open, c.Seen),
		ls.New(c.Open),
		glob.New(c.Open),
		grep.New(c.Open),
		bash.New(c.Open, c.Sandbox, c.PutOutput),
		plan.New(),
		saveartifact.New(c.Open, c.Artifacts),
	}
}
