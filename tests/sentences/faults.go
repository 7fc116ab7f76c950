// SPDX-License-Identifier: Apache-2.0
//
// Go's runtime turns faults into panics, and ends by SIGABRT with GOTRACEBACK=crash.
//
// all signal: ABRT
// all run: GOTRACEBACK=crash
// all in: -
package main

import (
	"os"
	"unsafe"
)

type item struct {
	id   int
	next *item
}

var sink int

// case nilRead
//   says: .+
//
//go:noinline
func nilRead(p *item) {
	sink = p.next.id
}

// case panics
//   says: .+
//
//go:noinline
func panics(text string) {
	panic(text)
}

// case bounds
//   says: .+
//
//go:noinline
func bounds(items []int, at int) {
	sink = items[at]
}

// case wild
//   says: .+
//
//go:noinline
func wild(address uintptr) {
	*(*int)(unsafe.Pointer(address)) = 5
}

func main() {
	switch os.Args[1] {
	case "nilRead":
		nilRead(&item{})
	case "panics":
		panics("no such page")
	case "bounds":
		bounds([]int{1, 2}, len(os.Args)+5)
	case "wild":
		wild(0x123456789000)
	}
}
