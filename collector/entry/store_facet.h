// SPDX-License-Identifier: Apache-2.0
//
// The kinds of values that groups count: which part of a report a value is.
//
// Each distinct value is one row a group, so only parts that many reports share are
// kinds. Users: the store, and who shows what its groups count.
#pragma once

// store_facet is the kind of a facet. Its numbers stand in databases. Values up to
// FACET_TAG are in columns of the report and its tags, the others in its marks
// (entry_marks.h). Searches look into the kinds up to FACET_RELEASE, and from
// FACET_FRAME to FACET_MESSAGE.
enum store_facet {
    FACET_TITLE = 1,
    FACET_SUMMARY = 2,
    FACET_EXECUTABLE = 3,
    FACET_HOSTNAME = 4,
    FACET_RELEASE = 5,
    FACET_ENVIRONMENT = 6,
    FACET_SIGNAL = 7, // as digits
    FACET_SIGNAL_NAME = 8,
    FACET_TAG = 9, // its key, a line end, its value
    FACET_KIND = 10,
    FACET_FRAME = 11,
    FACET_FILE = 12,
    FACET_BUILD = 13,
    FACET_MESSAGE = 14,
    FACET_KERNEL = 20,
    FACET_PROCESSOR = 21,
    FACET_UPTIME = 22,
    FACET_THREAD = 23,
    FACET_ADDRESS = 24,
    FACET_REGISTER = 25,
    FACET_ARGUMENT = 26,
    FACET_DEPTH = 27,
    FACET_FREED_IN = 28,
    FACET_LINE = 29, // in no database, where lines are files
    FACET_DAY = 30,  // in no database: the day of a report's time, for counts
};
