// SPDX-License-Identifier: Apache-2.0
//
// The time at which something happened, as a person remembers it: "12:31" stands for
// that minute and the minutes next to it. Users: doctor.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// time_span is seconds since 1970; both are part of it.
struct time_span {
    int64_t first;
    int64_t last;
};

// time_span_read reads 12:31, 2026-11-22T12:31 (or with a blank), each also with
// seconds, in local time or, where a Z ends it, in UTC. Without a day it is the last
// such moment before now. false: text is none of these.
bool time_span_read(const char *text, int64_t now, struct time_span *out);

// time_span_has returns true if a second is in span; NULL has all.
bool time_span_has(const struct time_span *span, int64_t second);
