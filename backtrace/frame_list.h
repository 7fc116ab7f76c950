// SPDX-License-Identifier: Apache-2.0
//
// Lists of frames as a whole, for what cannot be done one frame at a time: encoding an
// array of them, appending to a backtrace, printing one.
#pragma once
#include "backtrace/stored.h"
#include "base/text.h"

// frame_list_encode gives count frames in Compact Backtrace Format; the caller frees
// them. CH_ERR_MALFORMED: they cannot be part of one backtrace.
CH_CHECKED enum ch_status frame_list_encode(const struct crashhook_frame *frames,
                                            size_t count, uint8_t **out,
                                            size_t *out_size);

// frame_list_decode gives the frames of backtrace as an array with room for extra more;
// the caller frees it.
CH_CHECKED enum ch_status frame_list_decode(const struct crashhook_backtrace *backtrace,
                                            size_t extra, struct crashhook_frame **out,
                                            size_t *out_count);

// frame_list_number_after gives the number of the frame after frame, which has the
// given number.
uint64_t frame_list_number_after(uint64_t number, const struct crashhook_frame *frame);

// frame_list_describe_images appends the images as lines, which end a description.
void frame_list_describe_images(const struct crashhook_images *images,
                                struct text *out);
