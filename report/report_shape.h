// SPDX-License-Identifier: Apache-2.0
//
// What the members of a report must be once every frame is in its place: the
// tables that report_parse checks a tree by.
//
// A member that is listed has its shape or is null, which is as good as missing; one
// that is not listed may be anything. Every table ends with a row without a key.
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
