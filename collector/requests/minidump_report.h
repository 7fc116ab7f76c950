// SPDX-License-Identifier: Apache-2.0
//
// Makes a report of a minidump that was sent to the collector.
//
// That happens in a child process that is confined (confine.h) and limited in memory
// and time. Of files it reads only debug files that were uploaded, by their build IDs:
// a path in the dump is the sender's word. Names come later, by jobs, as for any report
// without them. Sent twice, a dump becomes the same report.
#pragma once
#include <jansson.h>

#include "base/cursor.h"
#include "base/status.h"
#include "base/text.h"

// Where a minidump is in a body that a client of Sentry, Crashpad or Breakpad sent, and
// what the client says about the program beside it.
//
// A form (multipart/form-data, RFC 7578) has the dump as upload_file_minidump. Its
// other fields are facts, and Sentry's fields `sentry` and `sentry[...]` are an event.
// An envelope is a line of JSON and items, each with a line of JSON in front: the dump
// is an attachment of type event.minidump, the facts are in the item of type event.
//
// Bodies are untrusted. They are read in the child process.

enum minidump_body_form { MINIDUMP_BODY_FORM, MINIDUMP_BODY_ENVELOPE };

// minidump_body_read finds the dump in the size bytes at bytes, which must outlive
// out_dump, and adds to facts, an object, what stands beside it (minidump_body_note).
// CH_ERR_MALFORMED: out_why says why the body has no dump.
CH_CHECKED enum ch_status minidump_body_read(enum minidump_body_form form,
                                             const void *bytes, size_t size,
                                             json_t *facts, struct cursor *out_dump,
                                             const char **out_why);

// minidump_body_note adds a fact about the program to members of a report: `release`,
// `environment`, otherwise `tags`. What is there already is not replaced.
void minidump_body_note(json_t *facts, const char *name, const char *value);

struct minidump_upload {
    enum minidump_body_form form;
    const struct text *body; // decoded
    const char *symbols;     // the folder of debug files
    const char *project;     // whose debug files are used, too; empty: nobody's
};

// minidump_report_make appends the report's JSON to out, or fails with a sentence
// there: CH_ERR_MALFORMED, CH_ERR_UNSUPPORTED: the body is no minidump that is taken.
// CH_ERR_FAULT, CH_ERR_LIMIT: the child crashed, or did not finish. Otherwise the child
// could not work.
CH_CHECKED enum ch_status minidump_report_make(const struct minidump_upload *upload,
                                               struct text *out);
