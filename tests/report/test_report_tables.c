// SPDX-License-Identifier: Apache-2.0
#include "report/value/report.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/file/report_pack.h"
#include "support/bytes.h"
#include "support/test.h"

// A report whose two threads share a stack, where one call is inlined; the second has
// the values of the inlined call's variable and of the function's.
#define HEAD                                                                           \
    "{\"schema\":\"crashhook.report/2\","                                              \
    "\"id\":\"01928374-5566-7788-99aa-bbccddeeff00\",\"revision\":1,"                  \
    "\"time\":\"2024-10-12T22:13:50.758Z\","
#define IMAGES "\"images\":[{\"base\":\"0x10\",\"path\":\"/x\"}]}"
#define THREADS                                                                        \
    "\"threads\":[{\"tid\":7,\"crashed\":true,\"stack\":0},"                           \
    "{\"tid\":8,\"stack\":0,\"values\":[[1,[0,5],[1],[2,\"0x1\",null]]]}],"
#define STACKS                                                                         \
    "\"stacks\":[{\"cbf\":\"AA==\",\"ended\":\"limit\","                               \
    "\"frames\":[0,1,{\"kind\":\"omit\",\"count\":3},0]}],"
#define PLACES                                                                         \
    "\"places\":[{\"kind\":\"pc\",\"address\":\"0x1f\"},"                              \
    "{\"kind\":\"ra\",\"address\":\"0x20\",\"image\":0,\"image_offset\":\"0x10\","     \
    "\"function\":\"f\",\"inline\":false,"                                             \
    "\"inlined\":[{\"function\":\"g\",\"inline\":true}],"                              \
    "\"variables\":[{\"index\":0,\"confidence\":\"exact\",\"inlined\":0,"              \
    "\"varies\":[\"value\"]},"                                                         \
    "{\"index\":0,\"confidence\":\"unavailable\"},"                                    \
    "{\"index\":0,\"confidence\":\"exact\",\"list\":\"locals\","                       \
    "\"varies\":[\"value\",\"entry_value\"]}]}],"
#define SMALL HEAD THREADS STACKS PLACES IMAGES

static json_t *open_text(const char *text)
{
    struct report_error error;
    json_t *report = NULL;
    return report_parse(text, strlen(text), &report, &error) == CH_OK ? report : NULL;
}

static json_t *read_file(const char *folder, const char *name)
{
    char path[512];
    struct report_error error;
    json_t *report = NULL;
    (void)snprintf(path, sizeof(path), "%s/%s/%s", CASES, folder, name);
    int fd = open(path, O_RDONLY);
    enum ch_status status = report_read(fd, &report, &error);
    (void)close(fd);
    if (status != CH_OK)
        fprintf(stderr, "%s: %s\n", path, error.text);
    return status == CH_OK ? report : NULL;
}

static const json_t *frame_at(const json_t *report, size_t thread, size_t index)
{
    const json_t *one = json_array_get(json_object_get(report, "threads"), thread);
    return json_array_get(report_frames(one), index);
}

static void tables_put_every_frame_in_its_place(void **state)
{
    (void)state;
    json_t *report = open_text(SMALL);
    json_t *expected = json_loads(
        "[{\"kind\":\"pc\",\"address\":\"0x1f\"},"
        "{\"kind\":\"ra\",\"address\":\"0x20\",\"image\":0,\"image_offset\":\"0x10\","
        "\"function\":\"g\",\"inline\":true,"
        "\"arguments\":[{\"index\":0,\"confidence\":\"exact\",\"value\":5}]},"
        "{\"kind\":\"ra\",\"address\":\"0x20\",\"image\":0,\"image_offset\":\"0x10\","
        "\"function\":\"f\",\"inline\":false,"
        "\"arguments\":[{\"index\":0,\"confidence\":\"unavailable\"}],"
        "\"locals\":[{\"index\":0,\"confidence\":\"exact\",\"value\":\"0x1\","
        "\"entry_value\":null}]},"
        "{\"kind\":\"omit\",\"count\":3},"
        "{\"kind\":\"pc\",\"address\":\"0x1f\"}]",
        0, NULL);
    const json_t *second = json_array_get(json_object_get(report, "threads"), 1);
    bool equal = json_equal(report_frames(second), expected) == 1;
    bool alone = json_object_get(frame_at(report, 0, 1), "arguments") == NULL;
    bool gone = json_object_get(report, "places") == NULL &&
                json_object_get(report, "stacks") == NULL &&
                json_object_get(second, "values") == NULL;
    json_decref(expected);
    json_decref(report);
    assert_true(equal);
    assert_true(alone);
    assert_true(gone);
}

