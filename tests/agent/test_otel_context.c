// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/otel_context.h"

#include <stddef.h>

#include "support/bytes.h"
#include "support/fake_memory.h"
#include "support/test.h"

enum { HEADER = 0x10000, PAYLOAD = 0x20000 };

// Attributes a = "b" and n = 7, threads' records of a form that is not known, and one
// name of their attributes.
static const uint8_t resource[] =
    "\x0a\x08\x0a\x01\x61\x12\x03\x0a\x01\x62"
    "\x0a\x07\x0a\x01\x6e\x12\x02\x18\x07"
    "\x0a\x23\x0a\x1athreadlocal.schema_version\x12\x05\x0a\x03odd"
    "\x0a\x29\x0a\x1dthreadlocal.attribute_key_map\x12\x08\x2a\x06\x0a\x04\x0a\x02ok";

enum { RESOURCE_SIZE = sizeof(resource) - 1 };

// written gives the report's member for a process that publishes size bytes; the caller
// frees it.
static char *written(const uint8_t *bytes, size_t size)
{
    uint8_t header[32] = "OTEL_CTX\2";
    const uint64_t published = 1;
    const uint64_t payload = PAYLOAD;
    const uint32_t length = (uint32_t)size;
    memcpy(header + 12, &length, sizeof(length));
    memcpy(header + 16, &published, sizeof(published));
    memcpy(header + 24, &payload, sizeof(payload));
    const struct fake_region regions[] = { { HEADER, header, sizeof(header) },
                                           { PAYLOAD, bytes, size } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    static const char name[] = "/memfd:OTEL_CTX";
    struct target_mapping mapping = { .start = HEADER,
                                      .end = HEADER + 4096,
                                      .path = name,
                                      .path_size = sizeof(name) - 1 };
    const struct settings settings = { .sanitize = SETTING_NO };
    struct capture capture = { .settings = &settings,
                               .reader = fake_memory_reader(&memory),
                               .images = { .mappings = &mapping, .mapping_count = 1 } };
    struct otel_context context;
    struct json_writer w;
    otel_context_read(&capture, &context);
    json_writer_init(&w, -1);
    json_write_object(&w);
    otel_context_write(&w, &capture, &context);
    json_write_end(&w, '}');
    char *out =
        json_writer_finish(&w) == CH_OK ? strndup(w.text.bytes, w.text.size) : NULL;
    json_writer_deinit(&w);
    otel_context_deinit(&context);
    return out;
}

static void attributes_are_written_except_what_is_for_readers_alone(void **state)
{
    (void)state;
    char *out = written(resource, RESOURCE_SIZE);
    assert_non_null(out);
    assert_string_equal(out, "{\"resource\":[{\"key\":\"a\",\"value\":\"b\"},"
                             "{\"key\":\"n\",\"value\":\"7\"}]}");
    free(out);
    out = written((const uint8_t *)"", 0);
    assert_string_equal(out, "{}");
    free(out);
}

static int visit(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    char *out = written(bytes, size);
    int result = out == NULL;
    free(out);
    return result;
}

static void damaged_resources_are_survived(void **state)
{
    (void)state;
    assert_int_equal(bytes_cut_everywhere(resource, RESOURCE_SIZE, visit, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(resource, RESOURCE_SIZE, visit, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_are_written_except_what_is_for_readers_alone),
        cmocka_unit_test(damaged_resources_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
