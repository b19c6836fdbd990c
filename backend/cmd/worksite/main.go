// Command worksite is the command line and the headless server. It links neither
// GTK nor WebKit; SQLite is its only cgo.
package main

import (
	"os"

	"golang.org/x/term"

	"worksite/backend/cli"
	"worksite/backend/config"
	"worksite/frontend"
)

func main() {
	os.Exit(cli.Main(cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Version: config.Version, Page: frontend.Handler(), PageMissing: !frontend.Built(), Terminal: term.IsTerminal(int(os.Stdin.Fd())),
	}))
}
