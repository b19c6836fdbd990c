// Package failpoint names the places at which a crash would be worst, and kills
// the process there when a test asks for it. Start with [Reach].
//
// Contract:
//   - Without the build tag failpoints, Reach is empty and is compiled away: the
//     product has neither the switch nor the code behind it.
//   - With the tag, WORKSITE_FAILPOINT=NAME or NAME:N kills the process, as by
//     SIGKILL, when it comes to NAME for the first or the N-th time.
//     WORKSITE_FAILPOINT_LOG=FILE appends each name that is reached to FILE.
//   - Every name stands in [Names], is used in the product, and is killed at by
//     the storm in e2e/crash; tests hold all three.
//
// It imports nothing of ours.
package failpoint
