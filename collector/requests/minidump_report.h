// SPDX-License-Identifier: Apache-2.0
//
// Makes a report of a minidump that was sent to the collector.
//
// That happens in a child process that is confined (confine.h) and limited in memory
// and time. Of files it reads only debug files that were uploaded, by their build IDs:
// a path in the dump is the sender's word. Names come later, by jobs, as for any report
// without them. Sent twice, a dump becomes the same report.
#pragma once
#include "base/text.h"
#include "collector/requests/minidump_body.h"

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
