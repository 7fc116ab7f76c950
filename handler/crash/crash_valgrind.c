// SPDX-License-Identifier: Apache-2.0
//
// Client requests of Valgrind, in crash context (see crash.c). Each is a sequence of
// instructions that change nothing on a processor (Valgrind's manual, "The Client
// Request mechanism"), so that it costs a healthy program next to nothing to make one.
#include "handler/crash/crash_valgrind.h"

#include "handler/machine/poison.h"

enum valgrind_request {
    RUNNING_ON_VALGRIND = 0x1001,
    CLIENT_CALL0 = 0x1101,
    MEMCHECK_MAKE_MEM_NOACCESS = 0x4d430000,
};

// ask_valgrind returns Valgrind's answer, or otherwise where there is no Valgrind.
__attribute__((noinline)) static uint64_t ask_valgrind(enum valgrind_request what,
                                                       uintptr_t first,
                                                       uintptr_t second,
                                                       uint64_t otherwise)
{
    const uint64_t request[] = { what, first, second }; // of six, as many as are used
#if defined(__x86_64__)
    __asm__ volatile("rolq $3, %%rdi\n\t"
                     "rolq $13, %%rdi\n\t"
                     "rolq $61, %%rdi\n\t"
                     "rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(otherwise)
                     : "a"(request)
                     : "memory", "cc");
    return otherwise;
#elif defined(__aarch64__)
    register const uint64_t *x4 __asm__("x4") = request;
    register uint64_t x3 __asm__("x3") = otherwise;
    __asm__ volatile("ror x12, x12, #3\n\t"
                     "ror x12, x12, #13\n\t"
                     "ror x12, x12, #51\n\t"
                     "ror x12, x12, #61\n\t"
                     "orr x10, x10, x10"
                     : "+r"(x3)
                     : "r"(x4)
                     : "memory", "cc");
    return x3;
#endif
}

bool crash_is_in_valgrind(void)
{
    return ask_valgrind(RUNNING_ON_VALGRIND, 0, 0, 0) != 0;
}

bool crash_run_natively(machine_child_fn *function)
{
    enum { NO_VALGRIND = 2 };
    int result = (int)ask_valgrind(CLIENT_CALL0, (uintptr_t)function, 0, NO_VALGRIND);
    return (result == NO_VALGRIND ? function(NULL) : result) != 0;
}

void crash_hide_memory(const void *at, size_t bytes)
{
    (void)ask_valgrind(MEMCHECK_MAKE_MEM_NOACCESS, (uintptr_t)at, bytes, 0);
}
