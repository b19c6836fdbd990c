package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/logger"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"worksite/backend/domain"
)

// closeGrace is how long the window may take to close after the process was
// asked to end. What is committed is safe by then; nothing is waited for.
const closeGrace = 10 * time.Second

// Config is what a window needs.
type Config struct {
	// DataDir is where the window remembers its size and place.
	DataDir string
	// Handler serves the page and the API.
	Handler http.Handler
	// Running returns the titles of the sessions whose run this process carries;
	// nil when there can be none.
	Running func(context.Context) ([]string, error)
	// Instance is the claim on the data folder, from Claim.
	Instance *Instance
	// Icon is a PNG; nil leaves the desktop's own.
	Icon []byte
	Log  *slog.Logger
}

// Available returns nil when this binary was built with a window.
func Available() error {
	if built {
		return nil
	}
	return domain.Errorf(domain.CodeUnavailable, "this binary was built without the window").
		WithHint("build it with `make build`, or start `worksite serve` and open the printed address in a browser")
}

// Run shows the window and returns when it was closed or ctx ended.
func Run(ctx context.Context, cfg Config) error {
	if err := Available(); err != nil {
		return err
	}
	if cfg.Handler == nil || cfg.Instance == nil || cfg.Log == nil {
		return errors.New("app: handler, instance and log are required")
	}
	w := &window{cfg: cfg, ending: ctx, native: &Native{}}
	w.native.shell = w.shell()
	w.native.queue(openable(cfg.Instance.Args()))

	place := loadPlace(cfg.DataDir)
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { w.endWith(ctx, done) })
	wait.Go(func() { w.serveSecond(cfg.Instance, done) })
	err := w.show(place)
	close(done)
	wait.Wait()
	return err
}

// show runs the window. Wails panics where GTK finds no display; before the window
// has started that is an answer for the person, afterwards it stays a panic.
func (w *window) show(p place) (err error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if w.wailsCtx() != nil {
			panic(cause)
		}
		err = domain.Errorf(domain.CodeUnavailable, "the window could not be opened: %v", cause).
			WithHint("is there a display? Without one, start `worksite serve` and open the printed address in a browser")
	}()
	if err := wails.Run(w.options(p)); err != nil {
		return fmt.Errorf("show the window: %w", err)
	}
	return nil
}

// window is one running window. Wails hands out its context at start-up; the
// bindings need it for every call, so it is kept (see the exception in the house rules).
type window struct {
	cfg    Config
	ending context.Context
	native *Native

	mu    sync.Mutex
	ctx   context.Context
	asked bool // the question about running work is open
}

func (w *window) wailsCtx() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ctx
}

func (w *window) shell() shell { return wailsShell{ctx: w.wailsCtx} }

func (w *window) options(p place) *options.App {
	return &options.App{
		Title:     "Worksite",
		Width:     p.Width,
		Height:    p.Height,
		MinWidth:  640,
		MinHeight: 480,
		// Warm paper, as the light theme; the page paints its own at once.
		BackgroundColour: options.NewRGB(251, 249, 245),
		WindowStartState: p.state(),
		AssetServer: &assetserver.Options{
			Handler: w.cfg.Handler,
		},
		DragAndDrop:        &options.DragAndDrop{EnableFileDrop: true},
		OnStartup:          func(ctx context.Context) { w.started(ctx, p) },
		OnBeforeClose:      w.beforeClose,
		Bind:               []any{w.native},
		ErrorFormatter:     formatError,
		LogLevelProduction: logger.WARNING,
		Logger:             wailsLog{w.cfg.Log},
		Linux: &linux.Options{
			Icon:        w.cfg.Icon,
			ProgramName: "worksite",
			// With hardware acceleration on, WebKitGTK shows empty windows with some
			// drivers; software painting was measured at 60 frames a second.
			WebviewGpuPolicy: linux.WebviewGpuPolicyNever,
		},
		// No menu: the roles of Wails' edit menu crash on Linux, and macOS gets its
		// own from Wails.
	}
}

func (w *window) started(ctx context.Context, p place) {
	w.mu.Lock()
	w.ctx = ctx
	w.mu.Unlock()
	if p.Placed && p.state() == options.Normal {
		runtime.WindowSetPosition(ctx, p.X, p.Y)
	}
	runtime.OnFileDrop(ctx, func(x, y int, paths []string) {
		d := dropped(x, y, paths)
		if len(d.Paths) == 0 && len(d.Missing) == 0 {
			return
		}
		runtime.EventsEmit(ctx, "files.dropped", d)
	})
}

// endWith closes the window when ctx ends, without a question: whoever ends the
// process has decided already.
func (w *window) endWith(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	if c := w.wailsCtx(); c != nil {
		runtime.Quit(c)
	}
	late := time.NewTimer(closeGrace)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		w.cfg.Log.Error("the window did not close in time; ending the process", "after", closeGrace)
		os.Exit(1)
	}
}

// beforeClose reports whether closing must be prevented.
func (w *window) beforeClose(ctx context.Context) bool {
	if w.ending.Err() != nil {
		return false
	}
	w.remember(ctx)
	if w.cfg.Running == nil {
		return false
	}
	titles, err := w.cfg.Running(ctx)
	if err != nil {
		w.cfg.Log.Warn("could not tell whether a run is going on", "error", err)
		return false
	}
	if len(titles) == 0 {
		return false
	}
	w.mu.Lock()
	if w.asked {
		w.mu.Unlock()
		return true
	}
	w.asked = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.asked = false
		w.mu.Unlock()
	}()
	answer, err := runtime.MessageDialog(ctx, runtime.MessageDialogOptions{
		Type:          runtime.QuestionDialog,
		Title:         "Close Worksite?",
		Message:       dialogText(closeQuestion(titles)),
		Buttons:       []string{"Close", "Keep open"},
		DefaultButton: "Keep open",
		CancelButton:  "Keep open",
	})
	if err != nil {
		w.cfg.Log.Warn("the closing question could not be shown", "error", err)
		return false
	}
	return answer != "Close" && answer != "Yes"
}

func (w *window) remember(ctx context.Context) {
	p := place{Maximised: runtime.WindowIsMaximised(ctx)}
	p.Width, p.Height = runtime.WindowGetSize(ctx)
	p.X, p.Y = runtime.WindowGetPosition(ctx)
	p.Placed = true
	if p.Maximised { // keep the size it goes back to
		old := loadPlace(w.cfg.DataDir)
		p.Width, p.Height, p.X, p.Y, p.Placed = old.Width, old.Height, old.X, old.Y, old.Placed
	}
	if err := savePlace(w.cfg.DataDir, p); err != nil {
		w.cfg.Log.Warn("the window's place was not saved", "error", err)
	}
}

// serveSecond takes what a second start of the program hands over.
func (w *window) serveSecond(in *Instance, done <-chan struct{}) {
	in.Serve(done, func(args []string) {
		w.native.queue(openable(args))
		ctx := w.wailsCtx()
		if ctx == nil {
			return
		}
		runtime.WindowUnminimise(ctx)
		runtime.WindowShow(ctx)
		runtime.EventsEmit(ctx, "files.opened")
	})
}

func closeQuestion(titles []string) string {
	const rest = " What is committed stays. A command that is running is stopped, and you can continue when you open Worksite again. Close the window now?"
	if len(titles) == 1 {
		return fmt.Sprintf("A run is going on in “%s”.", titles[0]) + rest
	}
	return fmt.Sprintf("%d runs are going on: “%s”.", len(titles), strings.Join(titles, "”, “")) + rest
}
