// SPDX-License-Identifier: Apache-2.0
//
// Bodies in segments: objects in a folder, or, where CRASHHOOK_TEST_S3 names a bucket,
// in there: s3.py runs the same tests over the S3 protocol.
#include "collector/objects/object_store.h"
#include "collector/store/store_segments.h"
#include "collector/store_fixture.h"

#define HOUR_MS (3600 * (int64_t)1000)

struct segments {
    struct fixture *fixture;
    struct object_store *objects;
    char place[512];
};

static bool use(struct segments *segments, struct object_store *objects)
{
    char error[STORE_ERROR_SIZE];
    bool used = store_use_objects(segments->fixture->store, objects, error) == CH_OK;
    if (!used)
        print_error("%s\n", error);
    return used;
}

static int segments_setup(void **state)
{
    static int made;
    char why[OBJECT_WHY_SIZE];
    const char *bucket = getenv("CRASHHOOK_TEST_S3");
    struct segments *segments = calloc(1, sizeof(*segments));
    void *fixture = NULL;
    if (segments == NULL || setup(&fixture) != 0)
        return -1;
    segments->fixture = fixture;
    // Each test has a prefix of its own: `s3://BUCKET/%d?...`.
    if (bucket != NULL)
        (void)snprintf(segments->place, sizeof(segments->place), "s3://segments/%d?%s",
                       ++made, bucket);
    else
        (void)snprintf(segments->place, sizeof(segments->place), "%s",
                       folder_path(segments->fixture->folder, "objects"));
    *state = segments;
    if (object_store_open(segments->place, segments->fixture->store, why,
                          &segments->objects) == CH_OK)
        return use(segments, segments->objects) ? 0 : -1;
    print_error("%s\n", why);
    return -1;
}

static int segments_teardown(void **state)
{
    struct segments *segments = *state;
    void *fixture = segments->fixture;
    object_store_close(segments->objects);
    free(segments);
    return teardown(&fixture);
}

#define SEGMENTS_TEST(test)                                                            \
    cmocka_unit_test_setup_teardown(test, segments_setup, segments_teardown)

// pack packs what came until now and is that old, and gives how many bodies, or -1.
static int pack(struct segments *segments, size_t bytes, int64_t patience_ms)
{
    char error[STORE_ERROR_SIZE];
    size_t packed = 0;
    struct store_packing when = { .now_ms = segments->fixture->now_ms + 10 * HOUR_MS,
                                  .segment_bytes = bytes,
                                  .patience_ms = patience_ms };
    if (store_pack(segments->fixture->store, &when, &packed, error) == CH_OK)
        return (int)packed;
    print_error("%s\n", error);
    return -1;
}

static int64_t count_segments(struct segments *segments)
{
    struct store_staged staged;
    return store_staged_of(segments->fixture->store, &staged) == CH_OK ? staged.segments
                                                                       : -1;
}

static bool has(struct segments *segments, unsigned number, const char *body)
{
    struct entry entry = make_entry(segments->fixture, number, "", 0);
    struct seen seen = { 0 };
    return store_find_report(segments->fixture->store, entry.id, see_body, &seen) ==
               CH_OK &&
           strcmp(seen.body, body) == 0;
}

// put stores report number with a body of its own, received weeks ago.
static void put(struct segments *segments, unsigned number, int weeks, const char *body)
{
    struct entry entry = make_entry(segments->fixture, number, "aaaaaaaa", 0);
    entry.received_ms -= weeks * 7 * (int64_t)TIMESTAMP_DAY_MS;
    assert_int_equal(add(segments->fixture, &entry, body), STORE_ADDED);
}

// seen_objects is what a listing visited.
struct seen_objects {
    int count;
    char name[OBJECT_NAME_SIZE]; // of the last
};

static void see_object(void *context, const struct object_seen *object)
{
    struct seen_objects *seen = context;
    seen->count++;
    (void)snprintf(seen->name, sizeof(seen->name), "%s", object->name);
}

static struct seen_objects list_objects(struct segments *segments)
{
    struct seen_objects seen = { 0 };
    char why[OBJECT_WHY_SIZE];
    if (object_store_list(segments->objects, "bodies", see_object, &seen, why) != CH_OK)
        seen.count = -1;
    return seen;
}

