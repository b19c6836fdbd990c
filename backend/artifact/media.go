package artifact

import (
	"mime"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// sniffed is how many bytes decide on the media type.
const sniffed = 3072

// byExtension refines what content alone shows as text. The table is our own, so
// that every machine answers alike.
var byExtension = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".csv": "text/csv", ".tsv": "text/tab-separated-values",
	".json": "application/json", ".jsonl": "application/x-ndjson", ".yaml": "application/yaml", ".yml": "application/yaml",
	".toml": "application/toml", ".xml": "text/xml", ".html": "text/html", ".htm": "text/html", ".css": "text/css",
	".js": "text/javascript", ".ts": "text/x-typescript", ".py": "text/x-python", ".go": "text/x-go", ".rs": "text/x-rust",
	".c": "text/x-c", ".h": "text/x-c", ".cpp": "text/x-c++", ".java": "text/x-java", ".rb": "text/x-ruby",
	".sh": "text/x-shellscript", ".sql": "text/x-sql", ".diff": "text/x-diff", ".patch": "text/x-diff",
	".svg": "image/svg+xml", ".log": "text/plain", ".txt": "text/plain", ".rst": "text/x-rst", ".tex": "text/x-tex",
}

// MediaType decides by the first bytes, and for text by the name. A name never
// makes something an image or a document that its bytes do not show.
func MediaType(name string, head []byte) string {
	found := mimetype.Detect(head)
	if !isText(found) {
		base, _, err := mime.ParseMediaType(found.String())
		if err != nil {
			return "application/octet-stream"
		}
		return base
	}
	if t, ok := byExtension[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	base, _, err := mime.ParseMediaType(found.String())
	if err != nil {
		return "text/plain"
	}
	return base
}

func isText(m *mimetype.MIME) bool {
	for ; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
}

// Preview tells how a media type can be shown: "text", "markdown", "image", "csv"
// or "none".
func Preview(mediaType string) string {
	switch mediaType {
	case "text/markdown":
		return "markdown"
	case "text/csv", "text/tab-separated-values":
		return "csv"
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif", "image/svg+xml":
		return "image"
	case "application/json", "application/x-ndjson", "application/yaml", "application/toml", "text/xml", "text/html":
		return "text" // a page is shown as its source, never rendered
	}
	if strings.HasPrefix(mediaType, "text/") {
		return "text"
	}
	return "none"
}
