// SPDX-License-Identifier: Apache-2.0
//
// A group of reports, as lists and pages show it.
//
// Its columns are lists of rows: the members are made of them, and so are reading them
// (store_read.c) and copying a group (server/group_copy.c).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STORE_TREND_DAYS = 30, // days of a group's trend that are returned
    STORE_PROGRAMS = 3,    // most programs of a group that are returned
    STORE_RELEASES = 20,   // most releases of a group that are returned
};

// STORE_GROUP_TEXTS stands for ROW(member, column) of each text that is a column of
// {GROUP_COLUMNS} in sql/filtered.sql. status is open, resolved, ignored or regressed.
// status_release is the release that the group was resolved in, or seen again in;
// resolved_in is what that was before a regressed group was seen again. stack is the
// in-app functions, a line each. Any may be empty.
#define STORE_GROUP_TEXTS(ROW)                                                         \
    ROW(id, fingerprint)                                                               \
    ROW(title, title)                                                                  \
    ROW(summary, summary)                                                              \
    ROW(status, status)                                                                \
    ROW(status_release, status_release)                                                \
    ROW(resolved_in, resolved_in)                                                      \
    ROW(note, note)                                                                    \
    ROW(assignee, assignee)                                                            \
    ROW(program, program)                                                              \
    ROW(first_release, first_release)                                                  \
    ROW(stack, stack)                                                                  \
    ROW(project, project)

// STORE_GROUP_NUMBERS stands for the same of each number. count is of all reports that
// were received, kept of those that retention has left, filtered_count of those that
// the filter accepts; machines is the hosts that they came from and users the values of
// their tag `user`, filtered_machines and filtered_users the same of those. An ignored
// group is open again at one of the `until`, of which 0 is no limit. version increases
// with each decision; status_time_ms is 0 if there was none.
#define STORE_GROUP_NUMBERS(ROW)                                                       \
    ROW(signal, signal)                                                                \
    ROW(count, count)                                                                  \
    ROW(kept, kept)                                                                    \
    ROW(machines, machines)                                                            \
    ROW(users, users)                                                                  \
    ROW(first_seen_ms, first_seen)                                                     \
    ROW(last_seen_ms, last_seen)                                                       \
    ROW(until_count, until_count)                                                      \
    ROW(until_machines, until_machines)                                                \
    ROW(until_ms, until_time)                                                          \
    ROW(version, version)                                                              \
    ROW(status_time_ms, status_time)                                                   \
    ROW(filtered_count, filtered)                                                      \
    ROW(filtered_machines, filtered_machines)                                          \
    ROW(filtered_users, filtered_users)

#define STORE_GROUP_TEXT(member, column) const char *member;
#define STORE_GROUP_NUMBER(member, column) int64_t member;
#define STORE_GROUP_PLACE(member, column) STORE_GROUP_PLACE_##member,
enum { STORE_GROUP_TEXTS(STORE_GROUP_PLACE) STORE_GROUP_TEXT_COUNT };
enum { STORE_GROUP_NUMBERS(STORE_GROUP_PLACE) STORE_GROUP_NUMBER_COUNT };

// store_group is a group; strings live until the visitor returns, unless it is a copy.
struct store_group {
    STORE_GROUP_TEXTS(STORE_GROUP_TEXT)
    STORE_GROUP_NUMBERS(STORE_GROUP_NUMBER)
    bool resolved_in_it; // status_release itself counts, and not only what is newer
    bool filtered_more;  // only the newest reports were looked at for filtered_count
    int64_t held_back;   // crashes that senders counted and did not send
    // Paths; the one that crashed most comes first.
    const char *programs[STORE_PROGRAMS];
    size_t program_count;
    const char *releases[STORE_RELEASES]; // the one seen last comes first
    int64_t release_counts[STORE_RELEASES];
    size_t release_count;            // how many of these are filled
    int64_t trend[STORE_TREND_DAYS]; // reports per day; the last day is trend_day
    int64_t trend_day;               // in days since 1970
};
