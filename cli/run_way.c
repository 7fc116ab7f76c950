// SPDX-License-Identifier: Apache-2.0
#include "agent/trace.h"
#include "cli/installed.h"
#include "cli/run_program.h"

enum run_way run_way_of(const struct program *program)
{
    char library[PATH_MAX];
    switch (program->kind) {
    case PROGRAM_DYNAMIC:
    case PROGRAM_UNKNOWN:
        return installed_library(library) ? RUN_WAY_PRELOAD : RUN_WAY_TRACE;
    case PROGRAM_SANITIZED:
    case PROGRAM_HAS_HANDLER:
        return RUN_WAY_PRELOAD;
    case PROGRAM_PRIVILEGED:
        return trace_keeps_privileges() ? RUN_WAY_TRACE : RUN_WAY_UNWATCHED;
    default:
        return RUN_WAY_TRACE;
    }
}
