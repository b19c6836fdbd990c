#!/usr/bin/env bash
# Fails when a function of ours can be reached from no binary. Test suites and
# helpers (…test/, internal/testkit) are there for tests and count with those.
set -euo pipefail
cd "$(dirname "$0")/.."
all=$(go tool -modfile=build/tools/go.mod deadcode -filter '^worksite(/|$)' \
  -f '{{range .Funcs}}{{printf "%s: %s\n" .Position .Name}}{{end}}' . ./backend/cmd/...)
found=$(grep -vE '^[^:]*(test/|/internal/testkit/)' <<<"$all" | grep . || true)
if [[ -n $found ]]; then
  echo "deadcode: no binary reaches these functions; remove them, or the test that is their only caller:"
  printf '%s\n' "$found"
  exit 1
fi
echo "deadcode: none"
