package check

import (
	"bufio"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Options say what the caller knows beforehand.
type Options struct {
	// Key is the exporting cell's key as the caller knows it: 64 hexadecimal digits,
	// a note verifier key or a cell's name. "": the key in the file is believed.
	Key string
}

// File checks an export. What does not hold is in the verdict; the error says
// only why the file could not be read.
func File(path string, o Options) (v Verdict, err error) {
	f, err := os.Open(path)
	if err != nil {
		return v, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return v, err
	}
	c := checker{v: &v, keys: map[string]cell{}, redacted: map[int64]bool{}}
	v.Recorded = map[string]int64{}
	defer func() {
		switch failed := recover().(type) {
		case nil:
			v.OK = true
		case *Flaw:
			v.Bad = failed
		case ioError:
			err = failed.error
		default:
			panic(failed)
		}
	}()
	c.archive = open(f, info.Size())
	c.readKeys()
	c.readManifest(o.Key)
	c.readHead()
	c.readProofs()
	c.readEvents()
	c.checkDigests()
	return v, nil
}

// want ends the check with a flaw unless ok: the checks read as a list of what
// has to hold, and [File] recovers the first that does not.
func want(ok bool, f *Flaw) {
	if !ok {
		panic(f)
	}
}

// try ends the check with an error that says nothing about the file's content.
func try(err error) {
	if err != nil {
		panic(ioError{err})
	}
}

type ioError struct{ error }

type checker struct {
	v        *Verdict
	archive  *archive
	keyFile  keyFile
	keys     map[string]cell
	manifest statement
	head     head
	proofs   proofFile
	redacted map[int64]bool // positions that the manifest says are
}

func bad(member, what string) *Flaw { return &Flaw{Member: member, What: what} }

func (c *checker) readKeys() {
	want(strict(c.archive.read(keysName), &c.keyFile), bad(keysName, notAsExported))
	for _, k := range c.keyFile.Cells {
		want(len(k.PublicKey) == ed25519.PublicKeySize && cellID(k.PublicKey) == k.ID, bad(keysName, "a cell has a key that is not its own"))
		c.keys[k.ID] = k
	}
}

func (c *checker) readManifest(given string) {
	var e envelope
	want(strict(c.archive.read(manifestName), &e) && e.PayloadType == payloadType && len(e.Signatures) == 1, bad(manifestName, notAsExported))
	key, ok := c.keys[e.Signatures[0].KeyID]
	want(ok, bad(manifestName, "it is signed by a cell whose key is not in the file"))
	want(key.verify(pae(e.PayloadType, e.Payload), e.Signatures[0].Sig), bad(manifestName, "the signature does not match the cell's key"))
	c.v.Cell, c.v.KeyGiven = key.ID, given != ""
	want(slices.Contains([]string{"", key.ID, hex.EncodeToString(key.PublicKey), key.vkey()}, given),
		bad(manifestName, "it is signed by another key than the one that was given"))
	m, p := &c.manifest, &c.manifest.Predicate
	want(strict(append(e.Payload, '\n'), m) && m.Type == statementType && m.PredicateType == predicateType && len(m.Subject) > 0,
		bad(manifestName, "its statement is not in the form of an export"))
	want(p.Cell == key.ID && reflect.DeepEqual(p.Cells, c.keyFile.Cells), bad(manifestName, "it names other cells than keys.json"))
	c.v.Product, c.v.Absent = p.Product, len(p.Absent)
	for _, pos := range p.Redacted.Positions {
		c.redacted[pos] = true
	}
}

func (c *checker) readHead() {
	var ok bool
	cell, log := c.keys[c.v.Cell], c.manifest.Subject[0]
	c.head, ok = openHead(c.archive.read(checkpointName), cell)
	want(ok, bad(checkpointName, "the signed head does not hold"))
	want(c.head.size == c.manifest.Predicate.Size && log.Name == cell.origin() && log.Digest.SHA256 == sum(c.head.root),
		bad(checkpointName, "the manifest names another head"))
	c.v.Size, c.v.Root = c.head.size, hex.EncodeToString(c.head.root[:])
}

func (c *checker) readProofs() {
	want(strict(c.archive.read(proofsName), &c.proofs), bad(proofsName, notAsExported))
	if c.archive.members[sinceName] == nil {
		return
	}
	old, ok := openHead(c.archive.read(sinceName), c.keys[c.v.Cell])
	want(ok, bad(sinceName, "the signed head does not hold"))
	want(tlog.CheckTree(c.proofs.Since, c.head.size, c.head.root, old.size, old.root) == nil,
		bad(proofsName, "the proof that the log continues the earlier one does not hold"))
	c.v.Since = old.size
}

// tail is the end of a session's chain so far.
type tail struct {
	next, last int64
	hash       sum
}

func (c *checker) readEvents() {
	tails, sessions := map[string]*tail{}, c.manifest.Predicate.Sessions
	for _, s := range sessions {
		tails[s.ID] = &tail{next: s.First, last: s.Last}
	}
	c.v.Sessions = len(tails)
	in, prev := bufio.NewReaderSize(c.archive.open(eventsName), 1<<20), int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if !errors.Is(err, io.EOF) {
			try(err)
		} else if len(line) == 0 {
			break
		}
		e := c.readEvent(line, prev, tails)
		prev = e.Pos
		c.v.Events++
		if slices.Contains(outside, e.Kind) {
			c.v.Recorded[e.Kind]++
		}
		if e.Redacted != nil {
			c.v.Redacted++
		}
	}
	for _, s := range sessions {
		want(tails[s.ID].next == tails[s.ID].last+1, &Flaw{Member: eventsName, Line: c.v.Events + 1, What: "the next event of a session is missing"})
	}
	want(int64(len(c.proofs.Events)) == c.v.Events && c.manifest.Predicate.Events == c.v.Events, bad(proofsName, "it has another number of events than events.ndjson"))
	want(int64(len(c.redacted)) == c.v.Redacted, bad(manifestName, "it names other redactions than there are"))
}

