// SPDX-License-Identifier: Apache-2.0

// Package crashhook reports crashes of Go programs, of C that they call, and panics.
//
//	if err := crashhook.Install(crashhook.Options{Release: "1.4.2"}); err != nil {
//		log.Print("crashes are not reported: ", err)
//	}
//
// It needs cgo and no other module. The packed module has the handler's sources in it; with
// the build tag crashhook_link, and in crashhook's own tree, the library is linked, by
// pkg-config. Either is in place before main. With the build tag crashhook_load it is loaded by Install instead:
// libcrashhook.so.1 where the loader finds it, or the file that LIBCRASHHOOK names; a
// program on a machine without it goes on.
//
// crashhook/crashhook.h says what each function promises.
package crashhook

/*
#cgo crashhook_load CFLAGS: -DCRASHHOOK_LOAD
#cgo crashhook_load LDFLAGS: -ldl
#cgo !crashhook_load pkg-config: crashhook-go
#include <stdlib.h>
#include "library.h"
*/
import "C"

import (
	"errors"
	"runtime/debug"
	"sync"
	"syscall"
	"unsafe"
)

// Options are the program's settings, in the order of struct crashhook_options. A
// CRASHHOOK_* variable that is set takes precedence.
type Options struct {
	URL, TokenFile, Spool, Agent, Timeout, Print, Release, Environment, Tags string
	Token, SpoolMax, Signals, Unwind, Limit, Top, Threads, Images            string
	Symbolize, Hold, Mode, Handlers, Preset, Arguments, Sanitize, Memory     string
	Own, Rate, Log, Kills, Starts, Stacks, Output, Format, Registers         string
	Demangle, Color, Interactive, Warnings, Cache, Descriptors, PII, User    string
}

// ErrNoLibrary says that libcrashhook.so.1 cannot be loaded.
var ErrNoLibrary = errors.New("crashhook: libcrashhook.so.1 cannot be loaded")

func (options Options) values() []string {
	o := options
	return []string{o.URL, o.TokenFile, o.Spool, o.Agent, o.Timeout, o.Print, o.Release,
		o.Environment, o.Tags, o.Token, o.SpoolMax, o.Signals, o.Unwind, o.Limit, o.Top,
		o.Threads, o.Images, o.Symbolize, o.Hold, o.Mode, o.Handlers, o.Preset,
		o.Arguments, o.Sanitize, o.Memory, o.Own, o.Rate, o.Log,
		o.Kills, o.Starts, o.Stacks, o.Output, o.Format, o.Registers, o.Demangle,
		o.Color, o.Interactive, o.Warnings, o.Cache, o.Descriptors, o.PII, o.User}
}

var textsOnce sync.Once

// Install installs the handler. From then on a panic that nobody recovers ends the
// program by SIGABRT, as GOTRACEBACK=crash does, so that it is reported too; from Go 1.23
// on its words and those of all goroutines are part of the report.
func Install(options Options) error {
	if C.library_load() == 0 {
		return ErrNoLibrary
	}
	values := options.values()
	members := make([]*C.char, len(values))
	for i, value := range values {
		if value != "" {
			members[i] = C.CString(value)
			defer C.free(unsafe.Pointer(members[i]))
		}
	}
	if result := C.library_install(&members[0], C.int(len(members))); result != 0 {
		return syscall.Errno(result)
	}
	debug.SetTraceback("crash")
	textsOnce.Do(keepTexts)
	return nil
}

func errorOf(result C.int) error {
	if result == 0 {
		return nil
	}
	return syscall.Errno(result)
}

// SetTag sets a tag, by which reports can be searched; an empty value removes it.
func SetTag(name, value string) error {
	return withTexts(name, value, func(name, value *C.char) C.int {
		return C.library_set_tag(name, value)
	})
}

// SetData sets a longer text that is shown with the report; an empty one removes it.
func SetData(name, value string) error {
	return withTexts(name, value, func(name, value *C.char) C.int {
		return C.library_set_data(name, value)
	})
}

func withTexts(name, value string, call func(name, value *C.char) C.int) error {
	key := C.CString(name)
	defer C.free(unsafe.Pointer(key))
	if value == "" {
		return errorOf(call(key, nil))
	}
	text := C.CString(value)
	defer C.free(unsafe.Pointer(text))
	return errorOf(call(key, text))
}

// Breadcrumb records an event: the last 128 are part of a report.
func Breadcrumb(message string) {
	text := C.CString(message)
	defer C.free(unsafe.Pointer(text))
	C.library_breadcrumb(text)
}

// AttachFile adds the end of a file to reports: its last tailBytes, 0 for 64 KiB.
func AttachFile(path string, tailBytes int) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return errorOf(C.library_attach_file(text, C.size_t(tailBytes)))
}

// ReportNow writes a report of the running program, which goes on.
func ReportNow(why string) error {
	text := C.CString(why)
	defer C.free(unsafe.Pointer(text))
	return errorOf(C.library_report_now(text))
}
