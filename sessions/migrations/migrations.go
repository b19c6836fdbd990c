// Package migrations embeds the ledger's schema, one SQL file per step, applied
// in name order and never edited after a release.
package migrations

import "embed"

// Files holds the steps.
//
//go:embed *.sql
var Files embed.FS
