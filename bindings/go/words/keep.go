// SPDX-License-Identifier: Apache-2.0

//go:build go1.23

package words

import "runtime/debug"

func keep(options Options) error {
	file, err := createFile(options)
	if err != nil {
		return err
	}
	defer file.Close() // the runtime has a descriptor of its own, with the lock
	return debug.SetCrashOutput(file, debug.CrashOptions{})
}
