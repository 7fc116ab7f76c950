// SPDX-License-Identifier: Apache-2.0
//
// Times in the time zones that people live in, from the system's files (TZif, RFC
// 9636). The C library has one zone for a process, which is a lock, too; here each
// thread uses any of them. A zone is read once and stays until the process ends. Names
// may come from strangers. Limits: 64 zones, files of 64 KiB. Users: the pages, main.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIME_ZONE_NAME = 64, TIME_ZONE_TEXT = 40 };

struct time_zone;

// time_zone_find is the zone of a name such as Europe/Berlin, or NULL.
const struct time_zone *time_zone_find(const char *name);

// time_zone_name is the name that a zone was found by.
const char *time_zone_name(const struct time_zone *zone);

// time_zone_offset is how many seconds the zone's clocks are ahead of UTC at a time,
// in seconds since 1970.
int32_t time_zone_offset(const struct time_zone *zone, int64_t unix_s);

// time_zone_write writes a time, from 1970 on, as ISO 8601 does: 2026-11-27T12:03:05Z,
// 2026-11-27T13:03:05+01:00. NULL: in UTC. brief: without seconds.
void time_zone_write(const struct time_zone *zone, int64_t time_ms, bool brief,
                     char out[TIME_ZONE_TEXT]);
