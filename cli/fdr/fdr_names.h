// SPDX-License-Identifier: Apache-2.0
//
// The names of the functions in a trace, from the sources that there are: the
// instrumentation maps of ELF files, a crash report, and the trace itself.
//
// A trace that `crashhook export` wrote has an event for each function, which names it.
// Its text is FDR_EXPORT_NAME, a space, and a JSON object (docs/formats/fdr.md).
#pragma once
#include "base/text.h"
#include "cli/session/command.h"
#include "formats/interchange/fdr.h"

// The upper 8 bits of a function's id are the number of its object, where the program
// was compiled with -fxray-shared: 0 is the program.
enum { FDR_OBJECT_SHIFT = 24, FDR_OBJECTS_MAX = 256 };

struct fdr_names;

// FDR_NAMES_OPTIONS are the two rows that a command lists for fdr_names_open.
#define FDR_NAMES_OPTIONS                                                              \
    { "functions", "[N=]ELF",                                                          \
      "the program that wrote the trace, or its shared object N, for names", 0 },      \
    {                                                                                  \
        "report", "FILE", "the report that the trace was exported from, for names", 0  \
    }

// fdr_names_open opens the files that options name. It reports a failure. The caller
// closes *out whatever is returned.
CH_CHECKED enum ch_status fdr_names_open(struct fdr_names **out,
                                         const struct options *options);
void fdr_names_close(struct fdr_names *names);

// fdr_names_note keeps the name that record gives, if it does.
void fdr_names_note(struct fdr_names *names, const struct fdr_record *record);

// fdr_names_find gives the name of function id; NULL: it is not known.
const char *fdr_names_find(struct fdr_names *names, uint32_t id);

// fdr_names_show replaces to by the name of function id, or "#ID". Control characters
// become question marks.
void fdr_names_show(struct fdr_names *names, uint32_t id, struct text *to);
