// SPDX-License-Identifier: Apache-2.0
//
// Access to the parts of a report: members by their type, the frames of a thread, what
// a frame is.
//
// The functions accept any tree: what is missing or has another type reads as NULL,
// false or a fallback. Frames are in their places, where readers see them
// (report_open.h).
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// report_read_address parses text such as "0x7f00", without padding.
bool report_read_address(const char *text, uint64_t *out);

// report_string is the string member key of an object, or NULL. Any arguments may be
// NULL or of another type, here and below.
const char *report_string(const json_t *object, const char *key);

// report_integer is the integer member key, or fallback.
int64_t report_integer(const json_t *object, const char *key, int64_t fallback);

// report_flag is true if member key is true.
bool report_flag(const json_t *object, const char *key);

// report_address parses the member key, a string such as "0x7f00".
bool report_address(const json_t *object, const char *key, uint64_t *out);

// report_unsaid_message is the message of a crash, or NULL if there is none or the
// summary contains it.
const char *report_unsaid_message(const json_t *crash);

// report_then appends what the program's own handler did after the crash, a sentence
// without its full stop, or nothing if it had no handler.
void report_then(const json_t *crash, struct text *out);

// report_crashed_thread is the thread that crashed, or NULL in a report of a live
// process.
json_t *report_crashed_thread(const json_t *report);

// report_program is the name that the program was started by, where the kernel and its
// first argument agree on it: a file may have many names (redis-server is a link to
// redis-check-rdb). Otherwise it is that of the file, or NULL.
const char *report_program(const json_t *report);

// report_frames is the thread's array of frames, or NULL.
json_t *report_frames(const json_t *thread);

// report_exception_stack is the frames, innermost first, that a language gave of the
// exception that ended the program; NULL: it gave none.
json_t *report_exception_stack(const json_t *report);

// report_frame_is_code is true for a frame that stands for code, and not for omit and
// trunc.
bool report_frame_is_code(const json_t *frame);

// report_same_place is true for two frames of one function at one address, as calls of
// a function by itself make them.
bool report_same_place(const json_t *frame, const json_t *other);

// report_frame_file is the source file of a frame's code, or NULL. Code without a line
// is between calls that were inlined, and the file is that of one of these.
const char *report_frame_file(const json_t *frame);

// report_frame_is_interpreted is true for a frame that an interpreter ran in the native
// frame after it.
bool report_frame_is_interpreted(const json_t *frame);

// report_frame_mark is what readers say after the name of a frame that is no plain
// function: its language, or that it was inlined. NULL: nothing.
const char *report_frame_mark(const json_t *frame);

// report_exception_write appends what a thread was dealing with in its language, as a
// sentence without its full stop; nothing if there was no exception.
void report_exception_write(const json_t *thread, struct text *out);

// report_image is the image of the frame, or NULL.
json_t *report_image(const json_t *report, const json_t *frame);
