// SPDX-License-Identifier: Apache-2.0
//
// Unwind sections of images that have no table of them in memory: their files say
// where .eh_frame is, and have .debug_frame, which is not loaded at all.
//
// Nearly every image has its table (.eh_frame_hdr), and then no file is opened. A file
// counts only where its build ID is the image's; it is copied, so that nobody can
// shorten it under us.
#pragma once
#include "agent/images/images.h"
#include "formats/elf.h"

enum { IMAGE_FRAMES_FILE_MAX = 64 << 20 }; // larger files are left alone

// image_frames_find fills in what the files of images of this machine's processes add
// to images->unwind. The bytes stay until images_deinit.
void image_frames_find(struct target_images *images);

// image_frames_take fills in what file, which is the image's and stays, adds to unwind.
void image_frames_take(const struct elf_view *file, const struct target_image *image,
                       struct unwind_image *unwind);
