// SPDX-License-Identifier: Apache-2.0

//go:build go1.23

package crashhook

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// keepTexts has the runtime write what it says of a panic to a file too, whose end is part
// of the report. The file is read after the program has died, so the next program removes
// it.
func keepTexts() {
	removeOld()
	file, err := os.CreateTemp("", fmt.Sprintf("crashhook-go.%d.*", os.Getpid()))
	if err != nil {
		return
	}
	defer file.Close() // the runtime has a descriptor of its own
	path := file.Name()
	if debug.SetCrashOutput(file, debug.CrashOptions{}) != nil || AttachFile(path, 0) != nil {
		os.Remove(path)
	}
}

// removeOld removes the files of programs that have ended: those that nothing was written
// to at once, the others when their reports are surely written.
func removeOld() {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), "crashhook-go.*.*"))
	for _, path := range paths {
		var pid int
		info, err := os.Lstat(path)
		if _, scanned := fmt.Sscanf(filepath.Base(path), "crashhook-go.%d.", &pid); scanned != nil || err != nil {
			continue
		}
		_, alive := os.Stat(fmt.Sprintf("/proc/%d", pid))
		if os.IsNotExist(alive) && (info.Size() == 0 || time.Since(info.ModTime()) > time.Hour) {
			os.Remove(path)
		}
	}
}
