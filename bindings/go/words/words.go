// SPDX-License-Identifier: Apache-2.0

// Package words has the panic or fatal error that ends a Go program reported when it has
// ended, with all that the runtime says of it; the exit status stays 2.
//
//	words.Keep(words.Options{Release: "1.4.2"})
//
// It needs neither cgo nor the library, but Go 1.23: the runtime itself writes to a file in
// the spool (debug.SetCrashOutput), in the form of docs/formats/exit_words.md, of which
// `crashhook list`, `upload` or `run` make the report. With crashhook.Install, which makes
// a panic end the program by SIGABRT, it is not needed.
package words

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Options are settings of the program. A CRASHHOOK_* variable that is set takes precedence.
type Options struct {
	Spool, Release, Environment, Tags string
}

// ErrGoIsOlder says that this Go has no debug.SetCrashOutput.
var ErrGoIsOlder = errors.New("crashhook: Go before 1.23 writes a panic to standard error alone")

// Keep begins to keep the words. It returns an error where the spool cannot be used.
func Keep(options Options) error {
	if os.Getuid() != os.Geteuid() || os.Getenv("CRASHHOOK_ENABLE") == "no" {
		return nil
	}
	return keep(options)
}

func setting(name, given string) string {
	if value := os.Getenv("CRASHHOOK_" + name); value != "" {
		return value
	}
	return given
}

// spoolOf is the spool, as the library finds it.
func spoolOf(options Options) string {
	state := os.Getenv("XDG_STATE_HOME")
	switch {
	case setting("SPOOL", options.Spool) != "":
		return setting("SPOOL", options.Spool)
	case os.Geteuid() == 0:
		return "/var/lib/crashhook"
	case strings.HasPrefix(state, "/"):
		return filepath.Join(state, "crashhook")
	}
	return filepath.Join(os.Getenv("HOME"), ".local/state/crashhook")
}

// startTicks is the clock tick in which the process began.
func startTicks() (start uint64, err error) {
	line, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(line[strings.LastIndexByte(string(line), ')')+1:]))
	if len(fields) < 20 {
		return 0, errors.New("crashhook: /proc/self/stat is cut")
	}
	_, err = fmt.Sscan(fields[19], &start)
	return start, err
}

func head(options Options) string {
	executable, _ := os.Executable()
	text := "crashhook words 1\n"
	for _, each := range [][2]string{
		{"pid", fmt.Sprint(os.Getpid())}, {"status", "2"}, {"executable", executable},
		{"home", os.Getenv("HOME")}, {"release", setting("RELEASE", options.Release)},
		{"environment", setting("ENVIRONMENT", options.Environment)},
		{"tags", setting("TAGS", options.Tags)}, {"kills", os.Getenv("CRASHHOOK_KILLS")}} {
		if each[1] != "" {
			text += each[0] + ": " + strings.ReplaceAll(each[1], "\n", " ") + "\n"
		}
	}
	return text + "\n"
}

// createFile makes the file with its head, locked while this process lives: until then
// nobody takes it for a report.
func createFile(options Options) (*os.File, error) {
	folder := spoolOf(options)
	start, err := startTicks()
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return nil, err
	}
	name := filepath.Join(folder, fmt.Sprintf("last-%016x-%08x.record", start, os.Getpid()))
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if _, err = file.WriteString(head(options)); err != nil {
		file.Close()
		os.Remove(name)
		return nil, err
	}
	return file, nil
}