static void bodies_are_packed_together_and_read_as_before(void **state)
{
    struct segments *segments = *state;
    put(segments, 1, 0, "the first body");
    put(segments, 2, 0, "");
    put(segments, 3, 0, "the third body");
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 3);
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 0);
    assert_int_equal(count_segments(segments), 1);
    assert_int_equal(list_objects(segments).count, 1);
    assert_true(has(segments, 1, "the first body"));
    assert_true(has(segments, 2, ""));
    assert_true(has(segments, 3, "the third body"));
    put(segments, 4, 0, "a later one");
    assert_true(has(segments, 4, "a later one"));
}

static void a_segment_is_filled_or_waits(void **state)
{
    struct segments *segments = *state;
    for (unsigned i = 0; i < 5; i++)
        put(segments, i, 0, "0123456789");
    assert_int_equal(pack(segments, 1 << 20, 20 * HOUR_MS), 0);
    assert_int_equal(pack(segments, 30, 20 * HOUR_MS), 3);
    assert_int_equal(pack(segments, 30, 20 * HOUR_MS), 0);
    assert_int_equal(pack(segments, 30, HOUR_MS), 2);
    assert_int_equal(count_segments(segments), 2);
}

static void a_segment_holds_bodies_of_one_week(void **state)
{
    struct segments *segments = *state;
    put(segments, 1, 3, "of three weeks ago");
    put(segments, 2, 3, "of the same week");
    put(segments, 3, 0, "of this week");
    assert_int_equal(pack(segments, 1 << 20, 20 * HOUR_MS), 2);
    assert_int_equal(pack(segments, 1 << 20, 20 * HOUR_MS), 0);
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 1);
    assert_true(has(segments, 2, "of the same week"));
    assert_true(has(segments, 3, "of this week"));
}

static void a_newer_revision_is_packed_anew(void **state)
{
    struct segments *segments = *state;
    put(segments, 1, 0, "revision one");
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 1);
    struct entry entry = make_entry(segments->fixture, 1, "aaaaaaaa", 0);
    entry.revision = 2;
    assert_int_equal(add(segments->fixture, &entry, "revision two"), STORE_REPLACED);
    assert_true(has(segments, 1, "revision two"));
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 1);
    assert_true(has(segments, 1, "revision two"));
    assert_int_equal(count_segments(segments), 2);
}

static void segments_without_bodies_are_removed_after_a_day(void **state)
{
    struct segments *segments = *state;
    struct fixture *fixture = segments->fixture;
    char error[STORE_ERROR_SIZE];
    size_t dropped = 0;
    int64_t packed_ms = fixture->now_ms + 10 * HOUR_MS;
    put(segments, 1, 3, "of three weeks ago");
    put(segments, 2, 0, "of this week");
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 1);
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 1);
    struct store_retention week = { .age_ms = 7 * (int64_t)TIMESTAMP_DAY_MS };
    size_t removed = 0;
    assert_int_equal(store_trim(fixture->store, &week, &removed, error), CH_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(store_drop_weeks(fixture->store, fixture->now_ms, &removed, error),
                     CH_OK);
    int64_t day_ms = packed_ms + TIMESTAMP_DAY_MS;
    assert_int_equal(store_drop_segments(fixture->store, day_ms, &dropped, error),
                     CH_OK);
    assert_int_equal(dropped, 0);
    assert_int_equal(store_drop_segments(fixture->store, day_ms + 1, &dropped, error),
                     CH_OK);
    assert_int_equal(dropped, 1);
    assert_int_equal(list_objects(segments).count, 1);
    assert_int_equal(count_segments(segments), 1);
    assert_true(has(segments, 2, "of this week"));
}

static void objects_that_no_row_names_are_removed_after_a_day(void **state)
{
    struct segments *segments = *state;
    struct fixture *fixture = segments->fixture;
    char error[STORE_ERROR_SIZE];
    char stray[OBJECT_NAME_SIZE + 8];
    char bytes[] = "packed before its collector was killed";
    struct object_source source = { .file = fmemopen(bytes, sizeof(bytes), "r"),
                                    .size = sizeof(bytes) };
    size_t dropped = 0;
    put(segments, 1, 0, "a body");
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 1);
    (void)snprintf(stray, sizeof(stray), "%sx", list_objects(segments).name);
    assert_int_equal(object_store_sum(source.file, source.size, source.sum), CH_OK);
    enum ch_status put = object_store_put(segments->objects, stray, &source, error);
    (void)fclose(source.file);
    assert_int_equal(put, CH_OK);
    int64_t now_ms = timestamp_now();
    assert_int_equal(store_drop_strays(fixture->store, now_ms, &dropped, error), CH_OK);
    assert_int_equal(dropped, 0);
    assert_int_equal(store_drop_strays(fixture->store, now_ms + 2 * TIMESTAMP_DAY_MS,
                                       &dropped, error),
                     CH_OK);
    assert_int_equal(dropped, 1);
    assert_int_equal(list_objects(segments).count, 1);
    assert_true(has(segments, 1, "a body"));
}

