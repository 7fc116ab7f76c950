// SPDX-License-Identifier: Apache-2.0
//
// A report as a value: a jansson tree, so that keys unknown to this version are
// preserved.
//
// Files are of version 2 (docs/report.schema.json), which has each place and each stack
// once, or of version 1. In memory both are alike: every frame is in its place, with
// the keys of version 1, and equal frames and backtraces may be one shared value
// (report_open.h), so code that modifies a frame must get it from report_own_frame.
//
// Reports come from untrusted files and over the network: report_parse limits their
// size, refuses duplicate keys and checks the type of every member that the functions
// below and the renderers rely on, so that users of a parsed report need not check
// again; members that are missing read as NULL. Users: symbolizer, upload, cli,
// collector. The raw report is written without a tree by json_writer.h.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/system/rights.h"
#include "base/text.h"
#include "report/file/report_open.h"
#include "report/file/report_shape.h"
#include "report/file/report_tree.h"
#include "report/grouping/fingerprint.h"
#include "report/grouping/report_in_app.h"

// REPORT_MAX_BYTES is the largest report that is read.
enum { REPORT_MAX_BYTES = 64 << 20 };

// REPORT_EXPANDED_MAX_BYTES limits a report with every frame in its place, because a
// few bytes of a file may stand for many repetitions of a long name.
#define REPORT_EXPANDED_MAX_BYTES ((size_t)256 << 20)

// REPORT_SCHEMA is the schema of a file, REPORT_SCHEMA_EXPANDED that of a report with
// every frame in its place, which is also that of files of version 1.
#define REPORT_SCHEMA REPORT_TABLE_SCHEMA
#define REPORT_SCHEMA_EXPANDED "crashhook.report/1"

// report_parse parses a report; the caller owns *out (json_decref). On failure error
// says why. CH_ERR_MALFORMED: it is not JSON, or not of this shape. CH_ERR_UNSUPPORTED:
// it has another schema. CH_ERR_LIMIT: it is larger than REPORT_MAX_BYTES.
CH_CHECKED enum ch_status report_parse(const char *bytes, size_t size, json_t **out,
                                       struct report_error *error);

// report_parse_brief does the same, but of the values of a report of version 2 only
// those of the crashed thread are kept, which is enough for callers that list and group
// reports; the others are checked.
CH_CHECKED enum ch_status report_parse_brief(const char *bytes, size_t size,
                                             json_t **out, struct report_error *error);

// report_read reads a report from fd up to its end.
CH_CHECKED enum ch_status report_read(int fd, json_t **out, struct report_error *error);

// report_file converts the report to the form of files, as a new tree that shares
// values with report. NULL: out of memory.
json_t *report_file(const json_t *report);

// report_print appends the report in the form of files, on one line with a newline.
CH_CHECKED enum ch_status report_print(const json_t *report, struct text *out);

// report_print_expanded appends it with every frame in its place: a report of version
// 1. CH_ERR_LIMIT: it would be larger than REPORT_EXPANDED_MAX_BYTES.
CH_CHECKED enum ch_status report_print_expanded(const json_t *report, struct text *out);

// report_print_kept does the same as report_print. CH_ERR_LIMIT: it would be larger
// than REPORT_MAX_BYTES, so that nobody could read it.
CH_CHECKED enum ch_status report_print_kept(const json_t *report, struct text *out);

// report_fingerprint computes the grouping key of version 1; false: nothing crashed.
bool report_fingerprint(const json_t *report, char out[static FINGERPRINT_SIZE]);

// report_update_fingerprint stores in the report what follows from its names: whose
// frames are the program's own, the keys of both versions, and the title.
CH_CHECKED enum ch_status report_update_fingerprint(json_t *report);

// The rights of a report's process (process.read_as), where root's agent had more: the
// files that the report names are read with no others.

// report_rights gives them; rights->fewer is false if our own are not more.
void report_rights(const json_t *report, struct rights *out);

// report_rights_set notes that these files are read with a user's ids and groups alone,
// without capabilities.
void report_rights_set(json_t *report, const struct rights *rights);

// report_time_ms is the time of the crash in milliseconds since 1970: as the report
// says, otherwise from its id; 0: not known.
int64_t report_time_ms(const json_t *report);
