// SPDX-License-Identifier: Apache-2.0
#include "report/file/report_error.h"

#include <stdarg.h>
#include <stdio.h>

void report_error_set(struct report_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
}

void report_error_within(struct report_error *error, const char *where, size_t index)
{
    struct report_error inner = *error;
    report_error_set(error, "%s[%zu].%.200s", where, index, inner.text);
}
