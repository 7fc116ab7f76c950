// SPDX-License-Identifier: Apache-2.0
//
// What AddressSanitizer found, kept where the agent can read it: its runtime hands over
// each report's text before it ends the program.
#include <stddef.h>
#include <stdint.h>

#include "handler/message_places.h"

// The runtime's (sanitizer/asan_interface.h), in programs that are built with it.
extern void __asan_set_error_report_callback(void (*)(const char *))
    __attribute__((weak));

static char report[2048];

// keep_sanitizer_report copies the first report, as far as it fits. Whatever found the
// error holds the runtime's locks, and nothing here is of the runtime's.
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
