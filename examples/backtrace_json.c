// SPDX-License-Identifier: Apache-2.0
//
// A backtrace is sent as JSON and symbolized where it arrives.
#include <crashhook/backtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *send_backtrace(void)
{
    struct crashhook_backtrace *backtrace;
    if (crashhook_backtrace_capture(NULL, &backtrace) != 0)
        return NULL;
    char *json = crashhook_backtrace_to_json(backtrace);
    crashhook_backtrace_destroy(backtrace);
    return json;
}

int main(void)
{
    struct crashhook_backtrace *received;
    struct crashhook_symbolicated_backtrace *named;
    char *json = send_backtrace();
    if (json == NULL || crashhook_backtrace_from_json(json, strlen(json), &received))
        return 1;
    puts(json);
    if (crashhook_backtrace_symbolicate(received, NULL, CRASHHOOK_SYMBOLICATION_DEFAULT,
                                        &named) != 0)
        return 1;
    char *text =
        crashhook_symbolicated_backtrace_format(named, CRASHHOOK_FORMAT_FRIENDLY);
    puts(text != NULL ? text : "");
    free(text);
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(received);
    free(json);
    return 0;
}
