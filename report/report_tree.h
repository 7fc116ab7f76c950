// SPDX-License-Identifier: Apache-2.0
//
// Looking into a report: members by their type, the frames of a thread, what a frame
// is.
//
// The functions take any tree: what is missing or of another type is NULL, false or a
// fallback. Frames are where readers see them, in their places (report_open.h).
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// report_read_address reads text such as "0x7f00", without padding, to out.
bool report_read_address(const char *text, uint64_t *out);

// report_string is the string member key of an object, or NULL. Any arguments may be
// NULL or of another type, here and below.
const char *report_string(const json_t *object, const char *key);

// report_integer is the integer member key, or fallback.
int64_t report_integer(const json_t *object, const char *key, int64_t fallback);

// report_flag is true where member key is true.
bool report_flag(const json_t *object, const char *key);

// report_address reads the member key, a string such as "0x7f00", to out.
bool report_address(const json_t *object, const char *key, uint64_t *out);

// report_unsaid_message is the message that a crash came with, or NULL where there is
// none or the summary says it already.
const char *report_unsaid_message(const json_t *crash);

// report_then appends what the program's own handler did about the crash, a sentence
// without its full stop, or nothing where there was none.
void report_then(const json_t *crash, struct text *out);

// report_crashed_thread is the thread that crashed, or NULL in a report of a live
// process.
json_t *report_crashed_thread(const json_t *report);

// report_frames is the thread's array of frames, or NULL.
json_t *report_frames(const json_t *thread);

// report_frame_is_code is true for frames that stand for code: no omit and no trunc.
bool report_frame_is_code(const json_t *frame);

// report_frame_is_system: the frame is in code of the system, as it says itself or as
// the path of its image does.
bool report_frame_is_system(const json_t *report, const json_t *frame);

// report_image is the image that the frame lies in, or NULL.
json_t *report_image(const json_t *report, const json_t *frame);
