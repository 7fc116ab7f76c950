// SPDX-License-Identifier: Apache-2.0
//
// The crashes of a build in the forms that build servers read: JUnit's XML (as Jenkins'
// schema has it), SARIF 2.1.0, GitLab's code quality report, Markdown, and GitHub's
// workflow commands. Text of the crashes is escaped as each form demands. Users: ci.
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "base/text.h"
#include "report/grouping/fingerprint.h"

// A ci_crash is a report as these forms show it. Members may be empty, but not NULL.
struct ci_crash {
    char id[64];
    char fingerprint[FINGERPRINT_SIZE];
    struct text title;
    struct text kind;
    struct text program; // its file's name
    struct text file;    // relative to the folder of the build if it is below that
    int64_t line;        // 0: not known
    int64_t column;
    struct text shown; // the report as a terminal shows it
    size_t times;      // reports of this group
    bool known;        // the collector has the group
};

struct ci_crashes {
    struct ci_crash *crashes;
    size_t count;
    const char *command; // that was run
    int64_t duration_ms;
    int64_t started; // seconds since 1970
    bool compared;   // with the groups of a collector
};

void ci_crash_deinit(struct ci_crash *crash);

// ci_write_time writes when the command was started, in UTC: 2026-11-27T03:14:00.
enum { CI_TIME_SIZE = 32 };
void ci_write_time(const struct ci_crashes *all, char out[static CI_TIME_SIZE]);

// A ci_form_fn writes all crashes to a file.
typedef void ci_form_fn(const struct ci_crashes *all, FILE *to);

ci_form_fn ci_write_junit;
ci_form_fn ci_write_sarif;
ci_form_fn ci_write_gitlab;
ci_form_fn ci_write_summary;  // Markdown
ci_form_fn ci_write_commands; // ::error file=…,line=…::…
