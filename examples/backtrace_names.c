// SPDX-License-Identifier: Apache-2.0
//
// A backtrace with functions and lines, inlined calls included, in three lengths.
#include <crashhook/backtrace.h>
#include <stdio.h>
#include <stdlib.h>

static struct crashhook_backtrace *captured;

static void take_picture(void)
{
    if (crashhook_backtrace_capture(NULL, &captured) != 0)
        exit(1);
}

static inline __attribute__((always_inline)) void visit_garden(void)
{
    take_picture();
}

__attribute__((noinline)) static void visit_house(void)
{
    visit_garden();
    __asm__ volatile(""); // prevents a tail call, which would drop this frame
}

int main(void)
{
    struct crashhook_symbolicated_backtrace *named;
    visit_house();
    if (crashhook_backtrace_symbolicate(captured, NULL, CRASHHOOK_SYMBOLICATION_DEFAULT,
                                        &named) != 0)
        return 1;
    for (int preset = CRASHHOOK_FORMAT_FRIENDLY; preset <= CRASHHOOK_FORMAT_FULL;
         preset++) {
        char *text = crashhook_symbolicated_backtrace_format(
            named, (enum crashhook_format_preset)preset);
        printf("%s\n", text != NULL ? text : "");
        free(text);
    }
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(captured);
    return 0;
}
