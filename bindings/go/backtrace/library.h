// SPDX-License-Identifier: Apache-2.0
//
// The functions of libcrashhook-backtrace as Go calls them. library_load loads it once
// and returns 0 where that is not possible; no other function may be called then. Those
// that can fail return an errno value; strings that they return are freed by the
// caller.
#pragma once
#include <stddef.h>
#include <stdint.h>

// library_frame is one frame of a symbolicated backtrace, which owns the
// strings. Those that are not known are NULL.
struct library_frame {
    uint64_t address; // 0: frames were left out
    const char *function;
    const char *file;
    const char *image;
    uint32_t line; // 0: not known
    int is_inline;
};

int library_load(void);
int library_from_addresses(const uint64_t *addresses, size_t count, void **out);
int library_symbolicate(const void *backtrace, void **out);
void library_destroy(void *backtrace);
void library_destroy_named(void *named);
size_t library_count(const void *named);
void library_frame_at(const void *named, size_t index, struct library_frame *out);
char *library_format(const void *named);
char *library_to_json(const void *named);

// library_trace and library_context are those of runtime.SetCgoTraceback. The former is
// async-signal-safe.
void library_trace(void *argument);
void library_context(void *argument);
