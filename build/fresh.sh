#!/usr/bin/env bash
# Fails when a generated file is not what `make generate` writes now.
set -euo pipefail
cd "$(dirname "$0")/.."
before=$(git status --porcelain=v1 | sha256sum; git diff | sha256sum)
go generate ./...
after=$(git status --porcelain=v1 | sha256sum; git diff | sha256sum)
if [[ $before != "$after" ]]; then
  echo "fresh: \`make generate\` changed these files; commit them:"
  git status --porcelain=v1
  exit 1
fi
echo "fresh: generated files are up to date"
