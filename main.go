// Command worksite-desktop is Worksite's window: it joins backend/service to the
// API, the page and the window. Without the tags of `make build` it says so and ends.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"worksite/app"
	"worksite/backend/config"
	"worksite/backend/server"
	"worksite/backend/service"
	"worksite/frontend"
)

//go:embed build/icon.png
var icon []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, app.ErrHandedOver) {
		fmt.Fprintln(os.Stderr, app.Words(err))
		os.Exit(1)
	}
}

func run(ctx context.Context, paths []string) (err error) {
	if err := app.Available(); err != nil {
		return err
	}
	home, err := config.Home()
	if err != nil {
		return err
	}
	claim, err := app.Claim(ctx, home, paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	win := app.Config{DataDir: home, Instance: claim, Icon: icon, Log: slog.Default()}

	svc, err := service.Open(ctx, service.Config{DataDir: home, Version: config.Version, Log: slog.Default(), Stays: true})
	if err != nil { // no terminal may be in sight: say it in the window too
		win.Handler = app.Trouble(err)
		return errors.Join(err, app.Run(ctx, win))
	}
	defer func() { err = errors.Join(err, svc.Close()) }()
	win.Handler = server.New(svc, server.Config{Window: true, Page: frontend.Handler()})
	win.Running = running(svc)
	return app.Run(ctx, win)
}
