// Package projection folds a session's events into what lists and heads show.
// [Apply] is pure: the same events give the same [Session], whoever folds them,
// so the stored value can be thrown away and rebuilt at any time. What is kept
// is bounded by what is open (approvals, calls, queued messages), never by the
// length of the session.
//
// It imports domain only.
package projection
