// Package server is the one API of both faces: an http.Handler over
// backend/service. In the window it is served on the page's own origin; in a
// browser on loopback behind a token and checks of Host and Origin. docs/api.md
// lists the calls. Start with [New].
//
// It imports service and domain only, and never sees which screen is asking.
package server
