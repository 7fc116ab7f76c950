// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a report's frames, each from the best source available, and each
// with that source. The crashed thread's come first. They have a budget, of calls, of
// processor time and of memory, so that a thousand threads take no longer than a few,
// and so that many large values do not cost all of them; frames past it get none.
#pragma once
#include <jansson.h>

#include "report/file/held_file.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/report_images.h"

enum {
    ARGUMENT_REPORT_CALLS_MAX = 4096,
    // The crashed thread has its variables however long they take; the time for those
    // of the others begins after it.
    ARGUMENT_REPORT_CPU_MS = 100,
    ARGUMENT_REPORT_MEMORY_MB = 64,
    ARGUMENT_REPORT_REGISTERS = 8, // frames of which registers are listed
};

// An argument_report_result is what was found; all of it is the caller's.
struct argument_report_result {
    json_t *all;       // for each thread an array of {"frame", "arguments", "locals"}
    json_t *fault;     // crash.variable (fault.h); NULL: not known
    json_t *registers; // frame_registers of the crashed thread; NULL: not known
    json_t *code;    // crash.disassembly (code_listing.h); NULL: nothing can be listed
    json_t *symbols; // of crash.pointers; NULL: none
    json_t *message; // crash.message (fault.h); NULL: not known
    json_t
        *missing; // {"image", "status"} of images whose debug information lacks parts
    const char *cut; // which budget was used up before the last frame; NULL: none
};

// argument_report_all makes the variables of a report's threads. The files and stacks
// that it reads stay open: its caller is a child that ends with its answer.
void argument_report_all(const json_t *report, struct held_file *held,
                         const struct report_images *images,
                         const struct symbolizer_options *options,
                         struct argument_report_result *out);

// argument_report_write_registers adds the result's registers to the crashed thread.
// CH_ERR_MALFORMED: they do not have that form.
CH_CHECKED enum ch_status argument_report_write_registers(json_t *report,
                                                          json_t *registers);

// argument_report_write adds the result of argument_report_all to report.
// CH_ERR_MALFORMED: it does not have that form.
CH_CHECKED enum ch_status argument_report_write(json_t *report, const json_t *all);
