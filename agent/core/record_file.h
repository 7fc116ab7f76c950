// SPDX-License-Identifier: Apache-2.0
//
// An open record: what the handler wrote of a crash for which no agent made a report
// (shared/record_file.h has the format).
//
// The file may be cut anywhere and was written by a crashing process: what is there is
// used. Only a file that does not begin as a record of this machine and version is
// refused.
#pragma once
#include "agent/core/core_file.h"
#include "base/text.h"
#include "shared/record_file.h"

struct record_file {
    struct record_header header;
    struct text variables;  // NAME=value, each with its NUL
    struct text executable; // a path
    struct text maps;
    struct text auxv;
    struct text context;           // the context page
    uint64_t flight_state;         // address of the flight recorder's state; 0: none
    struct core_segment *segments; // memory, sorted by start, without overlaps
    size_t segment_count;
};

// record_file_size is where the chunks of the record on fd end: at RECORD_END, or at
// the end of the file or beyond it, where the last chunk is cut.
uint64_t record_file_size(int fd);

// record_file_open reads the record on fd. CH_ERR_MALFORMED: it is not a record.
// CH_ERR_UNSUPPORTED: it has another version. CH_ERR_TRUNCATED: it ends within its
// header.
CH_CHECKED enum ch_status record_file_open(struct record_file *record, int fd);
void record_file_close(struct record_file *record);

// record_file_variable is the value of one of the dead process's variables, or NULL.
const char *record_file_variable(const struct record_file *record, const char *name);
