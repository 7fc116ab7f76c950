// SPDX-License-Identifier: Apache-2.0
//
// A report's id is a UUID of version 7: milliseconds since 1970, then random bits. So
// ids sort by time, no two machines make the same one, and a spool listed by name is
// listed by age. The id is made while the crashed process is held, so that it never
// waits for the kernel's entropy.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// REPORT_ID_SIZE is the size of an id as text, including its NUL.
enum { REPORT_ID_SIZE = 37 };

// report_id_make writes a new id for something that happened at unix_ms.
void report_id_make(uint64_t unix_ms, char out[static REPORT_ID_SIZE]);

// report_id_ok is true for 36 characters that form a lower-case UUID of any version,
// and nothing after them. Only such a string is ever made part of a file name.
bool report_id_ok(const char *id);

// report_id_time_ms is the time in an id that report_id_ok accepts.
uint64_t report_id_time_ms(const char *id);
