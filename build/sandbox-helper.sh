#!/bin/sh
# Builds process 1 of the Linux sandbox, to be embedded into the binaries.
# Usage: build/sandbox-helper.sh [GOARCH]
set -eu
cd "$(dirname "$0")/.."
out=backend/sandbox/local/helper/worksite-init.bin
CGO_ENABLED=0 GOOS=linux GOARCH="${1:-$(go env GOARCH)}" \
	go build -trimpath -buildvcs=false -ldflags "-s -w -buildid=" -o "$out.tmp" ./backend/sandbox/local/init
if [ -f "$out" ] && cmp -s "$out" "$out.tmp"; then
	rm -f "$out.tmp" # unchanged: keeps its time, so that nothing is rebuilt
else
	mv -f "$out.tmp" "$out"
fi
