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

extern void get_terminate(void) __asm__("_ZSt13get_terminatev") __attribute__((weak));

// What glibc keeps of a thread, on x86-64 from the thread pointer on, is larger.
enum { DESCRIPTOR_WORDS = 128 };

// find_thread_slot looks for globals in what the C library keeps of the thread:
// libc++abi has them on the heap, behind pthread_getspecific. 0: they are not there.
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
    if (globals == 0 || pointer == 0)
        return;
    out->exception_slot = find_thread_slot(pointer, globals);
    if (out->exception_slot == 0)
        out->exception_globals = (int64_t)(globals - pointer);
    else
        out->get_terminate = (uintptr_t)get_terminate;
}
