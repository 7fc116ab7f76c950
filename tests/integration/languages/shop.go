// SPDX-License-Identifier: Apache-2.0
//
// shop: goroutines that wait, and one that crashes in C.
package main

// static int *volatile nowhere;
// static void bug(void) { *nowhere = 1; }
// static void crash(void) { bug(); }
import "C"

import (
	"runtime"
	"strings"
	"sync"
	"time"
)

type shop struct{ orders chan int }

// allWait returns true if every other goroutine of the program waits, main too.
func allWait() bool {
	buffer := make([]byte, 1<<16)
	text := string(buffer[:runtime.Stack(buffer, true)])
	locks := strings.Count(text, "[sync.Mutex.Lock") + strings.Count(text, "[semacquire")
	return strings.Count(text, "[chan receive") == 4 && strings.Contains(text, "[sleep") && locks == 1
}

//go:noinline
func (s *shop) serve(depth int) {
	if depth > 0 {
		s.serve(depth - 1)
		return
	}
	for !allWait() {
		time.Sleep(time.Millisecond)
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
	go s.serve(3)
	<-s.orders
}
