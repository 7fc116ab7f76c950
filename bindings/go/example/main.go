// SPDX-License-Identifier: Apache-2.0

// Panics, or with the argument crash has C write through a null pointer.
package main

/*
static void write_null(volatile int *place)
{
    *place = 1; // crashes here
}
*/
import "C"

import (
	"fmt"
	"os"

	"crashhook.invalid/crashhook"
)

func priceOf(prices map[string]*int, name string) int {
	return *prices[name] // panics here
}

func main() {
	if err := crashhook.Install(crashhook.Options{Release: "1.4.2"}); err != nil {
		fmt.Fprintln(os.Stderr, "crashes are not reported:", err)
	}
	crashhook.SetTag("stage", "pricing")
	crashhook.Breadcrumb("order of pear")
	if len(os.Args) > 1 && os.Args[1] == "crash" {
		C.write_null(nil)
	}
	fmt.Println(priceOf(map[string]*int{}, "pear"))
}
