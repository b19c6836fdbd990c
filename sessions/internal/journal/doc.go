// Package journal holds the rules of the ledger: which events may follow which.
// It decides over a [Book] (the small state that the rules need) and the head of
// the session, performs no I/O of its own, and is shared by the database and by
// the in-memory fake, so that both refuse the same things with the same words.
//
// It imports domain, projection and chain.
package journal
