// SPDX-License-Identifier: Apache-2.0
#include "handler/message_places.h"

#include <stddef.h>

#include "handler/machine.h"

// libstdc++'s, in programs that have it (Itanium C++ ABI, section 2.2.2). It does no
// more than say where the calling thread's state is, so it may run before any
// constructor.
extern void *__cxa_get_globals(void) __attribute__((weak)); // the ABI's name

// std::terminate, which a throw that finds no handler ends in.
extern void terminate(void) __asm__("_ZSt9terminatev") __attribute__((weak));

extern void set_terminate(void) __asm__("_ZSt13set_terminatePFvvE")
    __attribute__((weak));

#if !defined(__GLIBC__)
// musl's, in programs that assert something.
extern void __assert_fail(const char *, const char *, int, const char *)
    __attribute__((weak));
#endif

void message_places_find(struct message_places *out)
{
    *out = (struct message_places){ .abort_message = (uintptr_t)abort_message_place() };
    out->sanitizer_report = sanitizer_report_place();
#if !defined(__GLIBC__)
    out->assert_fail = (uintptr_t)__assert_fail;
#endif
    if (__cxa_get_globals == NULL || terminate == NULL)
        return;
    out->terminate = (uintptr_t)terminate;
    out->set_terminate = (uintptr_t)set_terminate;
    uint64_t globals = (uintptr_t)__cxa_get_globals();
    uint64_t pointer = machine_thread_pointer();
    if (globals != 0 && pointer != 0)
        out->exception_globals = (int64_t)(globals - pointer);
}
