package domain

import (
	"errors"
	"fmt"
)

// Code classifies an error for people and programs. Unknown errors are
// CodeInternal to the outside and stay whole in the log.
type Code string

// The codes, each with the HTTP status a server answers.
const (
	CodeInvalid     Code = "invalid"     // 400: the request itself is wrong
	CodeForbidden   Code = "forbidden"   // 403: a gate layer or restriction refused
	CodeNotFound    Code = "not_found"   // 404
	CodeConflict    Code = "conflict"    // 409: something moved on meanwhile, or was already answered
	CodeStaleLease  Code = "stale_lease" // 409: another process runs this session now
	CodeFinished    Code = "finished"    // 409: the run has ended; fork to go on
	CodeTooLarge    Code = "too_large"   // 413
	CodeUnavailable Code = "unavailable" // 503: a needed part (model, sandbox, disk) is not there; Hint says the remedy
	CodeInternal    Code = "internal"    // 500
)

// Error is an error that a person may meet: what happened, why, and what to do.
type Error struct {
	Code    Code   `json:"code"`
	Op      string `json:"op,omitempty"` // what was being done, e.g. "append event"
	Message string `json:"message"`      // what happened and why, one or two sentences
	Hint    string `json:"hint,omitempty"`
	cause   error
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Message
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an Error of a code.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// WithHint returns e with the next step for the person.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// CodeOf returns the code of err: "" for nil, CodeInternal when it has none.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// HintOf returns the next step that err offers, or "".
func HintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
