// SPDX-License-Identifier: Apache-2.0

// Panics in a goroutine, or with the argument `deadlock` ends by a fatal error.
package main

import (
	"fmt"
	"os"

	"crashhook.invalid/crashhook/words"
)

func findPage(pages []string, page int) string {
	return pages[page] // panics here
}

func main() {
	if err := words.Keep(words.Options{Release: "1.4.2"}); err != nil {
		fmt.Fprintln(os.Stderr, "panics are not reported:", err)
	}
	found := make(chan string)
	if len(os.Args) < 2 || os.Args[1] != "deadlock" {
		go func() { found <- findPage(nil, 7) }()
	}
	fmt.Println(<-found)
}
