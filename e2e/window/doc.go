// Package window tests the real window: WebKitGTK under Xvfb with a window
// manager and a session bus, driven by a real mouse and keyboard (xdotool) and
// read through the accessibility tree, as a screen reader would.
//
// The tests run with WORKSITE_WINDOW=1 (`make window-smoke`) and need the
// packages of `build/setup.sh test` and both binaries in bin/. Pictures of every
// stage go to out/. The package imports nothing of ours: it sees what a person sees, and
// the command line's --json.
package window
