#!/usr/bin/env bash
# The long forms of the crash tests, and one table of their figures at the end.
# Takes about half an hour; the short forms run with the other tests.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
WORKSITE_SOAK=1 go test -count=1 -timeout 120m -v \
  -run '^(TestPowerCut|TestAnyFlip|TestWritersAndReaders|TestKillStorm|TestKilledAtAnyPoint|TestNamesAreComplete|TestTheProductHasNoSwitch)$' \
  ./sessions ./e2e/crash ./backend/workspace ./backend/failpoint >"$log" 2>&1 || status=$?
if ((status)); then
  grep -vE '^=== |^ *--- PASS' "$log"
fi
echo
echo "What was tried               What was found"
echo "---------------------------  ----------------------------------------------------------"
sed -nE 's/^.*figure: ([^|]*) \| (.*)$/\1|\2/p' "$log" | while IFS='|' read -r what found; do
  printf '%-27s  %s\n' "$what" "$found"
done
exit "$status"
