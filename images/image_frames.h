// SPDX-License-Identifier: Apache-2.0
//
// Unwind sections that are not found in memory. The image's file tells where .eh_frame
// is in an image without a table of it, and has .debug_frame, which is never loaded.
//
// Nearly every image has its table (.eh_frame_hdr), and covers its code by it; then no
// file is opened. Code of C that was compiled without asynchronous unwind tables, and
// Go's, is in .debug_frame alone, beside the tables of other code. It is read when the
// walk comes to such code. A file is used only where its build ID is the image's; it is
// copied, so that truncating it cannot fault us.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "formats/debug/elf.h"
#include "images/images.h"

enum {
    IMAGE_FRAMES_FILE_MAX = 64 << 20, // larger files are not read
    IMAGE_FRAMES_DELETED_MAX = 8,
};

// image_frames_open views the file of an image on this machine, which it reads on first
// use; the bytes stay until images_deinit. CH_ERR_NOT_FOUND: there is none, it is too
// large, or it is of another build.
CH_CHECKED enum ch_status image_frames_open(struct target_image *image,
                                            struct elf_view *out);

// image_frames_find adds what the files of images on this machine have to
// images->unwind. The bytes stay until images_deinit.
//
// It first opens the files of images of process pid that were deleted since they were
// mapped, or are in memory alone (memfd_create), so that they can be read: at most
// IMAGE_FRAMES_DELETED_MAX. images_deinit closes them.
void image_frames_find(struct target_images *images, pid_t pid);

// image_frames_take adds where .eh_frame is according to file, which must be the
// image's own.
void image_frames_take(const struct elf_view *file, const struct target_image *image,
                       struct unwind_image *unwind);

// image_frames_serve has space ask for .debug_frame in the files of images, which must
// be the images that space was made over, and outlive it.
void image_frames_serve(struct target_images *images, struct unwind_space *space);

enum { DEBUG_FRAME_MAX_BYTES = 256 << 20 };

// The .debug_frame of an ELF file, in the forms that it comes in: as it is, compressed
// as the gABI describes it, and under the older name .zdebug_frame; and the bytes of
// other debug sections, which have the same forms.

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
