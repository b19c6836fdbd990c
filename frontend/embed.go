// Package frontend carries the built page and serves it the same way in both
// faces: the window and the browser. Start with [Handler].
//
// It imports the standard library only. The page is built by `make build` into
// dist/; without it [Built] is false and the handler says how to build it.
package frontend

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed all:dist
var dist embed.FS

// Policy is the Content-Security-Policy of every page and asset. Nothing remote,
// nothing inline.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Assets returns the built page: index.html and what it loads.
func Assets() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("embedded folder dist: " + err.Error()) // a valid constant path
	}
	return sub
}

// Built reports whether the page was built into this binary.
func Built() bool {
	_, err := fs.Stat(Assets(), "index.html")
	return err == nil
}

// Handler serves the page. Paths without a file extension are places within the
// page and get index.html; a missing asset is a plain 404.
func Handler() http.Handler { return handler(Assets()) }

func handler(assets fs.FS) http.Handler {
	files := http.FileServerFS(assets)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		if name == "" || path.Ext(name) == "" || name == "index.html" {
			servePage(w, assets)
			return
		}
		if info, err := fs.Stat(assets, name); err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		if strings.HasPrefix(name, "assets/") { // the bundler put a content hash into the name
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		files.ServeHTTP(w, r)
	})
}

func servePage(w http.ResponseWriter, assets fs.FS) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	page, err := fs.ReadFile(assets, "index.html")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		page = []byte(unbuilt)
	}
	_, _ = w.Write(page) // a reader that went away is no error of ours
}

const unbuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Worksite</title>
<h1>The page is not in this binary</h1>
<p>It was compiled before the frontend was built. Run <code>make build</code> and start it again.
The command line works without it.</p></html>
`
