// SPDX-License-Identifier: Apache-2.0
//
// Unwind sections of images that have no table of them in memory. The image's file
// tells where .eh_frame is, and has .debug_frame, which is never loaded.
//
// Nearly every image has its table (.eh_frame_hdr), and then no file is opened. A file
// is used only where its build ID is the image's; it is copied, so that truncating it
// cannot fault us.
#pragma once
#include "agent/images/images.h"
#include "formats/elf.h"

enum { IMAGE_FRAMES_FILE_MAX = 64 << 20 }; // larger files are not read

// image_frames_open views the file of an image on this machine, which it reads on first
// use; the bytes stay until images_deinit. CH_ERR_NOT_FOUND: there is none, it is too
// large, or it is of another build.
CH_CHECKED enum ch_status image_frames_open(struct target_image *image,
                                            struct elf_view *out);

// image_frames_find adds what the files of images on this machine have to
// images->unwind. The bytes stay until images_deinit.
void image_frames_find(struct target_images *images);

// image_frames_take adds what file has to unwind; file must be the image's own and
// outlive unwind.
void image_frames_take(const struct elf_view *file, const struct target_image *image,
                       struct unwind_image *unwind);
