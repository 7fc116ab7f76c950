// SPDX-License-Identifier: Apache-2.0
//
// Bodies that are compressed with what reports of their group have in common.
#include "collector/entry/body_prefixes.h"
#include "collector/objects/object_store.h"
#include "collector/store/store_segments.h"
#include "collector/store_fixture.h"

enum { REPORT_BYTES = 4096, WEEKS = 3 };

// write_report is report number of a program; its secret stands where values do.
static void write_report(char out[REPORT_BYTES], unsigned number)
{
    int size =
        snprintf(out, REPORT_BYTES,
                 "{\"id\":\"%u\",\"tags\":{\"k\":\"secret%u\"},\"crash\":"
                 "{\"signal\":11,\"address\":\"0x%x\"},\"process\":{\"arguments\":"
                 "[\"--password\",\"secret%u \\\" end\"]},\"threads\":[{\"values\":"
                 "[[0,[0,\"secret%u\"]]]}],\"places\":[",
                 number, number, number * 4096, number, number);
    for (int i = 0; i < 24; i++)
        size += snprintf(out + size, REPORT_BYTES - (size_t)size,
                         "%s{\"function\":\"function_%d\",\"file\":\"src/%d.c\"}",
                         i == 0 ? "" : ",", i * 7919, i * 104729);
    (void)snprintf(out + size, REPORT_BYTES - (size_t)size, "]}");
}

// send stores a report as the collector does, and returns how many bytes its body
// takes.
static size_t send(struct fixture *fixture, unsigned number, const char *project)
{
    char json[REPORT_BYTES];
    char error[STORE_ERROR_SIZE];
    struct text CH_CLEANUP(text_deinit) room = { 0 };
    struct entry entry = make_entry(fixture, number, "a", 0);
    entry_set_project(&entry, project);
    write_report(json, number);
    struct store_upload upload = { .entry = &entry,
                                   .body = json,
                                   .body_size = strlen(json) };
    store_compress_body(fixture->store, json, strlen(json), &upload, &room);
    assert_int_equal(store_add(fixture->store, &upload, 1, error), CH_OK);
    assert_int_equal(upload.outcome, STORE_ADDED);
    return upload.body_size;
}

static void keep_body(void *context, const struct store_report *report,
                      const struct store_body *body)
{
    (void)report;
    text_clear(context);
    if (body->encoding == DECODE_IDENTITY)
        text_append(context, body->bytes, body->size);
}

// check_kept finds that report number is as it was sent.
static void check_kept(struct fixture *fixture, unsigned number)
{
    char json[REPORT_BYTES];
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct entry entry = make_entry(fixture, number, "a", 0);
    write_report(json, number);
    assert_int_equal(store_find_report(fixture->store, entry.id, keep_body, &body),
                     CH_OK);
    assert_int_equal(body.size, strlen(json));
    assert_memory_equal(body.bytes, json, body.size);
}

static int64_t ask(struct fixture *fixture, const char *query)
{
    int64_t count = -1;
    struct sql *sql = fixture->store->writer;
    assert_int_equal(sql_query(sql, query, NULL, 0, sql_take_number, &count), CH_OK);
    return count;
}

static void reports_of_a_group_are_stored_as_their_differences(void **state)
{
    char whole[REPORT_BYTES];
    write_report(whole, 1);
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(send(*state, i, ""), strlen(whole));
    for (unsigned i = 4; i <= 6; i++)
        assert_true(send(*state, i, "") < strlen(whole) / 8);
    for (unsigned i = 1; i <= 6; i++)
        check_kept(*state, i);
    assert_int_equal(ask(*state, "SELECT count(*) FROM body_prefixes"), 1);
    // Another project has another prefix, even of the same bug.
    assert_int_equal(send(*state, 7, "shop"), strlen(whole));
}

static void a_collector_that_starts_again_goes_on_with_the_prefix(void **state)
{
    struct fixture *fixture = *state;
    char whole[REPORT_BYTES];
    write_report(whole, 1);
    for (unsigned i = 1; i <= 4; i++)
        send(fixture, i, "");
    store_close(fixture->store);
    fixture->store = NULL;
    assert_true(open_store(fixture));
    assert_int_equal(send(fixture, 5, ""), strlen(whole));
    assert_true(send(fixture, 6, "") < strlen(whole) / 8);
    check_kept(fixture, 4);
    check_kept(fixture, 6);
}

