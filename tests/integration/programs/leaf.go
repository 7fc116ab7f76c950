// SPDX-License-Identifier: Apache-2.0
//
// leaf: a Go program without cgo that reads through a null pointer in the first instruction
// of a function, and panics on another thread than the one that faulted.
package main

import (
	"syscall"
	"time"
)

type order struct{ lines [8]int }

//go:noinline
func leaf(o *order) int { return o.lines[3] }

//go:noinline
func moved(o *order) int {
	began := syscall.Gettid()
	defer func() {
		for i := 0; i < 10000 && syscall.Gettid() == began; i++ {
			time.Sleep(100 * time.Microsecond)
		}
	}()
	return leaf(o) + 1
}

func busy() {
	for {
		time.Sleep(50 * time.Microsecond)
	}
}

func main() {
	for i := 0; i < 4; i++ {
		go busy()
	}
	println(moved(nil))
}
