// SPDX-License-Identifier: Apache-2.0
//
// What a report has of the code, the pointers and the memory around a crash, as lines
// of text: crash.disassembly, crash.pointers, memory, and surroundings. Nothing in it
// is escaped: the names of symbols and files are the program's. Users: terminal, pages,
// gdb.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { AROUND_ALL = 64 };

// around_code_append appends the instructions of one listing of report, at most
// `around` before and after the marked one, each source line before its code; with its
// text where sources says so and the file that was built is here.
void around_code_append(const json_t *report, const json_t *listing, size_t around,
                        bool sources, struct text *out);

// around_pointers_append appends a line for each register that holds an address.
void around_pointers_append(const json_t *report, struct text *out);

// around_memory_append appends the bytes around what registers point to, in rows of 16
// with their characters; nothing if the report has none.
void around_memory_append(const json_t *report, struct text *out);

// around_process_append appends what the process had around it (surroundings): times,
// limits, signals, names, environment, descriptors.
void around_process_append(const json_t *report, struct text *out);