// drop_values removes the values from the frames of a thread.
static void drop_values(const json_t *thread)
{
    json_t *frames = report_frames(thread);
    for (size_t k = 0; k < json_array_size(frames); k++) {
        (void)json_object_del(json_array_get(frames, k), "arguments");
        (void)json_object_del(json_array_get(frames, k), "locals");
        (void)json_object_del(json_array_get(frames, k), "globals");
    }
}

// SHARED is a report in which both threads have values, BAD one in which a value of the
// thread that did not crash names no variable.
#define VALUES "\"stack\":0,\"values\":[[1,[0,5],[1],[2,\"0x1\",null]]]"
#define SHARED                                                                         \
    HEAD "\"threads\":[{\"tid\":7,\"crashed\":true," VALUES "},{\"tid\":8," VALUES     \
         "}]," STACKS PLACES IMAGES
#define BAD                                                                            \
    HEAD "\"threads\":[{\"tid\":7,\"crashed\":true," VALUES                            \
         "},{\"tid\":8,\"stack\":0,\"values\":[[1,[9]]]}]," STACKS PLACES IMAGES

static void tables_opened_briefly_keep_the_values_of_the_crashed_thread(void **state)
{
    (void)state;
    struct report_error error;
    json_t *brief = NULL;
    json_t *whole = open_text(SHARED);
    enum ch_status status = report_parse_brief(SHARED, strlen(SHARED), &brief, &error);
    bool kept = json_object_get(frame_at(brief, 0, 1), "arguments") != NULL;
    drop_values(json_array_get(json_object_get(whole, "threads"), 1));
    for (size_t i = 0; i < 2; i++)
        (void)json_object_del(json_array_get(json_object_get(brief, "threads"), i),
                              "values");
    bool equal = json_equal(brief, whole) == 1;
    json_decref(brief);
    json_decref(whole);
    assert_int_equal(status, CH_OK);
    assert_true(kept);
    assert_true(equal);
}

static void tables_opened_briefly_have_all_their_values_checked(void **state)
{
    (void)state;
    struct report_error error;
    json_t *brief = NULL;
    enum ch_status status = report_parse_brief(BAD, strlen(BAD), &brief, &error);
    assert_int_equal(status, CH_ERR_MALFORMED);
}

static void tables_are_written_as_they_were_read(void **state)
{
    (void)state;
    json_t *report = open_text(SMALL);
    json_t *packed = report_pack(report);
    json_t *expected = json_loads(SMALL, 0, NULL);
    bool equal = json_equal(packed, expected) == 1;
    json_decref(packed);
    json_decref(expected);
    json_decref(report);
    assert_true(equal);
}

// count_files calls check with each report in a folder of the cases, and gives how many
// there are.
static size_t each_file(const char *folder,
                        void (*check)(const char *name, const json_t *report))
{
    char path[512];
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", CASES, folder);
    DIR *listing = opendir(path);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strstr(entry->d_name, ".json") == NULL)
            continue;
        json_t *report = read_file(folder, entry->d_name);
        assert_non_null(report);
        check(entry->d_name, report);
        json_decref(report);
        count++;
    }
    closedir(listing);
    return count;
}

static json_t *printed_and_read(const json_t *report, size_t *out_size)
{
    struct text bytes = { 0 };
    json_t *again = NULL;
    struct report_error error;
    assert_int_equal(report_print(report, &bytes), CH_OK);
    assert_int_equal(report_parse(bytes.bytes, bytes.size, &again, &error), CH_OK);
    *out_size = bytes.size;
    text_deinit(&bytes);
    return again;
}

