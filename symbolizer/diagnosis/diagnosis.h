// SPDX-License-Identifier: Apache-2.0
//
// What can be found out about a crash once nobody waits any more, from the report
// alone: which register held the bad address and what the instruction did with it, what
// a C++ type is called, where an exception was thrown, whose runtime ended the program.
//
// It adds facts; the sentence is then made of them anew (report/crash_words.h). A
// report that has been through this is not changed again.
#pragma once
#include <jansson.h>
#include <stdbool.h>

// diagnosis_refine completes the crash of report, whose frames have their names.
void diagnosis_refine(json_t *report);

// diagnosis_access does so for the instruction that failed (diagnosis_access.c). It and
// diagnosis_words are true where they added anything.
bool diagnosis_access(json_t *report, json_t *crash);

// diagnosis_words does so for what the program's runtime said (diagnosis_words.c).
bool diagnosis_words(json_t *report, json_t *crash);
