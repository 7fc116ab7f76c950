// SPDX-License-Identifier: Apache-2.0
//
// What the two conversions between a report's file and its tree share (report_open.h,
// report_pack.h): the keys of version 2's tables.
//
//   "threads":[{..., "stack":0, "values":[[1,[0,"0x1f"],[1]]]}]
//   "stacks":[{"cbf","ended","frames":[0,1,{"kind":"omit","count":9},2]}]
//   "places":[{"kind","address",...,"inlined":[{"function",...}],
//              "variables":[{"index","name","type",...,"varies":["value"]}]}]
//
// A stack's frames are numbers of places, or objects that stand for omitted frames. A
// thread's values are lists: the number of the frame in its stack, then for each
// variable its number in the place's list and the values of its members `varies`.
#pragma once
#include <stddef.h>

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
