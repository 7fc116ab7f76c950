// SPDX-License-Identifier: Apache-2.0
//
// An opened report is a body turned into a tree: decoded, weighed, parsed and checked.
//
// A few bytes of JSON become many in memory ({} takes a hundred times its size), so a
// body is weighed before it is parsed, and only one large report is open at a time:
// those in the pool of what is large (http.h) take turns with jobs that name one.
#pragma once
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/text.h"
#include "collector/store/store.h"
#include "report/json/json_arena.h"
#include "report/value/report.h"

// OPENED_REPORT_VALUES is how many values a report may hold: well over what 5,000
// threads of 32 frames need.
enum { OPENED_REPORT_VALUES = 3000000, OPENED_REPORT_LARGE = 1 };

// report_text is the JSON of a report, which is in the body, or else in decoded.
struct report_text {
    const char *bytes;
    size_t size;
    struct text decoded;
};

struct opened_report {
    json_t *json;
    bool brief;              // it was opened so
    struct report_text text; // of a brief one: its JSON
    struct json_arena arena; // of a brief one: what json is made of
    pthread_mutex_t *large;  // the lock that is held; NULL: none
};

struct opened_report_error {
    char text[320];
};

// opened_report_open opens a body. It returns 0, or the HTTP status of the failure
// (400, 413, 503) with the reason at error. Large reports take turns on the lock large;
// NULL: they are not opened, and it returns OPENED_REPORT_LARGE.
unsigned opened_report_open(struct opened_report *out, const struct store_body *body,
                            pthread_mutex_t *large, struct opened_report_error *error);

// opened_report_open_brief does the same for who lists and groups reports: values of
// frames are checked, but only those of the crashed thread are kept. Until it is
// closed, the thread makes all its values of jansson in memory that then goes.
unsigned opened_report_open_brief(struct opened_report *out,
                                  const struct store_body *body, pthread_mutex_t *large,
                                  struct opened_report_error *error);

// opened_report_close releases it.
void opened_report_close(struct opened_report *report);

// opened_report_weigh counts the values of a JSON text without parsing it: each value
// costs a bracket or a comma. It stops counting above OPENED_REPORT_VALUES.
size_t opened_report_weigh(const char *bytes, size_t size);
