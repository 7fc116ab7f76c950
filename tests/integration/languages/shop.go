// SPDX-License-Identifier: Apache-2.0
//
// shop: goroutines that wait, and one that crashes in C.
package main

// static int *volatile nowhere;
// static void bug(void) { *nowhere = 1; }
// static void crash(void) { bug(); }
import "C"

import (
	"sync"
	"time"
)

type shop struct{ orders chan int }

//go:noinline
func (s *shop) serve(depth int) {
	if depth > 0 {
		s.serve(depth - 1)
		return
	}
	C.crash()
}

//go:noinline
func (s *shop) waits() { <-s.orders }

//go:noinline
func (s *shop) sleeps() { time.Sleep(time.Hour) }

//go:noinline
func (s *shop) locks(lock *sync.Mutex) { lock.Lock() }

func main() {
	s := &shop{orders: make(chan int)}
	lock := &sync.Mutex{}
	lock.Lock()
	for i := 0; i < 3; i++ {
		go s.waits()
	}
	go s.sleeps()
	go s.locks(lock)
	time.Sleep(50 * time.Millisecond) // until they wait
	go s.serve(3)
	<-s.orders
}
