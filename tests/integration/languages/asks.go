// SPDX-License-Identifier: Apache-2.0
//
// asks: a Go program with C code that has set a handler before Go did. Go's handler asks
// it about a fault in C, and it recovers.
package main

// #define _GNU_SOURCE
// #include <signal.h>
// #include <stddef.h>
// #include <ucontext.h>
//
// static void step_over(int number, siginfo_t *info, void *context)
// {
//     ucontext_t *registers = context;
//     (void)number;
//     (void)info;
// #if defined(__x86_64__)
//     registers->uc_mcontext.gregs[REG_RIP] += 3; // movb $1, (%rax)
// #else
//     registers->uc_mcontext.pc += 4;
// #endif
// }
//
// __attribute__((constructor)) static void set_first(void)
// {
//     struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK };
//     action.sa_sigaction = step_over;
//     sigaction(SIGSEGV, &action, NULL);
// }
//
// static void fault(void)
// {
// #if defined(__x86_64__)
//     __asm__ volatile("movb $1, (%0)" : : "a"(NULL) : "memory");
// #else
//     __asm__ volatile("strb wzr, [%0]" : : "r"(NULL) : "memory");
// #endif
// }
import "C"

import "fmt"

func main() {
	for i := 0; i < 10; i++ {
		C.fault()
	}
	fmt.Println("recovered from 10")
}
