// SPDX-License-Identifier: Apache-2.0
//
// A core file made from a report: its threads with their registers, the memory that it
// has, and which files were mapped where. What the report does not have is not in the
// core: a debugger says that it cannot read it.
//
// Debuggers find the libraries of a process by the list that its dynamic linker keeps.
// No report has that memory, so a list of the same images is made for them, at an
// address that no process has memory at. User: debug.c.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

// debug_range is a part of a file that was mapped, and that the process could not
// write: then the file has the bytes that the process had.
struct debug_range {
    uint64_t start;
    uint64_t end;
    uint64_t offset;  // in the file, a multiple of CORE_PAGE
    const char *path; // lives as long as the range
    size_t header;    // where its first page is in the headers; SIZE_MAX: nowhere
};

// A debug_library is an image whose file is here. Its dynamic section is at address
// dynamic; 0: it has none.
struct debug_library {
    uint64_t bias;
    uint64_t dynamic;
    const char *path; // lives as long as the library
};

// debug_files is what is known from the files of a report's images.
struct debug_files {
    struct debug_range *ranges; // those of the program come first
    size_t range_count;
    size_t range_capacity;
    struct debug_library *libraries; // the program is the first
    size_t library_count;
    size_t library_capacity;
    struct text headers; // the first pages of files
    struct text dynamic; // the program's dynamic section
    uint64_t entry;      // of the program, an address; 0: its file is not here
    uint64_t segments;   // the address of its program headers
    uint64_t segment_count;
};

// debug_core_write appends the core of a report in expanded form. CH_ERR_UNSUPPORTED:
// it has no registers, or those of a processor that is not known here.
CH_CHECKED enum ch_status debug_core_write(const json_t *report,
                                           const struct debug_files *files,
                                           struct text *out);

// debug_launch is what goes with a core of a report: command files that show the report
// inside gdb and lldb, and the configurations of editors that debug the core.
struct debug_launch {
    const json_t *report; // expanded
    const char *core;     // the absolute path of the core
    const char *program;  // of the program's file; NULL: it is not here
};

// debug_launch_scripts writes CORE.gdb and CORE.lldb. Names of the report are data in
// them, never commands. false: it said why.
bool debug_launch_scripts(const struct debug_launch *launch);

// debug_launch_vscode writes .vscode/launch.json in the current folder, or prints the
// configurations where there is one, and the arguments of attach for gdb's own debug
// adapter. false: it said why.
bool debug_launch_vscode(const struct debug_launch *launch);
