// SPDX-License-Identifier: Apache-2.0
//
// A copy of AddressSanitizer's report that the agent can read: the runtime passes each
// report's text to a callback before it ends the program.
#include <stddef.h>
#include <stdint.h>

#include "handler/prepare/message_places.h"

// __asan_set_error_report_callback is the runtime's (sanitizer/asan_interface.h), in
// programs built with it.
extern void __asan_set_error_report_callback(void (*)(const char *))
    __attribute__((weak));

static char report[2048];

// keep_sanitizer_report copies the first report, as far as it fits. Its caller holds
// the runtime's locks, so nothing of the runtime is called here.
static void keep_sanitizer_report(const char *text)
{
    if (report[0] != 0)
        return;
    for (size_t i = 0; i + 1 < sizeof(report) && text[i] != 0; i++)
        report[i] = text[i];
}

uint64_t sanitizer_report_place(void)
{
    if (__asan_set_error_report_callback == NULL)
        return 0;
    __asan_set_error_report_callback(keep_sanitizer_report);
    return (uintptr_t)report;
}
