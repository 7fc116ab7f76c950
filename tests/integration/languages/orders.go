// SPDX-License-Identifier: Apache-2.0
//
// Frees a block of C twice, in goroutines.
package main

/*
#include <stdlib.h>
#include <string.h>

static void *make_order(void) { return memset(malloc(40), 1, 40); }
static void drop_order(void *order) { free(order); __asm__ volatile("" ::: "memory"); }
*/
import "C"

import "unsafe"

//go:noinline
func receive() unsafe.Pointer {
	return C.make_order()
}

//go:noinline
func deliver(order unsafe.Pointer, done chan bool) {
	C.drop_order(order)
	done <- true
}

func main() {
	done := make(chan bool)
	order := receive()
	for i := 0; i < 2; i++ {
		go deliver(order, done)
		<-done
	}
}
