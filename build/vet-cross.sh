#!/usr/bin/env bash
# Vets for macOS and Windows every package that needs no cgo, and says which ones
# were left out and why. Those are the packages over SQLite; everything else must
# compile for the three systems from this one.
set -euo pipefail
cd "$(dirname "$0")/.."

# A package needs cgo when it, or something below it outside the standard library, has C in it.
all=$(CGO_ENABLED=1 go list -deps -f '{{if not .Standard}}{{.ImportPath}} {{len .CgoFiles}} {{join .Deps ","}}{{end}}' ./...)
mapfile -t left_out < <(awk '
  { name[NR] = $1; deps[NR] = "," $1 "," $3 ","; if ($2 > 0) c[$1] = 1 }
  END {
    for (i = 1; i <= NR; i++) {
      if (name[i] !~ /^worksite(\/|$)/) continue
      for (p in c) if (index(deps[i], "," p ",")) { print name[i]; break }
    }
  }' <<<"$all" | sort)

for system in darwin windows; do
  # Listed per system: a package may consist of files for another one only.
  mapfile -t here < <(CGO_ENABLED=0 GOOS=$system go list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' ./... 2>/dev/null | sort)
  mapfile -t checked < <(comm -23 <(printf '%s\n' "${here[@]}") <(printf '%s\n' "${left_out[@]+"${left_out[@]}"}"))
  CGO_ENABLED=0 GOOS=$system go vet "${checked[@]}"
  printf 'vet-cross: %s: %d packages are clean\n' "$system" "${#checked[@]}"
done
printf 'vet-cross: left out, since SQLite is C:%s\n' "$(printf ' %s' "${left_out[@]+"${left_out[@]#worksite/}"}")"
