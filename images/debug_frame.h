// SPDX-License-Identifier: Apache-2.0
//
// The .debug_frame of an ELF file, in the forms that it comes in: as it is, compressed
// as the gABI describes it, and under the older name .zdebug_frame; and the bytes of
// other debug sections, which have the same forms.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "formats/debug/elf.h"

enum { DEBUG_FRAME_MAX_BYTES = 256 << 20 };

// debug_frame_find finds the section by the file's section headers. Its own bytes need
// not be there yet. CH_ERR_NOT_FOUND: the file has none.
CH_CHECKED enum ch_status debug_frame_find(const struct elf_view *file,
                                           struct elf_section *out);

// debug_frame_copy decompresses a debug section and gives its bytes, to be freed.
// CH_ERR_UNSUPPORTED: it is compressed in another way than by zlib or zstd.
// CH_ERR_LIMIT: it decompresses to more than limit bytes.
CH_CHECKED enum ch_status debug_frame_copy(const struct elf_view *file,
                                           const struct elf_section *section,
                                           size_t limit, uint8_t **out,
                                           size_t *out_size);
