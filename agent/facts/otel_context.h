// SPDX-License-Identifier: Apache-2.0
//
// What a program publishes of itself to readers outside of it for OpenTelemetry: the
// attributes of its resource (process context, OTEP 4719), and which trace and span a
// thread works for (thread context, OTEP 4947).
//
// The process context is a mapping named OTEL_CTX with a header that points to a
// message in protobuf. Its attributes say whether threads have a record, to which a
// variable in thread-local storage points. All of it is the program's memory at the
// crash: sizes are limited, and a record that was being written is left out. Users:
// raw_report, raw_threads.
#pragma once
#include "agent/live/capture.h"
#include "base/cursor.h"
#include "report/json/json_writer.h"

enum { OTEL_KEYS_MAX = 256 };

struct otel_context {
    struct text payload; // a message in protobuf; empty: none is published
    struct cursor keys[OTEL_KEYS_MAX]; // names of the attributes in threads' records
    size_t key_count;
    bool has_variable;    // otel_thread_ctx_v1 was found, in one of these ways:
    uint64_t module;      // its module's number in each thread's vector; 0: not known
    uint64_t offset;      // in the module's block
    uint64_t from_thread; // distance of the program's block from the thread pointer
};

// otel_context_read finds the context of the captured process. out is all zero, stays
// so where there is none, and must be deinited.
void otel_context_read(const struct capture *capture, struct otel_context *out);
void otel_context_deinit(struct otel_context *context);

// otel_context_write writes the member `resource`, unless nothing is published.
void otel_context_write(struct json_writer *w, const struct capture *capture,
                        const struct otel_context *context);

// otel_thread_write writes the member `trace` of a thread, unless it has no valid
// record.
void otel_thread_write(struct json_writer *w, const struct capture *capture,
                       const struct otel_context *context, uint64_t thread_pointer);
