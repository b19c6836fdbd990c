package check

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
)

// The members that an export always has; sinceName and blobs may follow. In which
// order they stand is the manifest's to say.
const (
	manifestName   = "manifest.dsse.json"
	keysName       = "keys.json"
	checkpointName = "checkpoint.txt"
	sinceName      = "since.txt"
	eventsName     = "events.ndjson"
	proofsName     = "proofs.json"
	blobPrefix     = "blobs/sha256/"
)

const block = 512

// archive is an opened export: where each member's bytes are.
type archive struct {
	names   []string
	members map[string]*io.SectionReader
}

// header is the one header that a member of this name and size has: ustar, mode
// 0444, no owner, time zero. It is nil for a name that no member has.
func header(name string, size int64) []byte {
	var h bytes.Buffer
	err := tar.NewWriter(&h).WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o444, Format: tar.FormatUSTAR})
	if err != nil || len(name) > 99 || h.Len() != block {
		return nil
	}
	return h.Bytes()
}

// open finds the members and proves that there is nothing else in the file.
func open(r io.ReaderAt, size int64) *archive {
	a := &archive{members: map[string]*io.SectionReader{}}
	at := int64(0)
	next := func(n int64) []byte { // shorter at the end of the file
		b := make([]byte, min(n, size-at))
		if _, err := r.ReadAt(b, at); !errors.Is(err, io.EOF) {
			try(err)
		}
		return b
	}
	for {
		h := next(block)
		if bytes.Equal(h, make([]byte, block)) {
			break
		}
		want(len(h) == block, &Flaw{Offset: at, What: "the archive ends too early"})
		name, _, _ := strings.Cut(string(h), "\x00")
		var length int64
		for _, c := range h[124:135] {
			length = length*8 + int64(c&7)
		}
		want(bytes.Equal(h, header(name, length)), &Flaw{Offset: at, What: "the archive is damaged: this is not the header of a member"})
		at += block
		want(length <= size-at, &Flaw{Member: name, Offset: at, What: "the archive ends inside this member"})
		a.names, a.members[name] = append(a.names, name), io.NewSectionReader(r, at, length)
		at += length
		pad := -length & (block - 1)
		want(bytes.Equal(next(pad), make([]byte, pad)), &Flaw{Member: name, Offset: at, What: "the archive is damaged: the padding after this member is not empty"})
		at += pad
	}
	want(bytes.Equal(next(3*block), make([]byte, 2*block)), &Flaw{Offset: at, What: "the archive does not end as it should"})
	for _, name := range []string{manifestName, keysName, checkpointName, eventsName, proofsName} {
		want(a.members[name] != nil, &Flaw{Member: name, What: "the member is missing"})
	}
	return a
}

// open returns a reader of a member from its beginning.
func (a *archive) open(name string) io.Reader {
	return io.NewSectionReader(a.members[name], 0, a.members[name].Size())
}

// read returns a whole member.
func (a *archive) read(name string) []byte {
	b, err := io.ReadAll(a.open(name))
	try(err)
	return b
}
