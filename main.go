// Command worksite-desktop is Worksite's window. Everything happens in
// backend/service; this joins it to the page, the API and the window.
//
// Build it with `make build`. Without Wails' tags it compiles, says how to build
// it, and ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"worksite/app"
	"worksite/backend/config"
	"worksite/backend/domain"
	"worksite/frontend"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worksite-desktop:", err)
		if hint := domain.HintOf(err); hint != "" {
			fmt.Fprintln(os.Stderr, "  "+hint)
		}
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
	if errors.Is(err, app.ErrHandedOver) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Release()) }()

	mux := http.NewServeMux()
	mux.Handle("/", frontend.Handler())
	return app.Run(ctx, app.Config{
		DataDir: home, Handler: mux, Instance: claim, Log: slog.Default(),
		Running: func(context.Context) ([]string, error) { return nil, nil },
	})
}