static void a_database_does_not_open_without_the_place_of_its_bodies(void **state)
{
    struct segments *segments = *state;
    char error[STORE_ERROR_SIZE] = "";
    put(segments, 1, 0, "a body");
    assert_true(use(segments, NULL));
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 1);
    assert_int_equal(store_use_objects(segments->fixture->store, NULL, error),
                     CH_ERR_UNSUPPORTED);
    assert_non_null(strstr(error, "1 segments of bodies are not in the database"));
}

static void a_body_whose_object_is_lost_is_a_failure_and_no_other_report(void **state)
{
    struct segments *segments = *state;
    char why[OBJECT_WHY_SIZE];
    struct seen seen = { 0 };
    put(segments, 1, 0, "lost");
    assert_int_equal(pack(segments, 1 << 20, HOUR_MS), 1);
    put(segments, 2, 0, "here");
    assert_int_equal(
        object_store_remove(segments->objects, list_objects(segments).name, why),
        CH_OK);
    struct entry entry = make_entry(segments->fixture, 1, "", 0);
    assert_int_equal(
        store_find_report(segments->fixture->store, entry.id, see_body, &seen),
        CH_ERR_IO);
    assert_true(has(segments, 2, "here"));
}

static void an_object_is_read_in_parts_and_whole(void **state)
{
    struct segments *segments = *state;
    char why[OBJECT_WHY_SIZE];
    char bytes[] = "0123456789";
    char *whole = NULL;
    size_t size = 0;
    struct text part = { 0 };
    struct object_source source = { .file = fmemopen(bytes, 10, "r"), .size = 10 };
    FILE *to = open_memstream(&whole, &size);
    assert_int_equal(object_store_sum(source.file, 10, source.sum), CH_OK);
    assert_int_equal(object_store_put(segments->objects, "a/b-1.c", &source, why),
                     CH_OK);
    assert_int_equal(object_store_read(segments->objects, "a/b-1.c", 3, 4, &part, why),
                     CH_OK);
    assert_string_equal(part.bytes, "3456");
    assert_int_equal(object_store_get(segments->objects, "a/b-1.c", to, why), CH_OK);
    (void)fclose(to);
    assert_int_equal(size, 10);
    assert_memory_equal(whole, bytes, 10);
    assert_int_equal(object_store_read(segments->objects, "a/none", 0, 1, &part, why),
                     CH_ERR_NOT_FOUND);
    assert_int_equal(object_store_remove(segments->objects, "a/none", why), CH_OK);
    text_deinit(&part);
    free(whole);
    (void)fclose(source.file);
}

static void a_place_that_cannot_be_is_refused(void **state)
{
    static const char *const places[] = {
        "",
        "/proc/nowhere",
        "s3://",
        "s3://bucket/a b",
        "s3://bucket?endpoint=ftp://x",
        "s3://bucket?colour=red",
        "s3:/bucket",
    };
    struct object_store *objects = NULL;
    char why[OBJECT_WHY_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        why[0] = 0;
        assert_int_not_equal(object_store_open(places[i], NULL, why, &objects), CH_OK);
        assert_null(objects);
        assert_int_not_equal(why[0], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEGMENTS_TEST(bodies_are_packed_together_and_read_as_before),
        SEGMENTS_TEST(a_segment_is_filled_or_waits),
        SEGMENTS_TEST(a_segment_holds_bodies_of_one_week),
        SEGMENTS_TEST(a_newer_revision_is_packed_anew),
        SEGMENTS_TEST(segments_without_bodies_are_removed_after_a_day),
        SEGMENTS_TEST(objects_that_no_row_names_are_removed_after_a_day),
        SEGMENTS_TEST(a_database_does_not_open_without_the_place_of_its_bodies),
        SEGMENTS_TEST(a_body_whose_object_is_lost_is_a_failure_and_no_other_report),
        SEGMENTS_TEST(an_object_is_read_in_parts_and_whole),
        cmocka_unit_test(a_place_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("collector/store_segments", tests, NULL, NULL);
}