static void check_round_trip(const char *name, const json_t *report)
{
    struct text expanded = { 0 };
    size_t size;
    json_t *again = printed_and_read(report, &size);
    bool equal = json_equal(again, report) == 1;
    char before[FINGERPRINT_SIZE] = "";
    char after[FINGERPRINT_SIZE] = "";
    (void)report_fingerprint(report, before);
    (void)report_fingerprint(again, after);
    assert_int_equal(report_print_expanded(report, &expanded), CH_OK);
    json_decref(again);
    text_deinit(&expanded);
    if (!equal)
        fprintf(stderr, "%s is another\n", name);
    assert_true(equal);
    assert_string_equal(before, after);
}

static void tables_lose_nothing_of_any_report(void **state)
{
    (void)state;
    assert_true(each_file("version1", check_round_trip) >= 15);
    assert_true(each_file("version2", check_round_trip) >= 15);
    assert_true(each_file(".", check_round_trip) >= 3);
}

// check_as_before compares a report of version 2 with that of version 1 of the same
// program's crash: the sentence but for numbers, and the group.
static void check_as_before(const char *name, const json_t *report)
{
    json_t *before = read_file("version1", name);
    assert_non_null(before);
    const char *one = report_string(before, "fingerprint");
    const char *other = report_string(report, "fingerprint");
    bool same =
        one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
    const char *kind = report_string(json_object_get(before, "crash"), "kind");
    const char *kind_now = report_string(json_object_get(report, "crash"), "kind");
    bool same_kind = kind == kind_now || strcmp(kind, kind_now) == 0;
    bool said = kind_now == NULL ||
                report_string(json_object_get(report, "crash"), "summary") != NULL;
    json_decref(before);
    if (!same)
        fprintf(stderr, "%s is in another group\n", name);
    assert_true(same);
    assert_true(same_kind);
    assert_true(said);
}

static void tables_leave_a_crash_in_its_group(void **state)
{
    (void)state;
    assert_true(each_file("version2", check_as_before) >= 15);
}

static void tables_are_not_what_version_1_called_so(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema\":\"crashhook.report/1\","
        "\"id\":\"01928374-5566-7788-99aa-bbccddeeff00\",\"revision\":1,"
        "\"time\":\"2024-10-12T22:13:50.758Z\",\"places\":7,\"stacks\":[5],"
        "\"threads\":[{\"tid\":7,\"stack\":3,\"values\":[[1]],\"backtrace\":{"
        "\"frames\":[{\"kind\":\"pc\",\"address\":\"0x1f\",\"inlined\":2,"
        "\"variables\":\"x\",\"arguments\":[3],\"locals\":[{\"varies\":1}]}]}}],"
        "\"images\":[]}";
    json_t *report = open_text(text);
    size_t size;
    assert_non_null(report);
    json_t *again = printed_and_read(report, &size);
    const json_t *frame = frame_at(again, 0, 0);
    json_t *lists = json_loads("[[3],[{\"varies\":1}]]", 0, NULL);
    bool kept =
        json_equal(json_object_get(frame, "arguments"), json_array_get(lists, 0)) ==
            1 &&
        json_equal(json_object_get(frame, "locals"), json_array_get(lists, 1)) == 1;
    json_decref(lists);
    json_decref(again);
    json_decref(report);
    assert_true(kept);
}

static void tables_say_each_stack_once(void **state)
{
    (void)state;
    json_t *report = read_file("version1", "threads_100.json");
    json_t *packed = report_pack(report);
    size_t threads = json_array_size(json_object_get(packed, "threads"));
    size_t stacks = json_array_size(json_object_get(packed, "stacks"));
    size_t places = json_array_size(json_object_get(packed, "places"));
    size_t size;
    json_decref(printed_and_read(report, &size));
    json_decref(packed);
    json_decref(report);
    assert_int_equal(threads, 100);
    assert_true(stacks <= 4);
    assert_true(places <= 24);
    assert_true(size < 70000);
}

