package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"worksite/backend/domain"
)

// maxBody bounds a JSON request; files come through the attachments call.
const maxBody = 4 << 20

func read[T any](w http.ResponseWriter, r *http.Request) (T, bool) {
	var v T
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		fail(w, domain.Errorf(domain.CodeInvalid, "the request's JSON could not be read: %w", err))
		return v, false
	}
	return v, true
}

func write(w http.ResponseWriter, v any, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a reader that went away is no error of ours
}

type nothing struct{}

// fail sends an error as a person meets it: unknown ones keep their text, since
// the reader is the person whose machine this is.
func fail(w http.ResponseWriter, err error) {
	out := domain.Error{Code: domain.CodeOf(err), Message: err.Error(), Hint: domain.HintOf(err)}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status(out.Code))
	_ = json.NewEncoder(w).Encode(out)
}

func status(c domain.Code) int {
	switch c {
	case domain.CodeInvalid:
		return http.StatusBadRequest
	case domain.CodeForbidden:
		return http.StatusForbidden
	case domain.CodeNotFound:
		return http.StatusNotFound
	case domain.CodeConflict, domain.CodeStaleLease, domain.CodeFinished:
		return http.StatusConflict
	case domain.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case domain.CodeUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

func number(r *http.Request, name string, or int64) (int64, error) {
	s := r.FormValue(name)
	if s == "" {
		return or, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, domain.Errorf(domain.CodeInvalid, "%s is %q; it must be a whole number from 0", name, s)
	}
	return n, nil
}
