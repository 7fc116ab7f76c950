// SPDX-License-Identifier: Apache-2.0
//
// Logs an error with its stack (docs/backtrace-logging.md). The stack is captured where
// the error happens, which costs about 100 ns; it gets its names only if somebody reads
// it. An error that is logged often has the same number each time.
#include <crashhook/backtrace.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 32, STORE_BYTES = 1 << 20, SEEN = 1024 };

static struct crashhook_backtrace_store *stacks;

// print_stack prints the stack of a number, with names and lines.
static void print_stack(uint32_t number)
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    if (crashhook_backtrace_store_get(stacks, number, &backtrace) != 0)
        return;
    if (crashhook_backtrace_symbolicate(backtrace, NULL,
                                        CRASHHOOK_SYMBOLICATION_DEFAULT, &named) == 0) {
        char *text =
            crashhook_symbolicated_backtrace_format(named, CRASHHOOK_FORMAT_FRIENDLY);
        printf("stack %" PRIu32 ":\n%s\n", number, text != NULL ? text : "");
        free(text);
        crashhook_symbolicated_backtrace_destroy(named);
    }
    crashhook_backtrace_destroy(backtrace);
}

static void log_error(const char *what)
{
    static uint32_t seen[SEEN]; // numbers that were printed
    uint64_t addresses[FRAMES];
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.offset = 1; // not log_error itself
    size_t count = crashhook_backtrace_capture_raw(addresses, FRAMES, &options);
    uint32_t number = crashhook_backtrace_store_add(stacks, addresses, count);
    printf("error: %s [stack %" PRIu32 "]\n", what, number);
    if (seen[number % SEEN] == number)
        return;
    seen[number % SEEN] = number;
    print_stack(number);
}

__attribute__((noinline)) static void read_order(int id)
{
    if (id % 2 != 0)
        log_error("the order has no address");
}

static void read_orders(volatile int count)
{
    for (int id = 0; id < count; id++)
        read_order(id);
}

int main(void)
{
    if (crashhook_backtrace_store_create(STORE_BYTES, &stacks) != 0)
        return 1;
    read_orders(8);
    printf("%zu stack\n", crashhook_backtrace_store_count(stacks));
    crashhook_backtrace_store_destroy(stacks);
    return 0;
}
