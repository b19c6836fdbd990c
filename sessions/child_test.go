package sessions_test

// child returns what this process does when a test has started it again, nil in
// the test itself.
func child() func() { return nil }
