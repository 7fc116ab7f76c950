// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/otel_context.h"

#include <stddef.h>
#include <stdio.h>

#include "support/bytes.h"
#include "support/fake_memory.h"
#include "support/test.h"

// SLOT is where a thread's pointer to its record is.
enum { HEADER = 0x10000, PAYLOAD = 0x20000, SLOT = 0x30000, RECORD = 0x40000 };

// KeyValues a = "b" and n = 7; threads' records of a form that is not known; the names
// of their attributes, of which the second is no text.
#define PAIR_A "\x0a\x01\x61\x12\x03\x0a\x01\x62"
#define PAIR_N "\x0a\x01\x6e\x12\x02\x18\x07"
#define FORM "\x0a\x1athreadlocal.schema_version\x12\x05\x0a\x03odd"
#define NAMES                                                                          \
    "\x0a\x1dthreadlocal.attribute_key_map\x12\x14\x2a\x12\x0a\x04\x0a\x02ok"          \
    "\x0a\x04\x3a\x02no\x0a\x04\x0a\x02up"

// What is published, as ProcessContext and as the Resource of earlier drafts.
static const uint8_t process_context[] = "\x0a\x15\x0a\x08" PAIR_A "\x0a\x07" PAIR_N
                                         "\x10\x02\x12\x23" FORM "\x12\x35" NAMES;
static const uint8_t resource[] =
    "\x0a\x08" PAIR_A "\x0a\x07" PAIR_N "\x0a\x23" FORM "\x0a\x35" NAMES "\x10\x02";

#define RESOURCE_SHOWN                                                                 \
    "\"resource\":[{\"key\":\"a\",\"value\":\"b\"},{\"key\":\"n\",\"value\":\"7\"}]"

// A record's trace and span; its valid byte, flags and size follow.
#define IDS "0123456789abcdefABCDEFGH"
#define IDS_SHOWN                                                                      \
    "\"trace_id\":\"30313233343536373839616263646566\","                               \
    "\"span_id\":\"4142434445464748\",\"flags\":1"

struct published {
    const uint8_t *payload;
    size_t payload_size;
    const void *record;
    size_t record_size;
};

// written gives the report's members for a process that publishes these; the caller
// frees it.
static char *written(const struct published *published)
{
    uint8_t header[32] = "OTEL_CTX\2";
    const uint64_t number = 1;
    const uint64_t payload = PAYLOAD;
    const uint64_t slot = RECORD;
    const uint32_t length = (uint32_t)published->payload_size;
    memcpy(header + 12, &length, sizeof(length));
    memcpy(header + 16, &number, sizeof(number));
    memcpy(header + 24, &payload, sizeof(payload));
    const struct fake_region regions[] = {
        { HEADER, header, sizeof(header) },
        { PAYLOAD, published->payload, published->payload_size },
        { SLOT, &slot, sizeof(slot) },
        { RECORD, published->record, published->record_size },
    };
    struct fake_memory memory = { .regions = regions, .region_count = 4 };
    static const char name[] = "/memfd:OTEL_CTX";
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
    context.has_variable = true;
    json_writer_init(&w, -1);
    json_write_object(&w);
    otel_context_write(&w, &capture, &context);
    otel_thread_write(&w, &capture, &context, SLOT);
    json_write_end(&w, '}');
    char *out =
        json_writer_finish(&w) == CH_OK ? strndup(w.text.bytes, w.text.size) : NULL;
    json_writer_deinit(&w);
    otel_context_deinit(&context);
    return out;
}

static void attributes_are_those_of_the_resource_in_either_message(void **state)
{
    (void)state;
    static const struct published messages[] = {
        { process_context, sizeof(process_context) - 1, "", 0 },
        { resource, sizeof(resource) - 1, "", 0 },
    };
    for (size_t i = 0; i < 2; i++) {
        char *out = written(&messages[i]);
        assert_non_null(out);
        assert_string_equal(out, "{" RESOURCE_SHOWN "}");
        free(out);
    }
    static const struct published none = { (const uint8_t *)"", 0, "", 0 };
    char *out = written(&none);
    assert_string_equal(out, "{}");
    free(out);
}

