#!/usr/bin/env python3
"""Proves audit exports of Worksite (FILE.worksite.tar), offline, with nothing
but Python's standard library:

    worksite_verify.py [--json] [--key KEY] FILE...

It is written from docs/audit.md alone and shares no code with the verifier in
Go; both must give the same verdict on every file. Exit code: 0 when everything
holds, 1 when something does not, 2 when a file could not be read.
"""

import argparse
import base64
import functools
import hashlib
import json
import re
import struct
import sys

BLOCK = 512
NAMES = ["manifest.dsse.json", "keys.json", "checkpoint.txt", "events.ndjson", "proofs.json"]
MANIFEST, KEYS, CHECKPOINT, EVENTS, PROOFS = NAMES
SINCE, BLOBS = "since.txt", "blobs/sha256/"
NOT_AS_EXPORTED = "it is not in the form of an export"
OUTSIDE = ["message.completed", "tool_call.completed", "tool_call.failed"]
EVENT_KEYS = ("pos session seq id parent causedBy run kind createdAt cell generation "
              "payloadHash prevHash hash sig").split()
TEXTS = "session id parent causedBy run kind cell".split()


class Flaw(Exception):
    """The first thing that does not hold."""

    def __init__(self, what, member="", line=0, pos=0, offset=0):
        super().__init__(what)
        self.at = {"member": member, "line": line, "pos": pos, "offset": offset, "what": what}


def want(ok, what, member="", **at):
    if not ok:
        raise Flaw(what, member, **at)


# Ed25519 (RFC 8032, section 5.1), verification only.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)  # of -1
IDENTITY = (0, 1, 1, 0)


def add(p, q):
    """Adds points in extended coordinates (X, Y, Z, T)."""
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def decode(raw):
    """The point that 32 bytes name, or None."""
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * ROOT % P
    if (x * x - x2) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def encode(p):
    inverse = pow(p[2], P - 2, P)
    return (p[1] * inverse % P | (p[0] * inverse % P & 1) << 255).to_bytes(32, "little")


BASE = decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


@functools.lru_cache(maxsize=1 << 14)
def verify(key, message, sig):
    """Reports whether sig is the signature of message by key."""
    a = decode(key) if len(key) == 32 and len(sig) == 64 else None
    s = int.from_bytes(sig[32:], "little")
    if a is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(sig[:32] + key + message).digest(), "little") % L
    minus = (P - a[0], a[1], 1, P - a[3])
    both = add(BASE, minus)
    r = IDENTITY  # s·B - k·A, both scalars at once
    for bit in range(max(s, k).bit_length() - 1, -1, -1):
        r = add(r, r)
        pick = s >> bit & 1 | (k >> bit & 1) << 1
        if pick:
            r = add(r, (None, BASE, minus, both)[pick])
    return encode(r) == sig[:32]


# The archive.


def header(name, size):
    """The one header that a member of this name and size has."""
    h = struct.pack("100s8s8s8s12s12s8sc100s8s32s32s8s8s155s12x", name, b"0000444", b"0000000", b"0000000",
                    b"%011o" % size, b"0" * 11, b" " * 8, b"0", b"", b"ustar\x0000", b"", b"", b"0000000", b"0000000", b"")
    return h[:148] + b"%06o\0 " % sum(h) + h[156:]


def unpack(raw):
    """The members by name, and their names in order."""
    names, members, at = [], {}, 0
    while True:
        h = raw[at:at + BLOCK]
        if h == bytes(BLOCK):
            break
        want(len(h) == BLOCK, "the archive ends too early", offset=at)
        name, size = h.split(b"\0")[0], 0
        for c in h[124:135]:
            size = size * 8 + (c & 7)
        want(0 < len(name) < 100 and name.isascii() and h == header(name, size),
             "the archive is damaged: this is not the header of a member", offset=at)
        name, at = name.decode(), at + BLOCK
        want(size <= len(raw) - at, "the archive ends inside this member", name, offset=at)
        names.append(name)
        members[name] = raw[at:at + size]
        at += size
        pad = -size % BLOCK
        want(raw[at:at + pad] == bytes(pad), "the archive is damaged: the padding after this member is not empty", name, offset=at)
        at += pad
    want(raw[at:] == bytes(2 * BLOCK), "the archive does not end as it should", offset=at)
    for name in NAMES:
        want(name in members, "the member is missing", name)
    return names, members


