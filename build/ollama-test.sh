#!/bin/sh
# Tests the Ollama provider against a real Ollama server.
#
# usage: build/ollama-test.sh [--if-built] [--] [arguments of go test]
#
# Builds the server from the Ollama module that go.mod names (about 7 CPU
# minutes, once: the program is kept in the cache folder under its version),
# makes tiny models with random weights, starts the server on a free loopback
# port with a home folder of its own, and runs the tests that need it.
#
#   --if-built                 do nothing but say so when the server was not built yet
#   WORKSITE_OLLAMA_BIN=FILE   use this server program instead of building one
#   WORKSITE_TINYMODEL=DIR     where the tool that makes the models is
set -eu
cd "$(dirname "$0")/.."
root=$PWD
if_built=no
while [ $# -gt 0 ]; do
	case $1 in
	--if-built) if_built=yes; shift ;;
	--) shift; break ;;
	*) break ;;
	esac
done
say() { echo "ollama-test: $*"; }

malgo=v0.11.24 # carries miniaudio.h, which the server's module leaves out
version=$(go list -m -f '{{.Version}}' github.com/ollama/ollama)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/worksite-test
server=${WORKSITE_OLLAMA_BIN:-$cache/ollama-$version}
tiny=${WORKSITE_TINYMODEL:-../shared/tools/tinymodel}

if [ ! -f "$tiny/go.mod" ]; then
	say "skipped: no tiny models, there is no tool at $tiny (set WORKSITE_TINYMODEL)"
	exit 0
fi
if [ ! -x "$server" ] && [ $if_built = yes ]; then
	say "skipped: no Ollama server at $server; build/ollama-test.sh builds it"
	exit 0
fi

work=$(mktemp -d)
pid=
cleanup() {
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ ! -x "$server" ]; then
	for header in nlohmann/json.hpp stb/stb_image.h; do
		if [ ! -f "/usr/include/$header" ]; then
			say "cannot build the server: no $header; install nlohmann-json3-dev and libstb-dev" >&2
			exit 1
		fi
	done
	say "building the Ollama server $version, about 7 CPU minutes"
	mkdir -p "$cache" "$work/build" "$work/include/miniaudio"
	malgo_dir=$(cd "$work" && go mod download -json "github.com/gen2brain/malgo@$malgo" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
	ln -s "$malgo_dir/miniaudio.h" "$work/include/miniaudio/miniaudio.h"
	cp go.sum "$work/build/"
	(
		cd "$work/build"
		printf 'module ollamabuild\n\ngo 1.26\n' >go.mod
		go get "github.com/ollama/ollama@$version"
		CGO_ENABLED=1 CGO_CXXFLAGS="-O2 -I$work/include" nice -n 10 go build -mod=mod -o "$work/ollama" github.com/ollama/ollama
	)
	mv "$work/ollama" "$cache/.ollama-$$" && mv "$cache/.ollama-$$" "$server"
fi

say "making the tiny models"
(cd "$tiny" && go run . -out "$work/models") >/dev/null
mkdir -p "$work/home" "$work/store"
export OLLAMA_MODELS="$work/store" OLLAMA_NO_CLOUD=1
HOME="$work/home" OLLAMA_HOST=127.0.0.1:0 "$server" serve >"$work/serve.log" 2>&1 &
pid=$!
address=
tries=0
while [ -z "$address" ]; do
	tries=$((tries + 1))
	if [ $tries -gt 150 ] || ! kill -0 "$pid" 2>/dev/null; then
		say "the server did not start:" >&2
		tail -20 "$work/serve.log" >&2
		exit 1
	fi
	sleep 0.1
	address=$(sed -n 's/.*Listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$work/serve.log" | head -1)
done
for model in chat think embed; do
	(cd "$work/models" && HOME="$work/home" OLLAMA_HOST=$address "$server" create "tiny-$model" -f "Modelfile.$model") >"$work/create.log" 2>&1 || {
		cat "$work/create.log" >&2
		exit 1
	}
done

say "testing against http://$address"
cd "$root"
WORKSITE_OLLAMA="http://$address" WORKSITE_OLLAMA_BIN="$server" WORKSITE_OLLAMA_STORE="$work/store" \
	go test -count=1 -p 1 -timeout 10m -v -run '^TestReal' ./backend/model/ollama ./backend/model/openai "$@"