static void a_prefix_has_no_value_of_the_process(void **state)
{
    char json[REPORT_BYTES];
    struct text CH_CLEANUP(text_deinit) prefix = { 0 };
    (void)state;
    write_report(json, 31415926);
    body_prefix_make(json, strlen(json), &prefix);
    text_append(&prefix, "", 1);
    assert_non_null(strstr(prefix.bytes, "\"function\":\"function_7919\""));
    assert_non_null(strstr(prefix.bytes, "\"arguments\":[\"\",\"\"]"));
    assert_null(strstr(prefix.bytes, "secret"));
    assert_null(strstr(prefix.bytes, "password"));
    assert_null(strstr(prefix.bytes, "31415926"));
    // A text that ends anywhere is read to its end and no further.
    for (size_t size = 0; size < strlen(json); size++) {
        char *part = malloc(size + 1);
        assert_non_null(part);
        memcpy(part, json, size);
        text_clear(&prefix);
        body_prefix_make(part, size, &prefix);
        free(part);
    }
}

static void a_body_is_not_expanded_with_another_prefix_or_a_part(void **state)
{
    struct fixture *fixture = *state;
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    static const char bomb[] = "\x28\xb5\x2f\xfd\xa4\xff\xff\xff\x7f\x01\x00\x00";
    const struct text_part body = { bomb, sizeof(bomb) - 1 };
    const struct text_part prefix = { "x", 1 };
    assert_int_equal(body_prefix_expand(&body, &prefix, &out), CH_ERR_MALFORMED);
    for (unsigned i = 1; i <= 4; i++)
        send(fixture, i, "");
    assert_int_equal(
        sql_script(fixture->store->writer, "UPDATE body_prefixes SET bytes = 'other'"),
        CH_OK);
    struct entry entry = make_entry(fixture, 4, "a", 0);
    text_append(&out, "untouched", 9);
    assert_int_equal(store_find_report(fixture->store, entry.id, keep_body, &out),
                     CH_OK);
    assert_int_equal(out.size, 0);
}

static void compressed_bodies_are_read_from_segments(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    struct object_store *objects = NULL;
    size_t packed = 0;
    struct store_packing when = { .now_ms = fixture->now_ms + TIMESTAMP_DAY_MS,
                                  .segment_bytes = 1 << 20,
                                  .patience_ms = 1000 };
    assert_int_equal(object_store_open(folder_path(fixture->folder, "objects"),
                                       fixture->store, error, &objects),
                     CH_OK);
    assert_int_equal(store_use_objects(fixture->store, objects, error), CH_OK);
    for (unsigned i = 1; i <= 5; i++)
        send(fixture, i, "");
    assert_int_equal(store_pack(fixture->store, &when, &packed, error), CH_OK);
    assert_int_equal(packed, 5);
    for (unsigned i = 1; i <= 5; i++)
        check_kept(fixture, i);
    object_store_close(objects);
}

static void a_prefix_goes_after_its_last_body(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    fixture->now_ms -= WEEKS * (int64_t)STORE_WEEK_MS;
    for (unsigned i = 1; i <= 4; i++)
        send(fixture, i, "");
    assert_int_equal(store_drop_prefixes(fixture->store, error), CH_OK);
    assert_int_equal(ask(fixture, "SELECT count(*) FROM body_prefixes"), 1);
    check_kept(fixture, 4);
    assert_int_equal(sql_script(fixture->store->writer, "DELETE FROM bodies"), CH_OK);
    assert_int_equal(store_drop_prefixes(fixture->store, error), CH_OK);
    assert_int_equal(ask(fixture, "SELECT count(*) FROM body_prefixes"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(reports_of_a_group_are_stored_as_their_differences),
        STORE_TEST(a_collector_that_starts_again_goes_on_with_the_prefix),
        cmocka_unit_test(a_prefix_has_no_value_of_the_process),
        STORE_TEST(a_body_is_not_expanded_with_another_prefix_or_a_part),
        STORE_TEST(compressed_bodies_are_read_from_segments),
        STORE_TEST(a_prefix_goes_after_its_last_body),
    };
    return cmocka_run_group_tests_name("collector/store_prefixes", tests, NULL, NULL);
}
