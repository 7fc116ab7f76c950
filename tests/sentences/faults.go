// SPDX-License-Identifier: Apache-2.0
//
// Go's runtime turns faults into panics, and ends by SIGABRT with GOTRACEBACK=crash.
//
// all signal: ABRT
// all run: GOTRACEBACK=crash
// all in: -
package main

import (
	"errors"
	"os"
	"unsafe"
)

type item struct {
	id   int
	next *item
}

var sink int

// case nilRead
//   kind: null-dereference|panic
//   live: Read from 0x0, through a null pointer
//   core: Go panic: runtime error: invalid memory address or nil pointer dereference, in
//     main\.nilRead$
//
//go:noinline
func nilRead(p *item) {
	sink = p.next.id
}

// case panics
//   kind: panic
//   says: Go panic: no such page, in main\.panics$
//
//go:noinline
func panics(text string) {
	panic(text)
}

// case bounds
//   kind: panic
//   says: Go panic: runtime error: index out of range \[7\] with length 2, in main\.bounds$
//
//go:noinline
func bounds(items []int, at int) {
	sink = items[at]
}

// case wild
//   kind: unknown|panic
//   live: (Read from|Write to) 0x123456789000, where nothing is mapped
//   core: (?!.*)
//   true: Go's runtime gave up, without a panic's text, in main\.
//
//go:noinline
func wild(address uintptr) {
	*(*int)(unsafe.Pointer(address)) = 5
}

// case divides
//   kind: panic|divide-by-zero
//   says: Go panic: runtime error: integer divide by zero, in main\.divides$
//
//go:noinline
func divides(by int) {
	sink = 7 / by
}

// case nilMap
//   kind: panic
//   says: Go panic: assignment to entry in nil map, in main\.nilMap$
//
//go:noinline
func nilMap(pages map[string]int) {
	pages["seven"] = 7
}

// case slices
//   kind: panic
//   says: Go panic: runtime error: slice bounds out of range \[:9\] with capacity 2, in
//     main\.slices$
//
//go:noinline
func slices(items []int, end int) {
	sink = len(items[:end])
}

// case asserts
//   kind: panic
//   says: Go panic: interface conversion: interface \{\} is string, not int, in
//     main\.asserts$
//
//go:noinline
func asserts(value interface{}) {
	sink = value.(int)
}

// case fails
//   kind: panic
//   says: Go panic: the ledger is closed, in main\.fails$
//
//go:noinline
func fails(err error) {
	panic(err)
}

// case numbers
//   kind: panic
//   says: Go panic: 42, in main\.numbers$
//
//go:noinline
func numbers(value int) {
	panic(value)
}

// case closedChannel
//   kind: panic
//   says: Go panic: close of closed channel, in main\.closedChannel$
//
//go:noinline
func closedChannel() {
	pages := make(chan int)
	close(pages)
	close(pages)
}

// case inGoroutine
//   kind: panic
//   says: Go panic: no such page, in main\.inGoroutine\.func1$
//
//go:noinline
func inGoroutine() {
	go func() { panic("no such page") }()
	select {}
}

// case nilFunction
//   kind: panic|null-dereference
//   live: Jump to 0x0, through a null pointer|Read from 0x0, through a null pointer
//   core: Go panic: runtime error: invalid memory address or nil pointer dereference, in
//     main\.nilFunction$
//
//go:noinline
func nilFunction(call func() int) {
	sink = call()
}

// case recovered
//   kind: panic
//   says: Go panic: the second, in main\.recovered$
//
//go:noinline
func recovered() {
	func() {
		defer func() { _ = recover() }()
		panic("the first")
	}()
	panic("the second")
}

// case asleep
//   kind: abort
//   says: The program aborted: fatal error: all goroutines are asleep - deadlock!$
//
//go:noinline
func asleep() {
	select {}
}

// case overflows
//   kind: abort
//   says: The program aborted: fatal error: stack overflow$
//   ways: live
//
//go:noinline
func overflows(depth int) int {
	return overflows(depth+1) + depth
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
	case "divides":
		divides(len(os.Args) - 2)
	case "nilMap":
		nilMap(nil)
	case "slices":
		slices([]int{1, 2}, len(os.Args)+7)
	case "asserts":
		asserts(os.Args[1])
	case "fails":
		fails(errors.New("the ledger is closed"))
	case "numbers":
		numbers(21 * len(os.Args))
	case "closedChannel":
		closedChannel()
	case "inGoroutine":
		inGoroutine()
	case "nilFunction":
		nilFunction(nil)
	case "asleep":
		asleep()
	case "overflows":
		sink = overflows(len(os.Args))
	case "recovered":
		recovered()
	}
}
