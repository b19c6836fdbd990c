#!/usr/bin/env bash
# Vets for macOS and Windows every package that needs no cgo. Those over SQLite
# need a C compiler for the other system: for Windows MinGW, where it is installed;
# for macOS there is none here, and they are left out by name. One whose tests
# alone need SQLite is compiled, without its tests.
set -euo pipefail
cd "$(dirname "$0")/.."

# One line per package, test variant and test binary: its path, whether it has C
# in it, and all that is below it.
listed=$(CGO_ENABLED=1 go list -deps -test \
  -f '{{if not .Standard}}{{.ImportPath}}|{{len .CgoFiles}}|{{join .Deps ","}}{{end}}' ./...)
# With C in it or below it: "whole NAME" for a package itself, "tests NAME" for its tests.
over_c=$(awk -F'|' '
  NF == 3 { n++; path[n] = $1; deps[n] = "," $3 ","; if ($2 > 0) { c[$1] = 1; has[n] = 1 } }
  END {
    for (i = 1; i <= n; i++) {
      if (path[i] !~ /^worksite/) continue
      found = has[i]
      for (p in c) if (index(deps[i], "," p ",")) found = 1
      if (!found) continue
      name = path[i]
      if (match(name, /\[.*\.test\]$/)) { name = substr(name, RSTART + 1, RLENGTH - 7); print "tests", name }
      else if (sub(/\.test$/, "", name)) print "tests", name
      else print "whole", name
    }
  }' <<<"$listed" | sort -u)
whole=$(awk '$1 == "whole" { print $2 }' <<<"$over_c" | sort)
tests=$(awk '$1 == "tests" { print $2 }' <<<"$over_c" | sort | comm -23 - <(printf '%s\n' "$whole"))

for system in darwin windows; do
  # Listed per system: a package may have files for another one only.
  here=$(CGO_ENABLED=0 GOOS=$system go list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' ./... | grep . | sort)
  mapfile -t clean < <(comm -23 <(printf '%s\n' "$here") <(printf '%s\n%s\n' "$whole" "$tests" | sort))
  mapfile -t compiled < <(comm -12 <(printf '%s\n' "$here") <(printf '%s\n' "$tests"))
  CGO_ENABLED=0 GOOS=$system go vet "${clean[@]}"
  if ((${#compiled[@]} > 0)); then CGO_ENABLED=0 GOOS=$system go build -o /dev/null "${compiled[@]}"; fi
  printf 'vet-cross: %s: %d packages vetted, %d compiled\n' "$system" "${#clean[@]}" "${#compiled[@]}"
done
short() { sed 's|^worksite/||' | tr '\n' ' '; }
printf 'vet-cross: compiled only, since their tests need SQLite: %s\n' "$(short <<<"$tests")"
mapfile -t over_sqlite <<<"$whole"
if command -v x86_64-w64-mingw32-gcc >/dev/null; then
  CGO_ENABLED=1 GOOS=windows GOARCH=amd64 CC=x86_64-w64-mingw32-gcc go vet "${over_sqlite[@]}"
  printf 'vet-cross: windows: %d more packages vetted with MinGW\n' "${#over_sqlite[@]}"
  printf 'vet-cross: left out for macOS, since they need SQLite: %s\n' "$(short <<<"$whole")"
else
  printf 'vet-cross: left out, since they need SQLite and there is no MinGW: %s\n' "$(short <<<"$whole")"
fi
