// SPDX-License-Identifier: Apache-2.0
//
// A report as Markdown, for issue trackers, chats and assistants.
//
// The most telling facts come first. All that the crashed program or its user could
// choose is escaped or fenced, so that it can neither become formatting nor pass for
// what crashhook says. Users: show, mcp.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/text.h"

// MARKDOWN_MAX_BYTES limits the fenced report; a line says what was left out.
enum { MARKDOWN_MAX_BYTES = 48 << 10 };

// markdown_write writes report. crashed_only: leave the other threads out.
void markdown_write(const json_t *report, bool crashed_only, FILE *to);

// markdown_fence appends text as a fenced block, whose fence is longer than any run of
// backticks in text.
void markdown_fence(struct text *out, const char *text, size_t size);
