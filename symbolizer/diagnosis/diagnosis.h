// SPDX-License-Identifier: Apache-2.0
//
// What can be found out about a crash afterwards, when time no longer matters, from the
// report alone: which register held the bad address and what the instruction did with
// it, the name of a C++ type, where an exception was thrown, which runtime ended the
// program.
//
// It adds facts, from which the sentence is then made anew
// (report/summary/crash_words.h). Refining a report a second time does not change it.
#pragma once
#include <jansson.h>
#include <stdbool.h>

// diagnosis_refine completes the crash of report, whose frames are named already.
void diagnosis_refine(json_t *report);

// diagnosis_begin starts what takes a while and needs no names. diagnosis_refine, which
// is called for the same report next, waits for it.
void diagnosis_begin(const json_t *report);

// diagnosis_access does so for the instruction that faulted (diagnosis_access.c). It
// and diagnosis_words return true if they added anything.
bool diagnosis_access(json_t *report, json_t *crash);

// diagnosis_words does so for the messages of the program's runtime
// (diagnosis_words.c).
bool diagnosis_words(json_t *report, json_t *crash);

// diagnosis_trap names the check that a compiler's trap instruction belongs to, or the
// check of branches that AArch64 made (diagnosis_trap.c).
bool diagnosis_trap(json_t *report, json_t *crash);

// diagnosis_runtime says by the names of the frames how a language's runtime or the C
// library came to end the program, or to fault itself (diagnosis_runtime.c). It is
// asked last: it needs the operand, and leaves alone what diagnosis_words has named.
bool diagnosis_runtime(json_t *report, json_t *crash);

// diagnosis_origin keeps, of what the agent found out about registers' values, the one
// of the register that was to blame (diagnosis_origin.c).
bool diagnosis_origin(json_t *report, json_t *crash);

// diagnosis_throw reports who threw the exception, where the stack of the throw was
// kept (diagnosis_throw.c). It is asked after diagnosis_words, whose stack is the last
// throw's.
bool diagnosis_throw(json_t *report, json_t *crash);

// DIAGNOSIS_FRAMES is how many frames from the top of a stack are looked at: a
// runtime's own are among them.
enum { DIAGNOSIS_FRAMES = 64 };

// diagnosis_note_place sets member key of `to` to the function and line of a frame.
void diagnosis_note_place(json_t *to, const char *key, const json_t *frame);

// diagnosis_note_culprit sets member key of `to` to the function and line of the first
// frame from index on that is the program's. False: there is none.
bool diagnosis_note_culprit(const json_t *report, const json_t *frames, size_t index,
                            json_t *to, const char *key);
