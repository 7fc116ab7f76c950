// SPDX-License-Identifier: Apache-2.0
//
// A program's context for OpenTelemetry: the input is the mapping and what it points
// to.
#include "agent/facts/otel_context.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { HEADER = 0x10000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char name[] = "/memfd:OTEL_CTX";
    const struct fake_region region = { HEADER, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct target_mapping mapping = { .start = HEADER,
                                      .end = HEADER + 4096,
                                      .path = name,
                                      .path_size = sizeof(name) - 1 };
    const struct settings settings = { .sanitize = SETTING_NO };
    struct capture capture = { .settings = &settings,
                               .arch = &unwind_arch_amd64,
                               .reader = fake_memory_reader(&memory),
                               .images = { .mappings = &mapping, .mapping_count = 1 } };
    struct otel_context context = { 0 };
    struct json_writer w;
    otel_context_read(&capture, &context);
    // A thread's variable is the last word.
    context.has_variable = true;
    json_writer_init(&w, -1);
    json_write_object(&w);
    otel_context_write(&w, &capture, &context);
    otel_thread_write(&w, &capture, &context, size >= 8 ? HEADER + size - 8 : 0);
    json_write_end(&w, '}');
    (void)!json_writer_finish(&w);
    json_writer_deinit(&w);
    otel_context_deinit(&context);
    return 0;
}
