//go:build !failpoints

package failpoint

// Reach does nothing in the product.
func Reach(Name) {}
