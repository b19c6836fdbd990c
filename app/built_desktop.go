//go:build desktop && production

package app

const built = true
