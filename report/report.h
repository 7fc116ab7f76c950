// SPDX-License-Identifier: Apache-2.0
//
// A report as a value: a jansson tree, so that keys this version does not know pass
// through untouched.
//
// Files are of version 2 (docs/report.schema.json), which says each place and each
// stack once, or of version 1. In memory both are alike: every frame is in its place,
// in the keys of version 1, and frames and backtraces that are equal may be one value
// (report_open.h), so whoever changes a frame takes it with report_own_frame.
//
// Reports come from files anybody may have written and over the network: report_parse
// bounds their size, refuses duplicate keys and checks the shape of every member that
// the functions below and the renderers rely on, so that a caller need not check
// again what is there in a parsed report; what may be missing gives NULL. Users:
// symbolizer, upload, cli, collector. The raw report is written without a tree by
// json_writer.h.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "report/fingerprint.h"
#include "report/report_error.h"
#include "report/report_open.h"
#include "report/report_table.h"
#include "report/report_tree.h"

// REPORT_MAX_BYTES is the largest report that is read.
enum { REPORT_MAX_BYTES = 64 << 20 };

// REPORT_EXPANDED_MAX_BYTES bounds a report with every frame in its place: a few bytes
// of a file may stand for a long name many times.
#define REPORT_EXPANDED_MAX_BYTES ((size_t)256 << 20)

// The schemas of a file and of a report with every frame in its place, which is that of
// files of version 1.
#define REPORT_SCHEMA REPORT_TABLE_SCHEMA
#define REPORT_SCHEMA_EXPANDED "crashhook.report/1"

// report_parse reads a report; the caller owns *out (json_decref). On failure error
// says why. CH_ERR_MALFORMED: no JSON, or not of this shape. CH_ERR_UNSUPPORTED:
// another schema. CH_ERR_LIMIT: larger than REPORT_MAX_BYTES.
CH_CHECKED enum ch_status report_parse(const char *bytes, size_t size, json_t **out,
                                       struct report_error *error);

// report_read reads a report from fd up to its end.
CH_CHECKED enum ch_status report_read(int fd, json_t **out, struct report_error *error);

// report_file gives the report as files have it, in a new tree that shares values with
// report. NULL: out of memory.
json_t *report_file(const json_t *report);

// report_print appends the report as files have it, on one line with a newline.
CH_CHECKED enum ch_status report_print(const json_t *report, struct text *out);

// report_print_expanded appends it with every frame in its place: a report of
// version 1. CH_ERR_LIMIT: that would be larger than REPORT_EXPANDED_MAX_BYTES.
CH_CHECKED enum ch_status report_print_expanded(const json_t *report, struct text *out);

// report_print_kept appends it as report_print does. CH_ERR_LIMIT: it would be larger
// than REPORT_MAX_BYTES, and nobody could read it again.
CH_CHECKED enum ch_status report_print_kept(const json_t *report, struct text *out);

// report_fingerprint computes the grouping key, or returns false where nothing crashed.
bool report_fingerprint(const json_t *report, char out[static FINGERPRINT_SIZE]);

// report_update_fingerprint computes it anew and stores it in the report.
CH_CHECKED enum ch_status report_update_fingerprint(json_t *report);
