// Package stream is the live fan-out: committed events in ledger order with
// catch-up from a cursor, and what streams before it is committed.
//
// Delivery contract. Events are never lost and never reordered: a [Subscription]
// reads them from the ledger by position, so a slow reader only falls behind.
// Live text is lossy by design: the hub keeps one growing text per id, a reader
// is sent what it has not had yet each time it comes round, and the committed
// event replaces all of it. A reader that was away for long is sent the text from
// a later offset, which it can tell from the offset it expected.
//
// It imports domain only and reads history through [History].
package stream
