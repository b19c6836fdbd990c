package process

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Programs that are started at the same moment never end each other, and this process
// has its own limit back.
func TestMarksDoNotMix(t *testing.T) {
	var before, after unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTTIME, &before); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s := sh(t, "(setsid sleep 66 >/dev/null 2>&1 </dev/null &); i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; sh -c 'exit 7'; echo $?")
			s.Contained = i%4 == 3 // these leave their daemon to the test
			if s.Contained {
				s.Argv[2] = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sh -c 'exit 7'; echo $?"
			}
			r, err := Run(t.Context(), s)
			if err != nil || string(r.Head) != "7\n" || r.Code != 0 {
				t.Errorf("%d: %+v %v", i, r, err)
			}
			if !s.Contained && r.Report.Left != 1 {
				t.Errorf("%d: left %v", i, r.LeftNames)
			}
		}()
	}
	wg.Wait()
	if err := unix.Getrlimit(unix.RLIMIT_RTTIME, &after); err != nil || after != before {
		t.Errorf("limit was %v, is %v", before, after)
	}
}

func TestReadStat(t *testing.T) {
	if _, ok := readStat(1 << 30); ok {
		t.Error("a process that does not exist")
	}
	p, ok := readStat(unix.Getpid())
	if !ok || p.parent != unix.Getppid() || p.group != unix.Getpgrp() || p.begin == 0 {
		t.Errorf("this process is %+v", p)
	}
}