static void tables_take_few_bytes_for_a_value(void **state)
{
    (void)state;
    json_t *report = read_file("version1", "values.json");
    json_t *bare = json_deep_copy(report);
    size_t values = 0;
    size_t with;
    size_t without;
    size_t i;
    json_t *thread;
    json_array_foreach(json_object_get(bare, "threads"), i, thread)
    {
        size_t k;
        json_t *frame;
        json_array_foreach(report_frames(thread), k, frame)
        {
            values += json_array_size(json_object_get(frame, "arguments"));
            (void)json_object_del(frame, "arguments");
        }
    }
    json_decref(printed_and_read(report, &with));
    json_decref(printed_and_read(bare, &without));
    json_decref(bare);
    json_decref(report);
    assert_true(values > 100);
    assert_true((with - without) / values <= 45);
}

// thread_with_frames makes a thread whose backtrace has two frames, which it shares
// with others.
static json_t *thread_with_frames(int tid, json_t *first, json_t *second)
{
    return json_pack("{s:i, s:{s:[O, O]}}", "tid", tid, "backtrace", "frames", first,
                     second);
}

static void tables_keep_the_values_of_frames_that_threads_share(void **state)
{
    (void)state;
    json_t *report = open_text(
        "{\"schema\":\"crashhook.report/1\","
        "\"id\":\"01928374-5566-7788-99aa-bbccddeeff00\",\"revision\":1,"
        "\"time\":\"2024-10-12T22:13:50.758Z\",\"threads\":[],\"images\":[]}");
    json_t *threads = json_object_get(report, "threads");
    json_t *frames[3];
    for (int i = 0; i < 3; i++)
        frames[i] = json_pack("{s:s, s:s, s:[{s:i, s:s, s:i}]}", "kind", "ra",
                              "address", i == 2 ? "0x2f" : "0x1f", "arguments", "index",
                              0, "name", "n", "value", i);
    for (int i = 0; i < 9; i++)
        (void)json_array_append_new(
            threads, thread_with_frames(i + 1, frames[i % 3], frames[i / 3]));
    check_round_trip("shared frames", report);
    for (int i = 0; i < 3; i++)
        json_decref(frames[i]);
    json_decref(report);
}

static void tables_own_a_frame_of_one_thread_alone(void **state)
{
    (void)state;
    json_t *report = open_text(SMALL);
    json_t *threads = json_object_get(report, "threads");
    json_t *first = json_array_get(threads, 0);
    const json_t *other = frame_at(report, 1, 0);
    json_t *own = report_own_frame(first, 0);
    bool apart = own != NULL && own != other && json_equal(own, other) == 1;
    json_object_set_new(own, "function", json_string("mine"));
    bool alone = json_object_get(frame_at(report, 1, 0), "function") == NULL &&
                 json_object_get(frame_at(report, 0, 4), "function") == NULL;
    bool kept = report_own_frame(first, 0) == own;
    bool none = report_own_frame(first, 5) == NULL && report_own_frame(NULL, 0) == NULL;
    json_decref(report);
    assert_true(apart);
    assert_true(alone);
    assert_true(kept);
    assert_true(none);
}

