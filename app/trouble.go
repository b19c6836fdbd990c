package app

import (
	"html/template"
	"net/http"

	"worksite/backend/domain"
)

// Trouble serves one page that says why Worksite could not start and what to do.
// It has no script and needs nothing that may be broken.
func Trouble(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		_ = troublePage.Execute(w, map[string]string{"Message": err.Error(), "Hint": domain.HintOf(err)}) // the page went away
	})
}

var troublePage = template.Must(template.New("trouble").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Worksite</title><style>
:root { color-scheme: light dark; font: 14.5px/23px system-ui, sans-serif; }
main { max-width: 640px; margin: 15vh auto 0; padding: 0 24px; }
h1 { font-size: 20px; } pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12.5px; }
</style></head><body><main>
<h1>Worksite could not start</h1>
<pre>{{.Message}}</pre>
{{if .Hint}}<p>{{.Hint}}</p>{{end}}
<p>Nothing was changed. What was recorded before is still in the data folder.</p>
</main></body></html>
`))

// Words is err for a terminal, with its hint.
func Words(err error) string {
	s := "worksite-desktop: " + err.Error()
	if hint := domain.HintOf(err); hint != "" {
		s += "\n  " + hint
	}
	return s
}
