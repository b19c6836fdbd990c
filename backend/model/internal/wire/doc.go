// Package wire holds what the model providers share below their client
// libraries: an HTTP transport that puts kept message encodings into a request
// body and watches the answer come in ([Exchange]), and small JSON helpers.
//
// The client libraries encode the whole conversation again for every request
// and lose parts of the answer on the way (the status of an error without a
// JSON body, a number beyond float64, the reason a stream broke). The transport
// sits under them and mends exactly that; everything else stays theirs.
//
// It imports domain and the standard library only.
package wire
