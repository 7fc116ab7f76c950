// SPDX-License-Identifier: Apache-2.0

// Package backtrace captures the stack of a goroutine, and finds its names and lines by
// libcrashhook-backtrace.
//
//	stack, err := backtrace.Capture()
//	if err == nil {
//		named, err := stack.Symbolicate()
//		...
//		fmt.Print(named)
//	}
//
// It needs cgo. The first call loads the library: the file that LIBCRASHHOOK_BACKTRACE
// names, or libcrashhook-backtrace.so.1. All functions may be called by any goroutine.
package backtrace

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "library.h"
*/
import "C"

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// ErrNoLibrary says that libcrashhook-backtrace.so.1 cannot be loaded.
var ErrNoLibrary = errors.New("crashhook: libcrashhook-backtrace.so.1 cannot be loaded")

const framesMax = 64

var (
	loadOnce  sync.Once
	loaded    bool
	traceOnce sync.Once
)

func load() error {
	loadOnce.Do(func() { loaded = C.library_load() != 0 })
	if !loaded {
		return ErrNoLibrary
	}
	return nil
}

// TraceC adds the functions of C that call Go to all later captures, and to the stacks that
// the runtime prints and profiles. Call it before C calls Go, such as in an init function.
// It calls runtime.SetCgoTraceback, which one package of a program may do.
func TraceC() error {
	if err := load(); err != nil {
		return err
	}
	traceOnce.Do(func() {
		runtime.SetCgoTraceback(0, C.library_trace, C.library_context, nil)
	})
	return nil
}

// A Backtrace is a captured stack.
type Backtrace struct{ pointer unsafe.Pointer }

// Capture captures the calling goroutine: at most 64 frames, the first one in the calling
// function.
//
//go:noinline
func Capture() (*Backtrace, error) {
	if err := load(); err != nil {
		return nil, err
	}
	var counters [framesMax]uintptr
	count := runtime.Callers(2, counters[:]) // neither Callers nor this function
	addresses := realAddresses(counters[:count])
	made := &Backtrace{}
	var first *C.uint64_t
	if len(addresses) > 0 {
		first = (*C.uint64_t)(&addresses[0])
	}
	if result := C.library_from_addresses(first, C.size_t(len(addresses)), &made.pointer); result != 0 {
		return nil, syscall.Errno(result)
	}
	runtime.SetFinalizer(made, func(b *Backtrace) { C.library_destroy(b.pointer) })
	return made, nil
}

// realAddresses leaves out the counters that stand for a function into which the one before
// was inlined: symbolication finds these calls itself.
func realAddresses(counters []uintptr) []uint64 {
	var addresses []uint64
	var inlinedInto uintptr // the entry of the function around the last counter; 0: none
	for i, counter := range counters {
		frame, _ := runtime.CallersFrames(counters[i : i+1]).Next()
		if inlinedInto == 0 || frame.Entry != inlinedInto {
			addresses = append(addresses, uint64(counter))
		}
		inlinedInto = 0
		if frame.Func == nil {
			inlinedInto = frame.Entry // 0 for C
		}
	}
	return addresses
}

// Symbolicate gives the same stack with names, lines and inlined calls.
func (b *Backtrace) Symbolicate() (*SymbolicatedBacktrace, error) {
	made := &SymbolicatedBacktrace{}
	result := C.library_symbolicate(b.pointer, &made.pointer)
	runtime.KeepAlive(b)
	if result != 0 {
		return nil, syscall.Errno(result)
	}
	runtime.SetFinalizer(made, func(s *SymbolicatedBacktrace) { C.library_destroy_named(s.pointer) })
	return made, nil
}

// A SymbolicatedBacktrace is a stack with names.
type SymbolicatedBacktrace struct{ pointer unsafe.Pointer }

// A Frame is a frame, or a call that was inlined into the next one. What is not known is
// empty or 0.
type Frame struct {
	Function, File, Image string
	Line                  int
	Address               uint64
	IsInline              bool
}

// Frames gives the frames, innermost first.
func (s *SymbolicatedBacktrace) Frames() []Frame {
	frames := make([]Frame, C.library_count(s.pointer))
	for i := range frames {
		var frame C.struct_library_frame
		C.library_frame_at(s.pointer, C.size_t(i), &frame)
		frames[i] = Frame{C.GoString(frame.function), C.GoString(frame.file),
			C.GoString(frame.image), int(frame.line), uint64(frame.address),
			frame.is_inline != 0}
	}
	runtime.KeepAlive(s)
	return frames
}

// String gives the stack as lines for people.
func (s *SymbolicatedBacktrace) String() string {
	text := takeText(C.library_format(s.pointer))
	runtime.KeepAlive(s)
	return text
}

// JSON gives all that is known.
func (s *SymbolicatedBacktrace) JSON() string {
	text := takeText(C.library_to_json(s.pointer))
	runtime.KeepAlive(s)
	return text
}

func takeText(text *C.char) string {
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}
