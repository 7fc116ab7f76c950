// SPDX-License-Identifier: Apache-2.0
//
// What goes with a core of a report: command files that show the report inside gdb and
// lldb, and the configurations of editors that debug the core. User: debug.c.
#pragma once
#include <jansson.h>
#include <stdbool.h>

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
