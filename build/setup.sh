#!/usr/bin/env bash
# Finds what Worksite needs on this machine, says what is missing and why, and
# installs it by package name. Nothing else is fetched and nothing is changed
# when everything is there.
#
#   build/setup.sh run     what building and running needs
#   build/setup.sh test    that, and what the tests need
#   build/setup.sh -n …    only says what is missing; exit 1 when something is
set -euo pipefail
cd "$(dirname "$0")/.."

only_say=
if [[ ${1:-} == -n ]]; then only_say=1; shift; fi
profile=${1:-run}
case $profile in run | test) ;; *) echo "setup: unknown profile '$profile' (run or test)" >&2; exit 2 ;; esac

say() { printf 'setup: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }
# at_least HAVE WANT compares dotted versions.
at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

missing=()  # one line each: what, and why
packages=() # what to install for them
manual=()   # what no package of this system gives, with the remedy

need() { # WHAT WHY PACKAGE… (after a failed check)
  missing+=("$1: $2")
  packages+=("${@:3}")
}

go_wanted=$(awk '$1 == "go" { split($2, v, "."); print v[1] "." v[2]; exit }' go.mod)
node_wanted=20.19

go_found() { (go env GOVERSION 2>/dev/null || true) | sed 's/^go//'; }
node_found() { (node --version 2>/dev/null || true) | sed 's/^v//'; }

chromium_found() {
  local c
  for c in "${WORKSITE_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    # Ubuntu's chromium-browser is a script that only asks for the snap.
    if [[ -n $c ]] && have "$c" && "$c" --version >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

look() {
  missing=() packages=() manual=()
  local v
  have git || need git "versions, and the diffs of your repositories" git ca-certificates
  have make || need make "runs the build" make
  have cc || have gcc || need "a C compiler" "SQLite and the window are C" gcc libc6-dev
  have python3 || need python3 "the sample workspace's checks" python3
  v=$(go_found)
  if [[ -z $v ]] || ! at_least "$v" "$go_wanted"; then
    need "Go $go_wanted (found: ${v:-none})" "builds both binaries" golang-go
  fi
  v=$(node_found)
  if [[ -z $v ]] || ! at_least "$v" "$node_wanted"; then
    need "Node $node_wanted (found: ${v:-none})" "builds the page" nodejs npm
  elif ! have npm; then
    need npm "builds the page" npm
  fi
  if [[ $(uname -s) == Linux ]]; then
    have pkg-config || need pkg-config "finds the window's libraries" pkg-config
    { have pkg-config && pkg-config --exists gtk+-3.0; } || need "GTK 3 headers" "the window" libgtk-3-dev
    { have pkg-config && pkg-config --exists webkit2gtk-4.1; } || need "WebKitGTK 4.1 headers" "the window" libwebkit2gtk-4.1-dev
    have bwrap || need bubblewrap "the sandbox that commands run in" bubblewrap
    have xdg-open || need xdg-utils "opens links in your browser" xdg-utils
  fi
  if [[ $profile == test && $(uname -s) == Linux ]]; then
    chromium_found || need chromium "the tests of the page" chromium
    have Xvfb || need Xvfb "a screen for the test of the real window" xvfb xauth
    have openbox || need openbox "a window manager there" openbox
    have xdotool || need xdotool "mouse and keys there" xdotool
    have dbus-run-session || need dbus "a session bus there" dbus
    have import || need ImageMagick "pictures of the window" imagemagick
    /usr/bin/python3 -c 'import gi; gi.require_version("Gtk", "3.0"); from gi.repository import Gtk' >/dev/null 2>&1 ||
      need "GTK for Python" "the drag source of the window test" python3-gi gir1.2-gtk-3.0
    /usr/bin/python3 -c 'import gi; gi.require_version("Atspi", "2.0"); from gi.repository import Atspi' >/dev/null 2>&1 ||
      need "AT-SPI for Python" "reading the window as a screen reader does" at-spi2-core gir1.2-atspi-2.0
    have shellcheck || need shellcheck "the check of the shell scripts" shellcheck
    have x86_64-w64-mingw32-gcc || [[ $(uname -m) != x86_64 ]] || need "the MinGW compiler" "the cross-build for Windows" gcc-mingw-w64-x86-64
  fi
}

# too_old PACKAGE WANTED: whether this system's package would not help.
too_old() {
  local v
  v=$(apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" { print $2 }')
  [[ -z $v || $v == "(none)" ]] && return 0
  v=${v#*:}
  ! at_least "${v%%[-+~]*}" "$2"
}

drop_package() { # NAME
  local p kept=()
  for p in "${packages[@]}"; do [[ $p == "$1" ]] || kept+=("$p"); done
  packages=("${kept[@]+"${kept[@]}"}")
}

wants() { [[ " ${packages[*]-} " == *" $1 "* ]]; }

# leave_out takes out what this system's packages cannot give in the version needed.
leave_out() {
  # From 1.21 on, go fetches the version that go.mod names through its module proxy.
  if wants golang-go && too_old golang-go 1.21; then
    drop_package golang-go
    manual+=("Go $go_wanted or newer is not among this system's packages: install it from the Go project's download page and put its bin folder into PATH")
  fi
  if wants nodejs && too_old nodejs "$node_wanted"; then
    drop_package nodejs
    drop_package npm
    manual+=("Node $node_wanted or newer is not among this system's packages: install it from the Node.js project's download page")
  fi
  if wants chromium && apt-cache policy chromium 2>/dev/null | grep -q 'Candidate: .*snap'; then
    drop_package chromium
    manual+=("Chromium comes as a snap on this system: run 'snap install chromium', or set WORKSITE_CHROMIUM to a Chrome or Chromium")
  fi
}

show_missing() {
  local m
  say "missing for '$profile':"
  for m in "${missing[@]}"; do printf '         - %s\n' "$m"; done
}

look
if ((${#missing[@]} == 0)); then
  exit 0
fi
show_missing
if [[ -n $only_say ]]; then exit 1; fi
if ! have apt-get; then
  say "this system has no apt-get: install the above with its own package manager and run this again"
  exit 1
fi

as_root=()
if [[ $(id -u) != 0 ]]; then
  if ! have sudo; then
    say "not root, and there is no sudo: run as root: apt-get install ${packages[*]}"
    exit 1
  fi
  as_root=(sudo)
fi
apt() {
  # `${a[@]+…}`: bash before 4.4 calls an empty list unset.
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get \
    -o DPkg::Lock::Timeout=180 -o Acquire::Retries=3 -o APT::Color=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold -qq "$@"
}
retry() { # TRIES COMMAND…
  local tries=$1 i
  shift
  for ((i = 1; ; i++)); do
    if "$@"; then return 0; fi
    ((i < tries)) || return 1
    say "that did not work; trying again ($i of $((tries - 1)))"
    sleep $((i * 5))
  done
}

say "reading the package lists"
retry 3 apt update || say "the package lists could not be read; going on with the old ones"
leave_out
if ((${#packages[@]} > 0)); then
  say "installing: ${packages[*]}"
  log=$(mktemp)
  if ! retry 3 apt install -y --no-install-recommends "${packages[@]}" >"$log" 2>&1; then
    tail -n 20 "$log"
    say "the packages could not be installed"
    exit 1
  fi
  rm -f "$log"
fi
hash -r
look
if ((${#missing[@]} > 0)); then
  show_missing
  for m in "${manual[@]+"${manual[@]}"}"; do say "$m"; done
  exit 1
fi
say "done"
