// Command bench prints the figures that the README claims, each as a ratio
// against a floor or a peer measured in the same run: these machines are noisy,
// ratios hold. `make bench` builds the binary and runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// figures is what one run measured.
type figures struct {
	binary string
	dir    string // scratch, removed at the end
	table  *tabwriter.Writer
	sync   time.Duration // median of one 4 KiB append and fdatasync here
}

func main() {
	binary := flag.String("binary", "bin/worksite", "the binary to measure")
	long := flag.Int("long", 1000, "steps of the long session; 0 leaves it out")
	flag.Parse()
	if err := run(*binary, *long); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(binary string, long int) error {
	abs, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "worksite-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f := &figures{binary: abs, dir: dir, table: tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)}
	fmt.Fprintln(f.table, "FIGURE\tVALUE\tAGAINST\tRATIO\tTARGET")
	ctx := context.Background()
	for _, measure := range []func(context.Context) error{f.disk, f.appends, f.pace} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	if long > 0 {
		if err := f.longSession(ctx, long); err != nil {
			return err
		}
	}
	if err := f.stream(ctx); err != nil {
		return err
	}
	return f.table.Flush()
}

func (f *figures) row(figure, value, against, ratio, target string) {
	fmt.Fprintf(f.table, "%s\t%s\t%s\t%s\t%s\n", figure, value, against, ratio, target)
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Clone(d)
	slices.Sort(s)
	return s[len(s)/2]
}

func percentile(d []time.Duration, p int) time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s[min(len(s)*p/100, len(s)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

// disk measures the floor of everything durable: a growing file, 4 KiB and fdatasync.
func (f *figures) disk(context.Context) error {
	file, err := os.Create(filepath.Join(f.dir, "floor"))
	if err != nil {
		return err
	}
	defer file.Close()
	block := make([]byte, 4096)
	var times []time.Duration
	for range 200 {
		begun := time.Now()
		if _, err := file.Write(block); err != nil {
			return err
		}
		if err := fdatasync(file); err != nil {
			return err
		}
		times = append(times, time.Since(begun))
	}
	f.sync = median(times)
	f.row("disk: append 4 KiB + fdatasync, median", ms(f.sync), "", "", "")
	return nil
}
