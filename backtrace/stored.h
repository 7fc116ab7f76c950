// SPDX-License-Identifier: Apache-2.0
//
// How a crashhook_backtrace is stored: frames as Compact Backtrace Format, images by
// reference. Whoever captures, reads or changes one makes it here.
#pragma once
#include "backtrace/image_list.h"
#include "base/status.h"
#include "crashhook/backtrace.h"
#include "unwind/backtrace_limit.h"

// STORED_ARCHITECTURE_SIZE bounds the name of the machine, NUL included.
enum { STORED_ARCHITECTURE_SIZE = 64 };

struct crashhook_backtrace {
    char architecture[STORED_ARCHITECTURE_SIZE];
    unsigned width;                  // of addresses, in bits
    struct crashhook_images *images; // NULL: not captured
    uint8_t *cbf;
    size_t cbf_size;
};

// STORED_NATIVE is the name of the machine this code runs on, as Swift spells it.
#if defined(__aarch64__)
#define STORED_NATIVE "arm64"
#else
#define STORED_NATIVE "x86_64"
#endif

// stored_create makes a backtrace of cbf_size bytes, which it copies; it takes a
// reference to images, which may be NULL. CH_ERR_LIMIT: the name is too long.
CH_CHECKED enum ch_status stored_create(const char *architecture, const void *cbf,
                                        size_t cbf_size,
                                        struct crashhook_images *images,
                                        struct crashhook_backtrace **out);

// stored_from_walk makes a backtrace of this machine of the frames that limit kept.
CH_CHECKED enum ch_status stored_from_walk(const struct backtrace_limit *limit,
                                           struct crashhook_images *images,
                                           struct crashhook_backtrace **out);

// stored_width is the address width that CBF data has. CH_ERR_UNSUPPORTED: none.
CH_CHECKED enum ch_status stored_width(const void *cbf, size_t cbf_size, unsigned *out);

// stored_errno is what the API returns for status.
int stored_errno(enum ch_status status);
