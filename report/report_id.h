// SPDX-License-Identifier: Apache-2.0
//
// A report's id is a UUID of version 7: milliseconds since 1970, then random bits.
// So ids sort by time, no two machines agree on one, and a spool listed by name
// is listed by age. It is made while the crashed process is held: it never waits for
// the kernel's entropy.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// REPORT_ID_SIZE is the room of an id as text, its NUL included.
enum { REPORT_ID_SIZE = 37 };

// report_id_make writes a new id for something that happened at unix_ms.
void report_id_make(uint64_t unix_ms, char out[static REPORT_ID_SIZE]);

// report_id_ok is true for 36 characters that form a lower-case UUID of any version,
// and nothing after them. What is not one is never made part of a file name.
bool report_id_ok(const char *id);

// report_id_time_ms is the time in an id that report_id_ok accepts.
uint64_t report_id_time_ms(const char *id);
