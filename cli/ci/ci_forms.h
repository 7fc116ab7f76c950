// SPDX-License-Identifier: Apache-2.0
//
// The crashes of a build in the forms that build servers read: JUnit's XML (as Jenkins'
// schema has it), SARIF 2.1.0, GitLab's code quality report, Markdown, and GitHub's
// workflow commands. Text of the crashes is escaped as each form demands. Users: ci.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// A ci_crashes is the crashes of a build. Each is an object with the strings id,
// fingerprint, title, kind, program (its file's name), shown (the report as a terminal
// shows it) and, if the place is known, file (relative to the folder of the build if it
// is below that); the numbers times (reports of this group) and, if they are known,
// line and column; known is true if the collector has the group.
struct ci_crashes {
    json_t *crashes;
    const char *command; // that was run
    int64_t duration_ms;
    int64_t started; // seconds since 1970
    bool compared;   // with the groups of a collector
};

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
