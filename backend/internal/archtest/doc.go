// Package archtest keeps the import rules: who may know whom, and why. It has
// tests only; rules_test.go is the table to change when a package is added. A
// package without a rule and a rule without a package both fail.
package archtest