// readEvent checks one line: its form, its place, its hashes, its signature, and
// that it is in the log.
func (c *checker) readEvent(line []byte, prev int64, tails map[string]*tail) (e event) {
	n := c.v.Events
	at := func(what string) *Flaw { return &Flaw{Member: eventsName, Line: n + 1, Pos: e.Pos, What: what} }
	if !strict(line, &e) || !e.wellFormed() {
		e.Pos = 0
		panic(at(notAsExported))
	}
	want(e.Pos > prev && e.Pos <= c.head.size, at("it is not after the line before it and before the end of the log"))
	t := tails[e.Session]
	want(t != nil && e.Seq == t.next && e.Seq <= t.last, at("it is not the next event of its session"))
	// What comes before the first event of an excerpt is not in the file.
	want(e.Seq > 1 && t.hash == sum{} || e.PrevHash == t.hash, at("it does not follow the event before it in its session"))
	want(c.redacted[e.Pos] == (e.Redacted != nil), at("the manifest says otherwise about its redaction"))
	if e.Redacted == nil {
		want(sha256.Sum256(append(e.Salt, e.Payload...)) == e.PayloadHash, at("the payload does not match its hash"))
	} else {
		want(*e.Redacted == e.PayloadHash, at("the payload does not match its hash"))
	}
	want(e.hash() == e.Hash, at("the header does not match the event's hash"))
	want(c.keys[e.Cell].verify(e.Hash[:], e.Sig), at("the signature does not match the cell's key"))
	proven := n < int64(len(c.proofs.Events)) && c.proofs.Events[n].Pos == e.Pos &&
		tlog.CheckRecord(c.proofs.Events[n].Path, c.head.size, c.head.root, e.Pos-1, tlog.RecordHash(e.Hash[:])) == nil
	want(proven, &Flaw{Member: proofsName, Line: n + 1, Pos: e.Pos, What: "the proof that the event is in the log does not hold"})
	t.next, t.hash = t.next+1, e.Hash
	return e
}

// checkDigests proves that the members are those that the manifest names, in its order.
func (c *checker) checkDigests() {
	names := c.archive.names
	want(names[0] == manifestName, bad(names[0], "it is not in its place"))
	for i, s := range c.manifest.Subject[1:] {
		want(i+1 < len(names), bad(s.Name, "the member is missing"))
		name := names[i+1]
		want(name == s.Name, bad(name, "it is not in its place"))
		h := sha256.New()
		_, err := io.Copy(h, c.archive.open(name))
		try(err)
		got := sum(h.Sum(nil))
		digest, blob := strings.CutPrefix(name, blobPrefix)
		want(got == s.Digest.SHA256 && (!blob || digest == hex.EncodeToString(got[:])), bad(name, "its SHA-256 is not the one in the manifest"))
		if blob {
			c.v.Blobs++
		}
	}
	want(len(names) == len(c.manifest.Subject), bad(names[len(names)-1], "the manifest does not name it"))
}
