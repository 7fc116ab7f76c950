// SPDX-License-Identifier: Apache-2.0
//
// Local copies of a target's bytes, for parsers, which never see a memory_reader.
//
// Whoever unwinds an image copies its unwind section once; the caller's limit is what
// an image may make us allocate.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"

// image_bytes_copy copies the bytes from address on, up to the first hole and at most
// limit, into an allocation of its own. CH_ERR_FAULT: not one could be read.
CH_CHECKED enum ch_status image_bytes_copy(const struct memory_reader *memory,
                                           uint64_t address, uint64_t limit,
                                           uint8_t **out, size_t *out_size);
