// SPDX-License-Identifier: Apache-2.0
//
// A memory_reader is the target's address space, wherever its bytes really are: a
// stopped process, a core file, a saved stack, a test's array.
//
// Code that follows pointers in the target takes a `const struct memory_reader *` and
// nothing else, so it runs unchanged against a live crash, a core file or a fuzzer. A
// source implements one function. It may give fewer bytes than requested where a hole
// begins; it never reads across the hole and never waits for the target.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// memory_read_fn copies up to length bytes from address in the target and returns how
// many it copied: 0 when address itself cannot be read.
typedef size_t memory_read_fn(void *source, uint64_t address, void *to, size_t length);

// memory_fetch_fn receives places that will be read soon, so that a source may read
// many of them with one call.
typedef void memory_fetch_fn(void *source, const uint64_t *addresses, size_t count);

// A memory_window is a part of the target that has been copied. The source moves it as
// it is read, so it is looked at anew for each word.
struct memory_window {
    const uint8_t *bytes;
    uint64_t address;
    size_t size;
};

// A memory_reader is passed by pointer and owns nothing: the source must outlive it.
struct memory_reader {
    memory_read_fn *read;
    void *source;
    memory_fetch_fn *fetch;             // NULL: it would not help
    const struct memory_window *window; // what needs no call of read; NULL: nothing
    bool big_endian;                    // the target's byte order
    bool narrow; // the target is a 32-bit program: its words have 4 bytes
};

// memory_read fills all length bytes at to, or returns CH_ERR_FAULT and leaves to
// unspecified. A range that wraps past 2^64 is a fault.
CH_CHECKED enum ch_status memory_read(const struct memory_reader *reader,
                                      uint64_t address, void *to, size_t length);

// memory_read_part fills as much of length bytes as can be read before a hole, and
// returns how many these are. One call of the source may stop at the end of a page.
size_t memory_read_part(const struct memory_reader *reader, uint64_t address, void *to,
                        size_t length);

// memory_fetch announces places that will be read soon to the source.
static inline void memory_fetch(const struct memory_reader *reader,
                                const uint64_t *addresses, size_t count)
{
    if (reader->fetch != NULL)
        reader->fetch(reader->source, addresses, count);
}

// memory_read_word reads one word of the target, in its byte order.
CH_CHECKED enum ch_status memory_read_word(const struct memory_reader *reader,
                                           uint64_t address, uint64_t *out);

// memory_read_string copies the string at address, at most size - 1 bytes of it, and
// always terminates to. CH_ERR_TRUNCATED: it was longer than that.
CH_CHECKED enum ch_status memory_read_string(const struct memory_reader *reader,
                                             uint64_t address, char *to, size_t size);
