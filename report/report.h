// SPDX-License-Identifier: Apache-2.0
//
// A report as a value: the JSON of docs/report.schema.json as a jansson tree, so that
// keys this version does not know pass through untouched.
//
// Reports come from files anybody may have written and over the network: report_parse
// bounds their size, refuses duplicate keys and checks the shape of every member that
// the functions below and the renderers rely on, so that who holds a parsed report need
// not check again what is there; what may be missing gives NULL. Users: symbolizer,
// upload, cli, collector. The raw report is written without a tree by report_writer.h.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "report/fingerprint.h"

// REPORT_MAX_BYTES is the largest report that is read.
enum { REPORT_MAX_BYTES = 64 << 20 };

// A report_error says in one line why a report was refused: "threads[2].tid is not a
// number".
struct report_error {
    char text[256];
};

// report_parse reads a report; the caller owns *out (json_decref). On failure error
// says why. CH_ERR_MALFORMED: no JSON, or not of this shape. CH_ERR_UNSUPPORTED:
// another schema. CH_ERR_LIMIT: larger than REPORT_MAX_BYTES.
CH_CHECKED enum ch_status report_parse(const char *bytes, size_t size, json_t **out,
                                       struct report_error *error);

// report_read reads a report from fd up to its end.
CH_CHECKED enum ch_status report_read(int fd, json_t **out, struct report_error *error);

// report_parse_shared and report_read_shared do the same, and have frames that are
// equal be one value of the tree: much cheaper where many threads are in the same
// place. Who changes a frame takes it with report_frame_own.
CH_CHECKED enum ch_status report_parse_shared(const char *bytes, size_t size,
                                              json_t **out, struct report_error *error);
CH_CHECKED enum ch_status report_read_shared(int fd, json_t **out,
                                             struct report_error *error);

// report_frame_own gives frame number index of an array of frames, made a value of its
// own where others share it. NULL: there is none, or no memory for it.
json_t *report_frame_own(json_t *frames, size_t index);

// report_print appends the report on one line with a newline, keys in their order.
CH_CHECKED enum ch_status report_print(const json_t *report, struct text *out);

// report_print_kept appends it as report_print does. CH_ERR_LIMIT: it would be larger
// than REPORT_MAX_BYTES, and nobody could read it again.
CH_CHECKED enum ch_status report_print_kept(const json_t *report, struct text *out);

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

// report_fingerprint computes the grouping key, or returns false where nothing crashed.
bool report_fingerprint(const json_t *report, char out[static FINGERPRINT_SIZE]);

// report_update_fingerprint computes it anew and stores it in the report.
CH_CHECKED enum ch_status report_update_fingerprint(json_t *report);