static void tables_say_what_is_wrong_and_where(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *says;
    } mistakes[] = {
        { HEAD THREADS STACKS IMAGES, "places or stacks is not an array" },
        { HEAD THREADS PLACES IMAGES, "places or stacks is not an array" },
        { HEAD THREADS STACKS "\"places\":[7]," IMAGES,
          "places[0].it is not an object" },
        { HEAD THREADS STACKS "\"places\":[{\"inlined\":1}]," IMAGES,
          "places[0].inlined or variables is not an array" },
        { HEAD THREADS STACKS "\"places\":[{\"inlined\":[1]}]," IMAGES,
          "places[0].inlined holds what is no object" },
        { HEAD THREADS "\"stacks\":[{\"frames\":[2]}]," PLACES IMAGES,
          "stacks[0].frames holds what is no place" },
        { HEAD THREADS "\"stacks\":[{\"frames\":[-1]}]," PLACES IMAGES,
          "stacks[0].frames holds what is no place" },
        { HEAD THREADS "\"stacks\":[{\"frames\":[0,\"1\"]}]," PLACES IMAGES,
          "stacks[0].frames holds what is no place" },
        { HEAD THREADS "\"stacks\":[{\"frames\":{}}]," PLACES IMAGES,
          "stacks[0].frames is not an array" },
        { HEAD "\"threads\":[{\"tid\":1,\"stack\":1}]," STACKS PLACES IMAGES,
          "threads[0].stack is not in the list of stacks" },
        { HEAD
          "\"threads\":[{\"tid\":1,\"stack\":0,\"values\":[[4,[0]]]}]," STACKS PLACES
              IMAGES,
          "threads[0].values is of a frame that is not there" },
        { HEAD
          "\"threads\":[{\"tid\":1,\"stack\":0,\"values\":[[1],[0]]}]," STACKS PLACES
              IMAGES,
          "threads[0].values is of a frame that is not there" },
        { HEAD
          "\"threads\":[{\"tid\":1,\"stack\":0,\"values\":[[2,[0]]]}]," STACKS PLACES
              IMAGES,
          "threads[0].values is of frames left out" },
        { HEAD
          "\"threads\":[{\"tid\":1,\"stack\":0,\"values\":[[1,[3]]]}]," STACKS PLACES
              IMAGES,
          "threads[0].values names a variable that is not there" },
        { HEAD
          "\"threads\":[{\"tid\":1,\"stack\":0,\"values\":[[1,[0]]]}]," STACKS PLACES
              IMAGES,
          "threads[0].values are not those that the variable has" },
        { HEAD "\"threads\":[7]," STACKS PLACES IMAGES,
          "threads[0].it is not an object" },
        { HEAD THREADS STACKS
          "\"places\":[{\"kind\":\"pc\",\"address\":\"0x1f\"},{\"kind\":\"ra\"}],"
          "\"images\":[]}",
          "threads[1].values names a variable that is not there" },
        { HEAD "\"threads\":[{\"tid\":1,\"stack\":0}]," STACKS
               "\"places\":[{\"kind\":\"pc\",\"address\":\"0x1f\"},{\"kind\":\"ra\"}],"
               "\"images\":[]}",
          "threads[0].frames[1].address is missing" },
    };
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        struct report_error error = { "" };
        json_t *report = NULL;
        enum ch_status status =
            report_parse(mistakes[i].text, strlen(mistakes[i].text), &report, &error);
        assert_string_equal(error.text, mistakes[i].says);
        assert_int_equal(status, CH_ERR_MALFORMED);
    }
}

// bomb is a report whose one stack has frames numbers of place 0, for threads threads.
static struct text bomb(size_t frames, size_t threads, const char *values,
                        const char *place)
{
    struct text out = { 0 };
    text_append_string(&out, HEAD "\"threads\":[");
    for (size_t i = 0; i < threads; i++)
        text_appendf(&out, "%s{\"tid\":1,\"stack\":0%s}", i != 0 ? "," : "", values);
    text_append_string(&out, "],\"stacks\":[{\"frames\":[");
    for (size_t i = 0; i < frames; i++)
        text_append_string(&out, i != 0 ? ",0" : "0");
    text_appendf(&out, "]}],\"places\":[%s]," IMAGES, place);
    assert_true(text_ok(&out));
    return out;
}

static enum ch_status opened(struct text bytes, bool expand)
{
    struct report_error error;
    json_t *report = NULL;
    enum ch_status status = report_parse(bytes.bytes, bytes.size, &report, &error);
    if (status == CH_OK && expand) {
        struct text out = { 0 };
        status = report_print_expanded(report, &out);
        text_deinit(&out);
    }
    json_decref(report);
    text_deinit(&bytes);
    return status;
}

static void tables_open_no_more_frames_than_readers_walk(void **state)
{
    (void)state;
    static const char plain[] = "{\"kind\":\"pc\",\"address\":\"0x1f\"}";
    assert_int_equal(opened(bomb(1000, 4194, "", plain), false), CH_OK);
    assert_int_equal(opened(bomb(1000, 4195, "", plain), false), CH_ERR_LIMIT);
}

