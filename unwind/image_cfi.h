// SPDX-License-Identifier: Apache-2.0
//
// The DWARF call frame information of a target's images.
//
// Where there is a .eh_frame_hdr, its table is searched in the target's memory and only
// the entries found are fetched, so that the cost does not depend on the image's size.
// Otherwise the section is copied and its entries are sorted, once. .debug_frame is
// used for code that nothing else covers.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/debug/cfi.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

struct image_cfi;

// image_cfi_create prepares tables for count images; the images must outlive it.
CH_CHECKED enum ch_status image_cfi_create(const struct unwind_arch *arch,
                                           const struct memory_reader *memory,
                                           const struct unwind_image *images,
                                           size_t count, struct image_cfi **out);
void image_cfi_destroy(struct image_cfi *cfi);

// image_cfi_set_debug_frames sets the function that is called for an image's
// .debug_frame when the image's other rules do not cover a pc.
void image_cfi_set_debug_frames(struct image_cfi *cfi, unwind_debug_frame_fn *find,
                                void *context);

// image_cfi_find gives the rules at pc, which is in images[index]. Expressions in them
// stay valid until the next call. CH_ERR_NOT_FOUND: nothing covers pc.
CH_CHECKED enum ch_status image_cfi_find(struct image_cfi *cfi, size_t index,
                                         uint64_t pc, struct unwind_row *out);

// image_cfi_processor is what rules have to know of the architecture.
struct cfi_processor image_cfi_processor(const struct unwind_arch *arch);

// Local copies of a target's bytes, for parsers, which never see a memory_reader.
//
// An unwinder copies each image's unwind section once. The caller's limit bounds what
// an image can make us allocate.

// image_bytes_copy copies the bytes from address up to the first hole, at most limit,
// into a new allocation. CH_ERR_FAULT: not one byte could be read.
CH_CHECKED enum ch_status image_bytes_copy(const struct memory_reader *memory,
                                           uint64_t address, uint64_t limit,
                                           uint8_t **out, size_t *out_size);
