// SPDX-License-Identifier: Apache-2.0
//
// An entry is what a store knows about a report without opening it: what lists show,
// what filters compare, and the group it belongs to.
//
// It has a fixed size and no pointers, so that it can wait in a queue for its commit
// after the parsed report was freed. Strings are cut to fit, between characters.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "report/file/report_id.h"

enum {
    ENTRY_TAGS = 32,
    ENTRY_HELD = 8,
    ENTRY_GROUP_SIZE = 65,
    ENTRY_MARKS_SIZE = 4096,
    ENTRY_MARK_BLANK = ' ', // after the two digits of a mark
    ENTRY_PROJECT_SIZE = 64,
    ENTRY_SENDER_SIZE = 64,
    ENTRY_BUILDS = 16,
    ENTRY_BUILD_SIZE = 129, // of a build ID in digits, including its NUL
};

struct entry_tag {
    char key[64];
    char value[200];
};

// entry_held counts crashes of a fingerprint that the sender's rate limit held back.
struct entry_held {
    char fingerprint[ENTRY_GROUP_SIZE];
    int64_t count;
};

struct entry {
    char id[REPORT_ID_SIZE];
    char group[ENTRY_GROUP_SIZE];     // the fingerprint
    char old_group[ENTRY_GROUP_SIZE]; // that of version 1; empty: not known
    bool chosen; // the sender chose the group by a fingerprint of its own
    int64_t revision;
    int64_t time_ms;     // of the crash, never after received_ms
    int64_t received_ms; // since 1970, by our clock
    int64_t signal;
    char signal_name[24];
    char kind[40];
    char title[256];
    char stack[1024]; // the program's in-app functions, a line each, innermost first
    char summary[400];
    char release[128];
    char environment[64];
    char executable[256];
    char hostname[128];
    char session[20]; // of a process whose start was counted; empty: it was not
    struct entry_tag tags[ENTRY_TAGS];
    size_t tag_count;
    struct entry_held held[ENTRY_HELD];
    size_t held_count;
    char marks[ENTRY_MARKS_SIZE]; // entry_marks.h
    size_t marks_size;
    char nameless[ENTRY_BUILDS][ENTRY_BUILD_SIZE]; // builds whose frames have no names
    size_t nameless_count;
    bool names_wanted;                // debug files of such a build are here
    char project[ENTRY_PROJECT_SIZE]; // empty: of none
    char sender[ENTRY_SENDER_SIZE];   // who sent it first; empty: not known by name
};

// entry_from_report fills out from a report that report_read accepted. received_ms is
// the time of its arrival. CH_ERR_MALFORMED: its id is not a UUID.
CH_CHECKED enum ch_status entry_from_report(const json_t *report, int64_t received_ms,
                                            struct entry *out);

// entry_set_project puts what entry_from_report gave into a project. The groups of a
// project are its own: their keys are made of the fingerprint and the project.
void entry_set_project(struct entry *entry, const char *project);

// entry_is_sane is true for an entry whose members have the form that entry_from_report
// gives them: it came from another process.
bool entry_is_sane(const struct entry *entry);

// entry_program is the name of the file that ran: a program may be installed in a
// folder for each release.
const char *entry_program(const struct entry *entry);

// entry_copy copies string to out, which holds size bytes; it cuts between characters.
void entry_copy(char *out, size_t size, const char *string);

// entry_is_group_id is true for a fingerprint: 8 to 64 lower-case hexadecimal digits.
bool entry_is_group_id(const char *id);
