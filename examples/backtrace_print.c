// SPDX-License-Identifier: Apache-2.0
//
// Where am I? A function that is called from two places prints which one it was.
#include <crashhook/backtrace.h>
#include <stdio.h>
#include <stdlib.h>

static void log_caller(const char *what)
{
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    struct crashhook_backtrace *backtrace;
    options.offset = 1; // not log_caller itself
    if (crashhook_backtrace_capture(&options, &backtrace) != 0)
        return;
    char *text = crashhook_backtrace_description(backtrace);
    printf("%s\n%s\n\n", what, text != NULL ? text : "");
    free(text);
    crashhook_backtrace_destroy(backtrace);
}

static void open_door(void)
{
    log_caller("the door opens");
}

static void close_door(void)
{
    log_caller("the door closes");
}

int main(void)
{
    open_door();
    close_door();
    return 0;
}
