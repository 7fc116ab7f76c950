// SPDX-License-Identifier: Apache-2.0
//
// panics: a goroutine that reads through a nil pointer.
package main

//go:noinline
func leaf(p *int) int { return *p }

func main() {
	done := make(chan int)
	go func() { done <- leaf(nil) }()
	<-done
}
