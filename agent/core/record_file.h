// SPDX-License-Identifier: Apache-2.0
//
// A record opened: what the handler wrote of a crash that no agent has reported
// (handler/record_file.h says how it lies in the file).
//
// The file may be cut anywhere and was written by a process in trouble: what is there
// is used. Only a file that does not begin as a record of this machine and version is
// refused.
#pragma once
#include "agent/core/core_file.h"
#include "base/text.h"
#include "handler/record_file.h"

struct record_file {
    struct record_header header;
    struct text variables;  // NAME=value, each with its NUL
    struct text executable; // a path
    struct text maps;
    struct text auxv;
    struct text context;           // the context page
    struct core_segment *segments; // memory, by start, without overlaps
    size_t segment_count;
};

// record_file_open reads the record behind fd. CH_ERR_MALFORMED: it is none.
// CH_ERR_UNSUPPORTED: one of another version. CH_ERR_TRUNCATED: it ends in its header.
CH_CHECKED enum ch_status record_file_open(struct record_file *record, int fd);
void record_file_close(struct record_file *record);

// record_file_variable is the value of a variable of the dead process, or NULL.
const char *record_file_variable(const struct record_file *record, const char *name);