# The texts. Whatever reads like one must be spelled as its content encodes.


def parse(raw):
    """The JSON value of a line that is what its value encodes to; None if not.
    It is printable ASCII that needs no escape."""
    if not re.fullmatch(rb"[ -\[\]-~]*\n", raw) or b":null" in raw:
        return None
    try:
        value = json.loads(raw)
        again = json.dumps(value, separators=(",", ":")) + "\n"
        return value if again.encode() == raw else None
    except (ValueError, RecursionError):
        return None


def fits(value, shape):
    """Compares a value with a shape: a type, a list of one shape, or a dict."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and list(value) == list(shape) and all(fits(value[k], s) for k, s in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(v, shape[0]) for v in value)
    if shape is int:
        return type(value) is int and -2**63 <= value < 2**63
    if shape is str:
        return isinstance(value, str)
    return isinstance(value, str) and shape(value) is not None


def unhex(text, size=None):
    if not re.fullmatch("(?:[0-9a-f]{2})*", text) or size is not None and len(text) != 2 * size:
        return None
    return bytes.fromhex(text)


def digest(text):
    return unhex(text, 32)


def unbase64(text, size=None):
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return raw if base64.b64encode(raw).decode() == text and size in (None, len(raw)) else None


def node(text):
    return unbase64(text, 32)


CELL = {"id": str, "publicKey": unhex}
ENVELOPE = {"payloadType": str, "payload": unbase64, "signatures": [{"keyid": str, "sig": unbase64}]}
STATEMENT = {
    "_type": str, "subject": [{"name": str, "digest": {"sha256": digest}}], "predicateType": str,
    "predicate": {
        "product": str, "cell": str, "size": int, "events": int, "sessions": [{"id": str, "first": int, "last": int}],
        "cells": [CELL], "redacted": {"kinds": [str], "positions": [int]}, "absent": [digest]}}
PROOF_FILE = {"events": [{"pos": int, "path": [node]}], "since": [node]}
HEADER = {k: str if k in TEXTS else digest if k.endswith(("Hash", "hash")) else unhex if k == "sig" else int for k in EVENT_KEYS}
SHOWN = {**HEADER, "salt": lambda t: unhex(t, 16), "payload": lambda t: unbase64(t) or None}
REDACTED = {**HEADER, "redacted": digest}


def parse_event(raw):
    e = parse(raw)
    if not fits(e, SHOWN) and not fits(e, REDACTED):
        return None
    return e if all(re.fullmatch("[A-Za-z0-9._-]{0,128}", e[k]) for k in TEXTS) else None


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def header_hash(e):
    texts = b"".join(struct.pack(">I", len(e[k])) + e[k].encode() for k in TEXTS)
    numbers = struct.pack(">qqq", e["seq"], e["generation"], e["createdAt"])
    return sha256(b"worksite/event/v1\0", texts, numbers, digest(e["prevHash"]), digest(e["payloadHash"]))


def key_hash(origin, key):
    return sha256(origin.encode(), b"\n\x01", key)[:4]


def open_head(raw, cell, key):
    """Size and root of a signed head of that cell; None when it does not hold."""
    origin = "worksite/" + cell
    m = re.fullmatch(r"(?s)(%s\n([1-9][0-9]{0,18})\n([^\n]+)\n)\n\u2014 %s ([^\n]+)\n" % ((re.escape(origin),) * 2), raw.decode(errors="replace"))
    root, sig = (node(m[3]), unbase64(m[4], 68)) if m else (None, None)
    if root is None or sig is None or int(m[2]) >= 2**63:
        return None
    if sig[:4] != key_hash(origin, key) or not verify(key, m[1].encode(), sig[4:]):
        return None
    return int(m[2]), root


# RFC 6962 (as in RFC 9162, sections 2.1.3.2 and 2.1.4.2).


def included(size, root, index, leaf, path):
    fn, sn, r = index, size - 1, leaf
    for p in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = sha256(b"\1", p, r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = sha256(b"\1", r, p)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root


def continues(size, root, old_size, old_root, path):
    if not 1 <= old_size <= size:
        return False
    if old_size == size:
        return not path and root == old_root
    if old_size & (old_size - 1) == 0:
        path = [old_root] + path
    if not path:
        return False
    fn, sn = old_size - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = sha256(b"\1", c, fr), sha256(b"\1", c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = sha256(b"\1", sr, c)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == old_root and sr == root


def check(raw, given, v):
    """Checks an export; v counts what was found so far."""
    names, members = unpack(raw)

    listed = parse(members[KEYS])
    want(fits(listed, {"cells": [CELL]}), NOT_AS_EXPORTED, KEYS)
    keys = {}
    for c in listed["cells"]:
        key = unhex(c["publicKey"])
        want(len(key) == 32 and c["id"] == "cell_" + sha256(key).hex()[:26], "a cell has a key that is not its own", KEYS)
        keys[c["id"]] = key

    e = parse(members[MANIFEST])
    want(fits(e, ENVELOPE) and e["payloadType"] == "application/vnd.in-toto+json" and len(e["signatures"]) == 1, NOT_AS_EXPORTED, MANIFEST)
    cell, payload = e["signatures"][0]["keyid"], unbase64(e["payload"])
    want(cell in keys, "it is signed by a cell whose key is not in the file", MANIFEST)
    key, origin = keys[cell], "worksite/" + cell
    pae = b"DSSEv1 %d %s %d %s" % (len(e["payloadType"]), e["payloadType"].encode(), len(payload), payload)
    want(verify(key, pae, unbase64(e["signatures"][0]["sig"])), "the signature does not match the cell's key", MANIFEST)
    v["cell"], v["keyGiven"] = cell, given != ""
    vkey = "%s+%s+%s" % (origin, key_hash(origin, key).hex(), base64.b64encode(b"\x01" + key).decode())
    want(given in ("", cell, key.hex(), vkey), "it is signed by another key than the one that was given", MANIFEST)
    m = parse(payload + b"\n")
    want(fits(m, STATEMENT) and m["_type"] == "https://in-toto.io/Statement/v1" and m["predicateType"] == "urn:worksite:audit:v1" and m["subject"],
         "its statement is not in the form of an export", MANIFEST)
    p, subjects = m["predicate"], m["subject"]
    want(p["cell"] == cell and p["cells"] == listed["cells"], "it names other cells than keys.json", MANIFEST)
    v["product"], v["absent"] = p["product"], len(p["absent"])

    head = open_head(members[CHECKPOINT], cell, key)
    want(head, "the signed head does not hold", CHECKPOINT)
    size, root = head
    want(size == p["size"] and subjects[0] == {"name": origin, "digest": {"sha256": root.hex()}}, "the manifest names another head", CHECKPOINT)
    v["size"], v["root"] = size, root.hex()

    proofs = parse(members[PROOFS])
    want(fits(proofs, PROOF_FILE), NOT_AS_EXPORTED, PROOFS)
    if SINCE in members:
        old = open_head(members[SINCE], cell, key)
        want(old, "the signed head does not hold", SINCE)
        want(continues(size, root, *old, [node(h) for h in proofs["since"]]), "the proof that the log continues the earlier one does not hold", PROOFS)
        v["since"] = old[0]

    check_events(members[EVENTS], p, keys, size, root, proofs["events"], v)

    want(names[0] == MANIFEST, "it is not in its place", names[0])
    for i, s in enumerate(subjects[1:], 1):
        want(i < len(names), "the member is missing", s["name"])
        name = names[i]
        want(name == s["name"], "it is not in its place", name)
        got = sha256(members[name]).hex()
        blob = name.startswith(BLOBS)
        want(got == s["digest"]["sha256"] and (not blob or name == BLOBS + got), "its SHA-256 is not the one in the manifest", name)
        v["blobs"] += blob
    want(len(names) == len(subjects), "the manifest does not name it", names[-1])


def check_events(raw, p, keys, size, root, proofs, v):
    tails = {s["id"]: [s["first"], s["last"], bytes(32)] for s in p["sessions"]}
    v["sessions"], redacted, prev = len(tails), set(p["redacted"]["positions"]), 0
    for line, text in enumerate(raw.split(b"\n") if raw else [], 1):
        if not text and line > raw.count(b"\n"):
            break  # after the last newline
        e = parse_event(text + b"\n" if line <= raw.count(b"\n") else text)
        want(e, NOT_AS_EXPORTED, EVENTS, line=line)
        at = {"member": EVENTS, "line": line, "pos": e["pos"]}
        want(prev < e["pos"] <= size, "it is not after the line before it and before the end of the log", **at)
        t = tails.get(e["session"])
        want(t and t[0] == e["seq"] <= t[1], "it is not the next event of its session", **at)
        want(e["seq"] > 1 and t[2] == bytes(32) or digest(e["prevHash"]) == t[2], "it does not follow the event before it in its session", **at)
        want((e["pos"] in redacted) == ("redacted" in e), "the manifest says otherwise about its redaction", **at)
        content = digest(e["redacted"]) if "redacted" in e else sha256(unhex(e["salt"]), unbase64(e["payload"]))
        want(content == digest(e["payloadHash"]), "the payload does not match its hash", **at)
        own = digest(e["hash"])
        want(header_hash(e) == own, "the header does not match the event's hash", **at)
        want(e["cell"] in keys and verify(keys[e["cell"]], own, unhex(e["sig"])), "the signature does not match the cell's key", **at)
        proof = proofs[line - 1] if line <= len(proofs) else {"pos": 0}
        want(proof["pos"] == e["pos"] and included(size, root, e["pos"] - 1, sha256(b"\0", own), [node(h) for h in proof["path"]]),
             "the proof that the event is in the log does not hold", **{**at, "member": PROOFS})
        t[0], t[2], prev = e["seq"] + 1, own, e["pos"]
        v["events"] += 1
        v["redacted"] += "redacted" in e
        if e["kind"] in OUTSIDE:
            v["recorded"][e["kind"]] = v["recorded"].get(e["kind"], 0) + 1
    for s in p["sessions"]:
        want(tails[s["id"]][0] == tails[s["id"]][1] + 1, "the next event of a session is missing", EVENTS, line=v["events"] + 1)
    want(len(proofs) == v["events"] == p["events"], "it has another number of events than events.ndjson", PROOFS)
    want(len(redacted) == v["redacted"], "it names other redactions than there are", MANIFEST)


def verdict(path, given):
    v = {"ok": False, "product": "", "cell": "", "keyGiven": False, "size": 0, "root": "", "since": 0, "sessions": 0,
         "events": 0, "redacted": 0, "blobs": 0, "absent": 0, "recorded": {}, "reExecuted": 0}
    with open(path, "rb") as f:
        raw = f.read()
    try:
        check(raw, given, v)
        v["ok"] = True
    except Flaw as flaw:
        v["bad"] = {k: x for k, x in flaw.at.items() if x or k == "what"}
    return v


def main():
    parser = argparse.ArgumentParser(description="Proves audit exports of Worksite.")
    parser.add_argument("--json", action="store_true", help="print each verdict as one line of JSON")
    parser.add_argument("--key", default="", help="the exporting cell's key as you know it")
    parser.add_argument("file", nargs="+")
    args = parser.parse_args()
    worst = 0
    for path in args.file:
        try:
            v = verdict(path, args.key)
        except OSError as err:
            print("worksite_verify:", err, file=sys.stderr)
            return 2
        worst = max(worst, 0 if v["ok"] else 1)
        if args.json:
            print(json.dumps(v))
        elif v["ok"]:
            print("%s: everything holds: %d events in %d session(s), head %d %s, signed by %s; checked, nothing re-executed"
                  % (path, v["events"], v["sessions"], v["size"], v["root"], v["cell"]))
        else:
            print("%s: the export does not hold: %s" % (path, v["bad"]))
    return worst


if __name__ == "__main__":
    sys.exit(main())
