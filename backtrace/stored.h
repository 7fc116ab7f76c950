// SPDX-License-Identifier: Apache-2.0
//
// How a crashhook_backtrace is stored: frames in Compact Backtrace Format, images by
// reference. All code that captures, reads or changes a backtrace creates it here.
#pragma once
#include "backtrace/image_list.h"
#include "base/status.h"
#include "crashhook/backtrace.h"
#include "unwind/backtrace_limit.h"

// STORED_ARCHITECTURE_SIZE bounds the architecture's name, NUL included.
enum { STORED_ARCHITECTURE_SIZE = 64 };

struct crashhook_backtrace {
    char architecture[STORED_ARCHITECTURE_SIZE];
    unsigned width;                  // of addresses, in bits
    struct crashhook_images *images; // NULL: not captured
    size_t cbf_size;
    uint8_t *cbf;     // in stored, or allocated
    uint8_t stored[]; // the bytes that it was created with
};

// STORED_NATIVE is the name of the architecture this code runs on, as Swift spells it.
#if defined(__aarch64__)
#define STORED_NATIVE "arm64"
#else
#define STORED_NATIVE "x86_64"
#endif

// stored_replace sets the bytes; it takes cbf, which the caller allocated.
void stored_replace(struct crashhook_backtrace *backtrace, uint8_t *cbf,
                    size_t cbf_size);

// stored_create makes a backtrace. It copies the cbf_size bytes of cbf and takes a
// reference to images, which may be NULL. CH_ERR_LIMIT: the name is too long.
CH_CHECKED enum ch_status stored_create(const char *architecture, const void *cbf,
                                        size_t cbf_size,
                                        struct crashhook_images *images,
                                        struct crashhook_backtrace **out);

// stored_from_walk makes a backtrace of the native architecture from the frames that
// limit kept.
CH_CHECKED enum ch_status stored_from_walk(const struct backtrace_limit *limit,
                                           struct crashhook_images *images,
                                           struct crashhook_backtrace **out);

// STORED_ADDRESSES_MAX is how many frames stored_from_addresses takes.
enum { STORED_ADDRESSES_MAX = 256 };

// stored_from_addresses makes a backtrace of the native architecture from count
// addresses, whose kinds are values of enum unwind_kind. On success it takes the
// caller's reference to images.
CH_CHECKED enum ch_status stored_from_addresses(const uint64_t *addresses,
                                                const uint8_t *kinds, size_t count,
                                                struct crashhook_images *images,
                                                struct crashhook_backtrace **out);

// stored_errno gives the errno value that the API returns for status.
int stored_errno(enum ch_status status);
