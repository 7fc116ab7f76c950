// SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>

#include "collector/requests/minidump_report.h"
#include "support/bytes.h"
#include "support/test.h"

#define PART(name, value)                                                              \
    "--b\r\nContent-Disposition: form-data; name=\"" name "\"; filename=\"x\"\r\n"     \
    "Content-Type: text/plain\r\n\r\n" value "\r\n"

static const char form[] = PART("ver", "1.4") PART("empty", "")
    PART("sentry", "{\"environment\":\"test\",\"tags\":{\"n\":1,\"a\":\"b\"}}")
        PART("sentry[tags][till]", "7") PART("upload_file_minidump", "MDMP\r\n--\0x")
            PART("upload_file_minidump", "second") PART("password", "secret")
                PART("ver", "2") "--b--\r\n";

static const char envelope[] =
    "{}\n"
    "{\"type\":\"event\"}\n"
    "{\"release\":\"3\",\"tags\":[[\"a\",\"b\"],[\"odd\"],7,[1,2]]}\n"
    "{\"type\":\"attachment\",\"length\":3}\nno\n\n"
    "{\"type\":\"attachment\",\"attachment_type\":\"event.minidump\",\"length\":6}\n"
    "MD\nP\n\n\n"
    "{\"type\":\"event\"}\n{\"environment\":\"late\"}";

struct reading {
    char dump[32];
    json_t *facts;
};

static enum ch_status read_body(enum minidump_body_form kind, const void *bytes,
                                size_t size, struct reading *out)
{
    struct cursor dump;
    const char *why;
    out->facts = json_object();
    enum ch_status status =
        minidump_body_read(kind, bytes, size, out->facts, &dump, &why);
    if (status != CH_OK)
        return why != NULL ? status : CH_ERR_IO;
    size_t dump_size = cursor_left(&dump);
    memset(out->dump, 0, sizeof(out->dump));
    memcpy(out->dump, cursor_take(&dump, dump_size),
           dump_size < sizeof(out->dump) ? dump_size : sizeof(out->dump) - 1);
    return CH_OK;
}

// has_facts compares what was found with JSON, and releases it.
static bool has_facts(struct reading *reading, const char *expected)
{
    char *found = json_dumps(reading->facts, JSON_COMPACT | JSON_SORT_KEYS);
    bool equal = found != NULL && strcmp(found, expected) == 0;
    if (!equal)
        print_error("%s\n", found);
    free(found);
    json_decref(reading->facts);
    return equal;
}

static void a_form_has_a_minidump_and_facts(void **state)
{
    (void)state;
    struct reading reading;
    assert_int_equal(read_body(MINIDUMP_BODY_FORM, form, sizeof(form) - 1, &reading),
                     CH_OK);
    assert_memory_equal(reading.dump, "MDMP\r\n--\0x", 11);
    assert_true(has_facts(&reading,
                          "{\"environment\":\"test\",\"release\":\"1.4\",\"tags\":{"
                          "\"a\":\"b\",\"password\":\"***\",\"till\":\"7\"}}"));
}

static void an_envelope_has_a_minidump_and_an_event(void **state)
{
    (void)state;
    struct reading reading;
    assert_int_equal(
        read_body(MINIDUMP_BODY_ENVELOPE, envelope, sizeof(envelope) - 1, &reading),
        CH_OK);
    assert_string_equal(reading.dump, "MD\nP\n\n");
    assert_true(has_facts(&reading, "{\"environment\":\"late\",\"release\":\"3\","
                                    "\"tags\":{\"a\":\"b\"}}"));
}

static int survive(const uint8_t *bytes, size_t size, void *context)
{
    struct reading reading;
    enum ch_status status =
        read_body(*(enum minidump_body_form *)context, bytes, size, &reading);
    json_decref(reading.facts);
    return status != CH_OK && status != CH_ERR_MALFORMED;
}

static void damage_is_survived_everywhere(void **state)
{
    (void)state;
    enum minidump_body_form kind = MINIDUMP_BODY_FORM;
    const uint8_t *bytes = (const uint8_t *)form;
    assert_int_equal(bytes_cut_everywhere(bytes, sizeof(form) - 1, survive, &kind), 0);
    assert_int_equal(bytes_flip_every_bit(bytes, sizeof(form) - 1, survive, &kind), 0);
    kind = MINIDUMP_BODY_ENVELOPE;
    bytes = (const uint8_t *)envelope;
    assert_int_equal(bytes_cut_everywhere(bytes, sizeof(envelope) - 1, survive, &kind),
                     0);
    assert_int_equal(bytes_flip_every_bit(bytes, sizeof(envelope) - 1, survive, &kind),
                     0);
}

static void tags_are_limited(void **state)
{
    (void)state;
    json_t *facts = json_object();
    char name[16];
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof(name), "tag%d", i);
        minidump_body_note(facts, name, "x");
    }
    size_t count = json_object_size(json_object_get(facts, "tags"));
    json_decref(facts);
    assert_in_range(count, 32, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_form_has_a_minidump_and_facts),
        cmocka_unit_test(an_envelope_has_a_minidump_and_an_event),
        cmocka_unit_test(damage_is_survived_everywhere),
        cmocka_unit_test(tags_are_limited),
    };
    return cmocka_run_group_tests_name("collector/minidump_body", tests, NULL, NULL);
}
