// SPDX-License-Identifier: Apache-2.0

// Logs the stack of Go functions, and of C between them.
package main

/*
#include <stdlib.h>

extern int compareOrders(void *left, void *right);

static int compare(const void *left, const void *right)
{
    return compareOrders((void *)left, (void *)right);
}

static void sort_orders(void)
{
    char orders[2] = { 2, 1 };
    qsort(orders, 2, 1, compare); // sorted here
}
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"

	"crashhook.invalid/crashhook/backtrace"
)

func logStack(what string) {
	stack, err := backtrace.Capture() // captured here
	if err != nil {
		fmt.Fprintln(os.Stderr, "no backtrace:", err)
		return
	}
	named, err := stack.Symbolicate()
	if err != nil {
		fmt.Fprintln(os.Stderr, "no names:", err)
		return
	}
	fmt.Printf("%s:\n%v\n", what, named)
	for _, frame := range named.Frames() {
		fmt.Fprintln(os.Stderr, frame.Function, frame.Line, frame.Image)
	}
}

//export compareOrders
func compareOrders(left, right unsafe.Pointer) C.int {
	logStack("two orders are the same")
	return 0
}

func main() {
	logStack("no order yet")
	if backtrace.TraceC() == nil {
		C.sort_orders()
	}
}