#define RECORD_ROW(bytes) bytes, sizeof(bytes) - 1

static void a_record_shows_no_more_than_it_has(void **state)
{
    (void)state;
    static const struct {
        const char *record;
        size_t size;
        const char *shown; // NULL: no trace
    } rows[] = {
        { RECORD_ROW(IDS "\1\1\x06\0\0\1x\2\1y"),
          IDS_SHOWN ",\"attributes\":[{\"key\":\"ok\",\"value\":\"x\"},"
                    "{\"key\":\"up\",\"value\":\"y\"}]" },
        // The first value again, a name that is no text, and one that is not there.
        { RECORD_ROW(IDS "\1\1\x0c\0\0\1x\0\1z\1\1y\xff\1w"),
          IDS_SHOWN ",\"attributes\":[{\"key\":\"ok\",\"value\":\"z\"}]" },
        // It is being written, or was never.
        { RECORD_ROW(IDS "\0\1\0\0"), NULL },
        { RECORD_ROW(IDS "\2\1\0\0"), NULL },
        { RECORD_ROW(IDS), NULL },
        { RECORD_ROW(""), NULL },
        // A trace without a span, and a span without a trace.
        { RECORD_ROW("0123456789abcdef\0\0\0\0\0\0\0\0\1\1\0\0"), NULL },
        { RECORD_ROW("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0ABCDEFGH\1\1\0\0"), NULL },
        { RECORD_ROW("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\1\3\0\0\1x"),
          "\"attributes\":[{\"key\":\"ok\",\"value\":\"x\"}]" },
        // Attributes beyond the memory, beyond every record, and beyond their record.
        { RECORD_ROW(IDS "\1\1\x40\0\0\1x"), IDS_SHOWN },
        { RECORD_ROW(IDS "\1\1\xff\xff\0\1x"), IDS_SHOWN },
        { RECORD_ROW(IDS "\1\1\x05\0\0\1x\2\1y"),
          IDS_SHOWN ",\"attributes\":[{\"key\":\"ok\",\"value\":\"x\"}]" },
        { RECORD_ROW(IDS "\1\1\1\0\0"), IDS_SHOWN },
        // Text that is not UTF-8, and a control character.
        { RECORD_ROW(IDS "\1\1\x04\0\0\2\xff\1"), IDS_SHOWN
          ",\"attributes\":[{\"key\":\"ok\",\"value\":\"\xef\xbf\xbd\\u0001\"}]" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char expected[512];
        const struct published published = { process_context,
                                             sizeof(process_context) - 1,
                                             rows[i].record, rows[i].size };
        char *out = written(&published);
        assert_non_null(out);
        (void)snprintf(expected, sizeof(expected),
                       rows[i].shown != NULL ? "{" RESOURCE_SHOWN ",\"trace\":{%s}}"
                                             : "{" RESOURCE_SHOWN "}",
                       rows[i].shown);
        assert_string_equal(out, expected);
        free(out);
    }
}

static int visit(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    const struct published published = { bytes, size,
                                         RECORD_ROW(IDS "\1\1\x06\0\0\1x\2\1y") };
    char *out = written(&published);
    int result = out == NULL;
    free(out);
    return result;
}

static void damaged_messages_are_survived(void **state)
{
    (void)state;
    const size_t size = sizeof(process_context) - 1;
    assert_int_equal(bytes_cut_everywhere(process_context, size, visit, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(process_context, size, visit, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(resource, sizeof(resource) - 1, visit, NULL),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_are_those_of_the_resource_in_either_message),
        cmocka_unit_test(a_record_shows_no_more_than_it_has),
        cmocka_unit_test(damaged_messages_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
