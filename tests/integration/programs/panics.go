// SPDX-License-Identifier: Apache-2.0
//
// panics HOW: a Go program that panics with a text, an error, a failed check or a number.
package main

import (
	"errors"
	"fmt"
	"os"
)

func closeLedger(how string, page int) {
	lines := []int{1, 2, 3}
	switch how {
	case "text":
		panic(fmt.Sprintf("no such page: %d", page))
	case "error":
		panic(errors.New("the ledger is closed"))
	case "int":
		panic(6 * page)
	default:
		fmt.Println(lines[page-1])
	}
}

func main() {
	closeLedger(os.Args[1], 7)
}
