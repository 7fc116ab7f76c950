// SPDX-License-Identifier: Apache-2.0
//
// The types that the members of a report must have once every frame is in its place:
// the tables that report_parse checks a tree against.
//
// A member that is listed has its type or is null, which counts as missing; a member
// that is not listed may have any type. Every table ends with a row without a key.
#pragma once
#include <stdbool.h>

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
