// SPDX-License-Identifier: Apache-2.0
#include "handler/sanitizer_runtime.h"

#include <stddef.h>
#include <stdint.h>

#include "handler/crash.h"

extern void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));

extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

void sanitizer_start(void)
{
    if (__tsan_init != NULL)
        __tsan_init();
    if (__msan_init != NULL)
        __msan_init();
}

static void before_end(void)
{
    crash_report_exit(-1, (uintptr_t)__builtin_frame_address(0));
}

void sanitizer_end_note(void)
{
    // This only stores the function, which is safe before the runtime is initialized.
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(before_end);
}
