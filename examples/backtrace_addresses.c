// SPDX-License-Identifier: Apache-2.0
//
// Addresses gathered in some other way, here by glibc, become a backtrace.
#include <crashhook/backtrace.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    enum { MOST = 32 };
    void *found[MOST];
    uint64_t addresses[MOST];
    struct crashhook_backtrace *made;
    struct crashhook_symbolicated_backtrace *named;

    int count = backtrace(found, MOST);
    for (int i = 0; i < count; i++)
        addresses[i] = (uintptr_t)found[i];
    if (crashhook_backtrace_from_addresses(addresses, (size_t)count,
                                           CRASHHOOK_FRAME_RETURN_ADDRESS, &made) != 0)
        return 1;
    if (crashhook_backtrace_symbolicate(made, NULL, CRASHHOOK_SYMBOLICATION_DEFAULT,
                                        &named) != 0)
        return 1;
    for (size_t i = 0; i < crashhook_symbolicated_backtrace_count(named); i++) {
        char *line = crashhook_symbolicated_frame_description(
            crashhook_symbolicated_backtrace_at(named, i));
        puts(line != NULL ? line : "");
        free(line);
    }
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(made);
    return 0;
}
