package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"worksite/backend/domain"
	"worksite/backend/filelock"
)

// ErrHandedOver is returned by Claim when another window works on the data
// folder: it has taken the arguments and comes to the front.
var ErrHandedOver = errors.New("handed over to the window that is open")

const (
	handOverPatience = 5 * time.Second
	maxHandOver      = 1 << 20 // bytes
	maxSocketPath    = 100     // sun_path has 104 bytes on macOS, 108 on Linux
)

// Instance is the claim of one window on a data folder. It is taken before
// anything is opened: Wails' own lock is decided only after its start-up hook ran
// in the second process too, and it needs a session bus.
//
// The claim is a file lock, which the system releases however the process ends.
// Beside it stands a socket in the same private folder, no port, through which a
// second start hands over its arguments.
type Instance struct {
	lock   *filelock.Lock
	args   []string
	listen net.Listener // nil where the path is too long for a socket
}

// handOver is what a second start sends.
type handOver struct {
	Args []string `json:"args"`
}

// Claim takes the data folder for this window. args are paths to open; relative
// ones are resolved against the current folder.
func Claim(ctx context.Context, dataDir string, args []string) (*Instance, error) {
	return claim(ctx, dataDir, args, handOverPatience)
}

func claim(ctx context.Context, dataDir string, args []string, patience time.Duration) (*Instance, error) {
	abs, err := absolute(args)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	lock, err := filelock.Try(filepath.Join(dataDir, "window.lock"))
	if err != nil {
		return nil, fmt.Errorf("claim the data folder: %w", err)
	}
	socket := filepath.Join(dataDir, "window.sock")
	if lock == nil {
		return nil, sendArgs(ctx, socket, abs, patience)
	}
	in := &Instance{lock: lock, args: abs}
	if len(socket) > maxSocketPath {
		return in, nil
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) { // left by a killed one; we hold the lock
		return nil, errors.Join(fmt.Errorf("remove the old socket: %w", err), lock.Close())
	}
	var lc net.ListenConfig
	if in.listen, err = lc.Listen(ctx, "unix", socket); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for a second start: %w", err), lock.Close())
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect the socket: %w", err), in.Release())
	}
	return in, nil
}

// Args returns the absolute paths this window was started with.
func (in *Instance) Args() []string { return in.args }

// Serve calls got for each hand-over until done is closed. It returns after the
// last call.
func (in *Instance) Serve(done <-chan struct{}, got func(args []string)) {
	if in.listen == nil {
		<-done
		return
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		<-done
		_ = in.listen.Close() // only ends Accept
	})
	defer wait.Wait()
	for {
		conn, err := in.listen.Accept()
		if err != nil {
			<-done
			return
		}
		wait.Go(func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(handOverPatience))
			var h handOver
			if json.NewDecoder(io.LimitReader(conn, maxHandOver)).Decode(&h) != nil {
				return
			}
			got(h.Args)
			_, _ = io.WriteString(conn, "ok\n") // the other side reports a missing answer
		})
	}
}

// Release gives the data folder back.
func (in *Instance) Release() error {
	var err error
	if in.listen != nil {
		if e := in.listen.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = e
		}
	}
	return errors.Join(err, in.lock.Close())
}

// sendArgs hands args to the window that holds the lock.
func sendArgs(ctx context.Context, socket string, args []string, patience time.Duration) error {
	held := func(cause error) error {
		return domain.Errorf(domain.CodeConflict, "Worksite is open on this data folder, and its window did not answer: %w", cause).
			WithHint("look for its window, or end that process; set WORKSITE_HOME to work in another data folder")
	}
	// The first one may hold the lock and not listen yet.
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "unix", socket)
		if err != nil {
			select {
			case <-ctx.Done():
				return held(err)
			case <-again.C:
				continue
			}
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		if err := json.NewEncoder(conn).Encode(handOver{Args: args}); err != nil {
			return held(err)
		}
		answer := make([]byte, 3)
		if _, err := io.ReadFull(conn, answer); err != nil {
			return held(err)
		}
		return ErrHandedOver
	}
}

func absolute(args []string) ([]string, error) {
	out := make([]string, 0, len(args))
	for _, a := range args {
		abs, err := filepath.Abs(a)
		if err != nil {
			return nil, fmt.Errorf("resolve %q: %w", a, err)
		}
		out = append(out, abs)
	}
	return out, nil
}

// openable keeps the paths that exist.
func openable(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}
