package main

import "syscall"

// arguments returns this process's arguments and environment. Package os would have
// them too, at the price of its start.
func arguments() (argv, env []string) {
	b := readAll("/proc/self/cmdline")
	for rest := string(b); rest != ""; {
		var a string
		a, rest = cut(rest, 0)
		argv = append(argv, a)
	}
	return argv, syscall.Environ()
}

// cut splits s at the first sep.
func cut(s string, sep byte) (before, after string) {
	if i := index(s, sep); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

func index(s string, c byte) int {
	for i := range len(s) {
		if s[i] == c {
			return i
		}
	}
	return -1
}

// number reads a decimal number, or fails.
func number(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			fail("bad argument " + s)
		}
		n = n*10 + int(s[i]-'0')
	}
	if s == "" {
		fail("missing argument")
	}
	return n
}

func decimal(n int) []byte {
	if n < 0 {
		return append([]byte{'-'}, decimal(-n)...)
	}
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		n /= 10
		if n == 0 {
			return b[i:]
		}
	}
}

// quote appends s as a JSON string; anything but plain ASCII becomes a question mark.
func quote(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			c = '?'
		}
		b = append(b, c)
	}
	return append(b, '"')
}
