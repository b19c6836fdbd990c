// Command worksite-verify proves an audit export of Worksite, offline and without
// changing anything. It exits with 0 when everything holds, 1 when something does
// not, and 2 when the file could not be read or the command line was wrong.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"worksite-verify/check"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("worksite-verify FILE", flag.ContinueOnError)
	flags.SetOutput(errs)
	key := flags.String("key", "", "the exporting cell's `key` as you know it: 64 hexadecimal digits, a note verifier key, or its name cell_…")
	asJSON := flags.Bool("json", false, "print the verdict as one line of JSON")
	var files []string
	for more := true; more; more = flags.NArg() > 0 { // flags may follow the file
		if flags.Parse(args) != nil {
			return 2
		}
		if flags.NArg() > 0 {
			files, args = append(files, flags.Arg(0)), flags.Args()[1:]
		}
	}
	if len(files) != 1 {
		flags.Usage()
		return 2
	}
	v, err := check.File(files[0], check.Options{Key: *key})
	if err == nil && *asJSON {
		err = json.NewEncoder(out).Encode(v)
	} else if err == nil {
		_, err = io.WriteString(out, v.String())
	}
	if err != nil {
		fmt.Fprintln(errs, "worksite-verify:", err)
		return 2
	}
	if !v.OK {
		return 1
	}
	return 0
}
