// SPDX-License-Identifier: Apache-2.0
//
// leaf [grow]: a Go program without cgo that reads through a null pointer in the first
// instruction of a function, and panics on another thread than the one that faulted; grow
// moves its stack before, and prints a sum and where the stack is then.
package main

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

type order struct{ lines [8]int }

//go:noinline
func leaf(o *order) int { return o.lines[3] }

//go:noinline
func grow(depth int) int {
	var room [512]int
	room[depth%512] = depth
	if depth == 0 {
		return room[0]
	}
	return grow(depth-1) + room[depth%512]
}

//go:noinline
func moved(o *order) int {
	began := syscall.Gettid()
	defer func() {
		if len(os.Args) > 1 {
			var here int
			println(grow(400), uintptr(unsafe.Pointer(&here)))
		}
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
