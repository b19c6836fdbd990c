package blob

import (
	"errors"
	"hash"
	"io"

	"worksite/backend/domain"
)

// verified passes bytes on and compares their digest with the blob's name at the end.
type verified struct {
	r    io.Reader
	c    io.Closer
	sum  hash.Hash
	want domain.Hash
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.sum.Write(p[:n])
	if errors.Is(err, io.EOF) {
		var got domain.Hash
		v.sum.Sum(got[:0])
		if got != v.want {
			return n, domain.Errorf(domain.CodeInternal, "stored bytes of %s are damaged: they read as %s", v.want, got).
				WithHint("The disk or another program changed the data folder; what this blob held cannot be restored from it.")
		}
	}
	return n, err
}

func (v *verified) Close() error { return v.c.Close() }
