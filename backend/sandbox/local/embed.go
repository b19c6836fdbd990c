package local

import "embed"

// The folder holds process 1 once build/sandbox-helper.sh has run; without it the
// status says so.
//
//go:embed all:helper
var helper embed.FS

const helperName = "helper/worksite-init.bin"

// embeddedHelper returns nil when the helper was not built.
func embeddedHelper() []byte {
	b, err := helper.ReadFile(helperName)
	if err != nil {
		return nil
	}
	return b
}
