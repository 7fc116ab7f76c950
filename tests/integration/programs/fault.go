// SPDX-License-Identifier: Apache-2.0
//
// fault [recover]: a Go program that writes through a null pointer in C; before that it
// recovers from faults of its own.
package main

// static void boom(volatile int *pointer) { *pointer = 3; }
import "C"

import "fmt"

func length(text *string) (count int) {
	defer func() {
		if recover() != nil {
			count = 1
		}
	}()
	return len(*text)
}

func inner() {
	C.boom(nil)
}

func main() {
	recovered := 0
	for i := 0; i < 1000; i++ {
		recovered += length(nil)
	}
	fmt.Println("recovered from", recovered)
	done := make(chan bool)
	go func() { inner(); done <- true }()
	<-done
}
