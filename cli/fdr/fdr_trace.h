// SPDX-License-Identifier: Apache-2.0
//
// A trace file of any of XRay's modes, read in bounded memory.
//
// A flight recorder trace is read twice: first the beginnings of its buffers, which are
// sorted by thread and time, then the buffers in that order. A basic log is read in its
// own order, in which each thread's records are in order, too. A profile is small and
// is read as a whole. Standard input is copied to a temporary file.
//
// Damage does not end reading. The first problem and the number of them are kept, and
// fdr_trace_result reports them.
#pragma once
#include "base/text.h"
#include "formats/interchange/fdr.h"
#include "formats/interchange/xray_modes.h"

enum {
    FDR_TRACE_BUFFERS_MAX = 1 << 21,
    FDR_TRACE_WINDOW = 4 << 20,     // bytes in memory at a time
    FDR_TRACE_RECORD_MAX = 1 << 20, // of an event with its data
    FDR_TRACE_LEVELS_SHOWN = 64,    // of nesting, by an indentation
};

enum fdr_trace_mode { FDR_TRACE_FLIGHT, FDR_TRACE_BASIC, FDR_TRACE_PROFILE };

struct fdr_trace_buffer {
    uint64_t offset; // of its first record after the extents
    uint64_t size;
    uint64_t tsc;
    int32_t tid;
    bool is_cut;
};

struct fdr_trace {
    const char *path;
    int fd;
    uint64_t size;
    enum fdr_trace_mode mode;
    struct fdr_header header; // of a profile zeros
    struct fdr_trace_buffer *buffers;
    size_t buffer_count;
    size_t buffer_capacity;
    uint8_t *window;
    uint64_t first_tsc; // the lowest of a flight recorder's buffers, or the log's first
    struct fdr_problem worst; // its status is CH_OK while there is none
    uint64_t problem_count;
};

// fdr_trace_open reads the header, and of a flight recorder trace the beginnings of its
// buffers. It reports a failure. The trace has to be closed whatever is returned.
CH_CHECKED enum ch_status fdr_trace_open(struct fdr_trace *trace, const char *path);
void fdr_trace_close(struct fdr_trace *trace);

// fdr_trace_use processes a record.
typedef enum ch_status fdr_trace_use(void *context, const struct fdr_record *record);

// fdr_trace_read passes every record of a flight recorder trace or a basic log to use.
// A failure of use ends it.
CH_CHECKED enum ch_status fdr_trace_read(struct fdr_trace *trace, fdr_trace_use *use,
                                         void *context);

// fdr_trace_profile reads a profile into data and begins with its first path.
CH_CHECKED enum ch_status fdr_trace_profile(struct fdr_trace *trace, struct text *data,
                                            struct xray_profile *out);

// fdr_trace_result is the exit code after everything was printed. status is that of
// reading; a failure or the first problem is reported.
int fdr_trace_result(const struct fdr_trace *trace, enum ch_status status);

// fdr_trace_indentation is the number of columns that a call inside depth others is
// indented by. It has a limit: a recursion of a million calls would take terabytes.
static inline int fdr_trace_indentation(size_t depth)
{
    return 2 * (int)(depth < FDR_TRACE_LEVELS_SHOWN ? depth : FDR_TRACE_LEVELS_SHOWN);
}
