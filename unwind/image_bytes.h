// SPDX-License-Identifier: Apache-2.0
//
// Local copies of a target's bytes, for parsers, which never see a memory_reader.
//
// An unwinder copies each image's unwind section once. The caller's limit bounds what
// an image can make us allocate.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"

// image_bytes_copy copies the bytes from address up to the first hole, at most limit,
// into a new allocation. CH_ERR_FAULT: not one byte could be read.
CH_CHECKED enum ch_status image_bytes_copy(const struct memory_reader *memory,
                                           uint64_t address, uint64_t limit,
                                           uint8_t **out, size_t *out_size);