static void tables_copy_no_more_members_than_there_is_room_for(void **state)
{
    (void)state;
    struct text place = { 0 };
    text_append_string(&place, "{\"kind\":\"pc\",\"address\":\"0x1f\",");
    for (size_t i = 0; i < 5000; i++)
        text_appendf(&place, "\"x%zu\":0,", i);
    text_append_string(&place, "\"variables\":[{\"index\":0}]}");
    struct text few = bomb(1, 800, ",\"values\":[[0,[0]]]", place.bytes);
    struct text many = bomb(1, 900, ",\"values\":[[0,[0]]]", place.bytes);
    text_deinit(&place);
    assert_int_equal(opened(few, false), CH_OK);
    assert_int_equal(opened(many, false), CH_ERR_LIMIT);
}

static void tables_expand_to_no_more_bytes_than_the_limit(void **state)
{
    (void)state;
    struct text place = { 0 };
    text_append_string(&place, "{\"kind\":\"pc\",\"address\":\"0x1f\",\"function\":\"");
    for (size_t i = 0; i < 65536; i++)
        text_append_string(&place, "f");
    text_append_string(&place, "\"}");
    struct text large = bomb(4096, 2, "", place.bytes);
    struct text small = bomb(100, 2, "", place.bytes);
    text_deinit(&place);
    assert_int_equal(opened(large, true), CH_ERR_LIMIT);
    assert_int_equal(opened(small, true), CH_OK);
}

// briefly is what opening without values says of the bytes.
static enum ch_status briefly(const uint8_t *bytes, size_t size)
{
    json_t *report = NULL;
    struct report_error error = { "" };
    enum ch_status status =
        report_parse_brief((const char *)bytes, size, &report, &error);
    json_decref(report);
    return status;
}

static int visit(const uint8_t *bytes, size_t size, void *context)
{
    json_t *report = NULL;
    struct report_error error = { "" };
    struct text out = { 0 };
    enum ch_status status = report_parse((const char *)bytes, size, &report, &error);
    if (status != briefly(bytes, size))
        return 1;
    if (status != CH_OK)
        return error.text[0] == 0 || strchr(error.text, '\n') != NULL;
    status = report_print(report, &out);
    text_deinit(&out);
    json_decref(report);
    return status != CH_OK || context != NULL; // cut anywhere, it is no report
}

static void tables_refuse_every_truncation(void **state)
{
    (void)state;
    assert_int_equal(
        bytes_cut_everywhere((const uint8_t *)SMALL, strlen(SMALL), visit, &(int){ 1 }),
        0);
}

static void tables_survive_every_flipped_bit(void **state)
{
    (void)state;
    assert_int_equal(
        bytes_flip_every_bit((const uint8_t *)SMALL, strlen(SMALL), visit, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_put_every_frame_in_its_place),
        cmocka_unit_test(tables_opened_briefly_keep_the_values_of_the_crashed_thread),
        cmocka_unit_test(tables_opened_briefly_have_all_their_values_checked),
        cmocka_unit_test(tables_are_written_as_they_were_read),
        cmocka_unit_test(tables_lose_nothing_of_any_report),
        cmocka_unit_test(tables_leave_a_crash_in_its_group),
        cmocka_unit_test(tables_are_not_what_version_1_called_so),
        cmocka_unit_test(tables_say_each_stack_once),
        cmocka_unit_test(tables_take_few_bytes_for_a_value),
        cmocka_unit_test(tables_keep_the_values_of_frames_that_threads_share),
        cmocka_unit_test(tables_own_a_frame_of_one_thread_alone),
        cmocka_unit_test(tables_say_what_is_wrong_and_where),
        cmocka_unit_test(tables_open_no_more_frames_than_readers_walk),
        cmocka_unit_test(tables_copy_no_more_members_than_there_is_room_for),
        cmocka_unit_test(tables_expand_to_no_more_bytes_than_the_limit),
        cmocka_unit_test(tables_refuse_every_truncation),
        cmocka_unit_test(tables_survive_every_flipped_bit),
    };
    return cmocka_run_group_tests_name("report/report_tables", tests, NULL, NULL);
}
