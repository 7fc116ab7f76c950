// SPDX-License-Identifier: Apache-2.0
#include "unwind/libunwind_peek.h"

#include <errno.h>
#include <libunwind-ptrace.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Only aligned words are read, so that none crosses the end of a mapping.
enum { WORD = 8 };

struct libunwind_peek {
    void *thread; // libunwind-ptrace's handle
};

enum ch_status libunwind_peek_create(pid_t tid, struct libunwind_peek **out)
{
    struct libunwind_peek *peek = calloc(1, sizeof(*peek));
    if (peek != NULL)
        peek->thread = _UPT_create(tid);
    if (peek == NULL || peek->thread == NULL) {
        free(peek);
        return CH_ERR_NO_MEMORY;
    }
    *out = peek;
    return CH_OK;
}

void libunwind_peek_destroy(struct libunwind_peek *peek)
{
    if (peek == NULL)
        return;
    _UPT_destroy(peek->thread);
    free(peek);
}

ssize_t libunwind_peek_read(struct libunwind_peek *peek, uint64_t address, void *to,
                            size_t length)
{
    uint8_t *bytes = to;
    size_t done = 0;
    while (done < length) {
        uint64_t at = address + done;
        unw_word_t word;
        errno = 0;
        if (_UPT_access_mem(NULL, at - at % WORD, &word, 0, peek->thread) != 0)
            break;
        size_t count = WORD - at % WORD;
        if (count > length - done)
            count = length - done;
        memcpy(bytes + done, (const uint8_t *)&word + at % WORD, count);
        done += count;
    }
    if (done == 0 && errno == ESRCH)
        errno = EPERM; // ptrace says ESRCH of a thread that is not stopped
    // Any other error means a hole.
    bool refused = done == 0 && (errno == EPERM || errno == ENOSYS);
    return refused ? -1 : (ssize_t)done;
}
