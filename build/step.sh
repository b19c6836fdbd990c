#!/usr/bin/env bash
# Runs one step of `make test`: names it, runs it, and says how long it took.
#   build/step.sh NAME COMMAND…
set -uo pipefail
name=$1
shift
printf '\n== %s\n' "$name"
start=$SECONDS
"$@"
code=$?
if ((code == 0)); then word=ok; else word="FAILED (exit $code)"; fi
printf '== %s: %s, %d s\n' "$name" "$word" $((SECONDS - start))
exit "$code"
