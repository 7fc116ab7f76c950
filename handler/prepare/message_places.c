// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/message_places.h"

#include <stddef.h>

#include "handler/machine/machine.h"

// __cxa_get_globals is libstdc++'s, in programs that have it (Itanium C++ ABI, section
// 2.2.2). It only returns the address of the calling thread's state, so it may be
// called before any constructor has run.
extern void *__cxa_get_globals(void) __attribute__((weak)); // the ABI's name

// terminate is std::terminate, which a throw without a matching handler ends in.
extern void terminate(void) __asm__("_ZSt9terminatev") __attribute__((weak));

extern void set_terminate(void) __asm__("_ZSt13set_terminatePFvvE")
    __attribute__((weak));

#if !defined(__GLIBC__)
// __assert_fail is musl's, in programs that use assert.
extern void __assert_fail(const char *, const char *, int, const char *)
    __attribute__((weak));
#endif

extern void get_terminate(void) __asm__("_ZSt13get_terminatev") __attribute__((weak));

// On x86-64 glibc keeps the thread's descriptor from the thread pointer on; it is
// larger than this.
enum { DESCRIPTOR_WORDS = 128 };

// find_thread_slot looks for globals in the C library's descriptor of the thread:
// libc++abi before LLVM 19 has them on the heap and keeps the pointer by
// pthread_setspecific. 0: they are not there.
static int64_t find_thread_slot(uint64_t pointer, uint64_t globals)
{
#if defined(__x86_64__) && defined(__GLIBC__)
    const uint64_t *words = (const uint64_t *)(uintptr_t)pointer;
    for (int64_t i = 1; i < DESCRIPTOR_WORDS; i++) {
        if (words[i] == globals)
            return i * (int64_t)sizeof(words[0]);
    }
#else
    (void)pointer;
    (void)globals;
#endif
    return 0;
}

void message_places_find(struct runtime_places *out)
{
    *out =
        (struct runtime_places){ .abort_message = (uintptr_t)ch_abort_message_place() };
    out->sanitizer_report = sanitizer_report_place();
#if !defined(__GLIBC__)
    out->assert_fail = (uintptr_t)__assert_fail;
#endif
    if (__cxa_get_globals == NULL || terminate == NULL)
        return;
    out->terminate = (uintptr_t)terminate;
    out->set_terminate = (uintptr_t)set_terminate;
    out->get_terminate = (uintptr_t)get_terminate;
    uint64_t globals = (uintptr_t)__cxa_get_globals();
    uint64_t pointer = machine_thread_pointer();
    if (globals == 0 || pointer == 0)
        return;
    out->exception_slot = find_thread_slot(pointer, globals);
    if (out->exception_slot == 0)
        out->exception_globals = (int64_t)(globals - pointer);
}
