// Package practice is the model that needs no model: it plays a recorded
// conversation through the same interface as every provider, so that the whole
// job can be tried on a machine without a model and without a network. Start
// with [New].
//
// It is honest about what it is. Every answer is marked as recorded. It plays
// only when the person asked for the recorded task, and follows the conversation
// from there: an answer follows when the calls of the one before it were really
// carried out. A call that was not is asked for once more, unchanged; after that
// it says that the recording cannot go on, and never claims a result that is not
// there. To everything else it says what it is, what it can play, and how to
// choose a real model.
//
// The answer is a pure function of the messages. A recording is a JSON file of
// the folder recordings, described in its README.
//
// It imports domain and the standard library only.
package practice
