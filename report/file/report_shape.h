// SPDX-License-Identifier: Apache-2.0
//
// The types that the members of a report must have once every frame is in its place:
// the tables that report_parse checks a tree against.
//
// A member that is listed has its type or is null, which counts as missing; a member
// that is not listed may have any type. Every table ends with a row without a key.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum report_shape {
    REPORT_SHAPE_STRING,
    REPORT_SHAPE_ADDRESS, // a string such as "0x1f"
    REPORT_SHAPE_INTEGER,
    REPORT_SHAPE_FLAG,
    REPORT_SHAPE_OBJECT,
    REPORT_SHAPE_ARRAY
};

struct report_shape_member {
    const char *key;
    enum report_shape shape;
    bool required;
};

extern const struct report_shape_member report_shape_report[];
extern const struct report_shape_member report_shape_crash[];
extern const struct report_shape_member report_shape_process[];
extern const struct report_shape_member report_shape_thread[];
extern const struct report_shape_member report_shape_backtrace[];
extern const struct report_shape_member report_shape_frame[];
extern const struct report_shape_member report_shape_image[];
extern const struct report_shape_member report_shape_problem[];

// The keys of version 2's tables, for the two conversions between a report's file and
// its tree (report_open.h, report_pack.h).
//
//   "threads":[{..., "stack":0, "values":[[1,[0,"0x1f"],[1]]]}]
//   "stacks":[{"cbf","ended","frames":[0,1,{"kind":"omit","count":9},2]}]
//   "places":[{"kind","address",...,"inlined":[{"function",...}],
//              "variables":[{"index","name","type",...,"varies":["value"]}]}]
//
// A stack's frames are numbers of places, or objects that stand for omitted frames. A
// thread's values are lists: the number of the frame in its stack, then for each
// variable its number in the place's list and the values of its members `varies`.

// REPORT_TABLE_SCHEMA is the schema of a file with tables.
#define REPORT_TABLE_SCHEMA "crashhook.report/2"

// report_table_repeated is the members that an inlined call takes from its place.
extern const char *const report_table_repeated[];
enum { REPORT_TABLE_REPEATED = 5 };

// report_table_lists is the members of a frame that are lists of variables; a variable
// that names no list is in the first.
extern const char *const report_table_lists[];
enum { REPORT_TABLE_LISTS = 3 };

// report_table_varying is the members of a variable that differ from thread to thread.
extern const char *const report_table_varying[];
enum { REPORT_TABLE_VARYING = 3 };

// report_table_find is the index of key in one of the tables above, or count.
size_t report_table_find(const char *const *table, size_t count, const char *key);
