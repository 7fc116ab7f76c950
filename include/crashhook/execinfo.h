// SPDX-License-Identifier: Apache-2.0
//
// <execinfo.h> for a C library that has none, such as musl: include this instead of it
// and link libcrashhook-backtrace. The functions are inline; the library exports none
// of these names, so it never replaces those of another library.
//
// backtrace is async-signal-safe and never allocates (crashhook_backtrace_capture_raw).
// backtrace_symbols_fd is async-signal-safe too, and writes the format of
// crashhook_backtrace_write. backtrace_symbols also knows functions that no symbol
// table for dynamic linking has. All may be called from any thread.
#pragma once
#include "crashhook/backtrace.h"

#ifdef __cplusplus
extern "C" {
#endif

// backtrace is that of glibc: at most size return addresses, the
// first one in the calling function. It returns their number.
static inline __attribute__((always_inline, unused)) int backtrace(void **buffer,
                                                                   int size)
{
    if (size <= 0)
        return 0;
    return (int)crashhook_backtrace_capture_raw((uint64_t *)(void *)buffer,
                                                (size_t)size, NULL);
}

// backtrace_symbols is that of glibc: the caller frees the array. NULL:
// no memory.
static inline __attribute__((unused)) char **backtrace_symbols(void *const *buffer,
                                                               int size)
{
    return crashhook_backtrace_symbols(buffer, size);
}

// backtrace_symbols_fd is that of glibc, but for the format.
static inline __attribute__((unused)) void backtrace_symbols_fd(void *const *buffer,
                                                                int size, int fd)
{
    if (size > 0)
        (void)crashhook_backtrace_write_addresses(
            fd, (const uint64_t *)(const void *)buffer, (size_t)size);
}

#ifdef __cplusplus
}
#endif
