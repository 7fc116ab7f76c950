// SPDX-License-Identifier: Apache-2.0
//
// A chain of calls to a write that fails, whose last function is a leaf.
package main

import (
	"fmt"
	"os"
	"unsafe"
)

//go:noinline
func poke(at uintptr, n int) int {
	*(*int)(unsafe.Pointer(at)) = n
	return n
}

//go:noinline
func deeper(depth int, at uintptr) int {
	var room [7]int
	room[depth%7] = depth
	if depth == 0 {
		return poke(at, room[3])
	}
	return deeper(depth-1, at) + room[depth%7]
}

func main() {
	fmt.Println(deeper(9, uintptr(len(os.Args))-1+0x123456789000))
}
