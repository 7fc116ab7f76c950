// SPDX-License-Identifier: Apache-2.0
//
// What Swift 6.2 wrote, read back through the Backtrace API: cases/formats/swift.
#include "crashhook/backtrace.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "support/test.h"

enum { BYTES_MAX = 1 << 16 };

// A row_check_fn checks one row and returns 0 when it holds; 1: it does not apply.
typedef int row_check_fn(const json_t *row);

struct tally {
    int checked;
    int failed;
};

static struct tally check_rows(const char *name, row_check_fn *check)
{
    char path[4096];
    struct tally tally = { 0 };
    snprintf(path, sizeof(path), "%s/swift/%s", CASES, name);
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    while (file != NULL && getline(&line, &capacity, file) > 0) {
        json_t *row = json_loads(line, 0, NULL);
        int result = row != NULL ? check(row) : -1;
        tally.checked += result != 1;
        tally.failed += result < 0;
        if (result < 0)
            print_message("%s: %s\n", name,
                          json_string_value(json_object_get(row, "name")));
        json_decref(row);
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return tally;
}

// read_row reads the row's bytes as Swift's JSON would hold them: base64 unpadded.
static struct crashhook_backtrace *read_row(const char *key, const char *hex)
{
    static uint8_t bytes[BYTES_MAX];
    static char encoded[BASE64_SIZE(BYTES_MAX)];
    static char json[sizeof(encoded) + 128];
    struct crashhook_backtrace *read;
    size_t size;
    bool frames = strcmp(key, "backtrace") == 0;
    if (hex == NULL ||
        hex_decode(hex, strlen(hex), bytes, sizeof(bytes), &size) != CH_OK)
        return NULL;
    base64_encode(bytes, size, encoded);
    encoded[strcspn(encoded, "=")] = 0;
    snprintf(json, sizeof(json), "{\"architecture\":\"x86_64\",%s\"%s\":\"%s\"}",
             frames ? "" : "\"backtrace\":\"AgA=\",", key, encoded);
    return crashhook_backtrace_from_json(json, strlen(json), &read) == 0 ? read : NULL;
}

static bool is_frame(const struct crashhook_frame *frame, const json_t *row)
{
    static const char *const kinds[] = { "pc", "ra", "async", "omit", "trunc" };
    const char *kind = json_string_value(json_array_get(row, 0));
    const char *value = json_string_value(json_array_get(row, 1));
    uint64_t number = value != NULL ? strtoull(value, NULL, 0) : 0;
    if (strcmp(kind, kinds[frame->kind]) != 0)
        return false;
    return number == (frame->kind == CRASHHOOK_FRAME_OMITTED ? frame->omitted
                                                             : frame->address.bits);
}

static int compare_frames(const struct crashhook_backtrace *read, const json_t *wanted)
{
    struct crashhook_frames frames = crashhook_backtrace_frames(read);
    struct crashhook_frame frame;
    bool truncated = false;
    for (size_t i = 0; i < json_array_size(wanted) && !truncated; i++) {
        const json_t *row = json_array_get(wanted, i);
        json_int_t times =
            json_array_size(row) > 2 ? json_integer_value(json_array_get(row, 2)) : 1;
        for (json_int_t n = 0; n < times && !truncated; n++) {
            if (!crashhook_frames_next(&frames, &frame) || !is_frame(&frame, row))
                return -1;
            truncated = frame.kind == CRASHHOOK_FRAME_TRUNCATED;
        }
    }
    return crashhook_frames_next(&frames, &frame) ? -1 : 0;
}

// written_again gives read as our JSON says it, or NULL.
static struct crashhook_backtrace *written_again(const struct crashhook_backtrace *read)
{
    struct crashhook_backtrace *again = NULL;
    char *json = crashhook_backtrace_to_json(read);
    if (json != NULL && crashhook_backtrace_from_json(json, strlen(json), &again) != 0)
        again = NULL;
    free(json);
    return again;
}

static int check_written_again(const json_t *row)
{
    struct crashhook_backtrace *read =
        read_row("backtrace", json_string_value(json_object_get(row, "hex")));
    struct crashhook_backtrace *again = read != NULL ? written_again(read) : NULL;
    int result =
        again != NULL ? compare_frames(again, json_object_get(row, "frames")) : -1;
    crashhook_backtrace_destroy(again);
    crashhook_backtrace_destroy(read);
    return result;
}

static int check_cbf(const json_t *row)
{
    struct crashhook_backtrace *read =
        read_row("backtrace", json_string_value(json_object_get(row, "hex")));
    if (read == NULL)
        return -1;
    int result = compare_frames(read, json_object_get(row, "frames"));
    crashhook_backtrace_destroy(read);
    return result;
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static bool is_image(const struct crashhook_image *image, const json_t *row)
{
    char hex[1024] = "";
    size_t size;
    const uint8_t *id = crashhook_image_unique_id(image, &size);
    const char *base = json_string_value(json_object_get(row, "base"));
    const char *path = json_string_value(json_object_get(row, "path"));
    const char *wanted = json_string_value(json_object_get(row, "build_id"));
    if (size < sizeof(hex) / 2)
        hex_encode(id, size, hex);
    else
        snprintf(hex, sizeof(hex), "%s", text_or_empty(wanted));
    uint64_t mask =
        crashhook_image_base_address(image).width == 64
            ? UINT64_MAX
            : (UINT64_C(1) << crashhook_image_base_address(image).width) - 1;
    return crashhook_image_base_address(image).bits ==
               (strtoull(text_or_empty(base), NULL, 0) & mask) &&
           strcmp(hex, text_or_empty(wanted)) == 0 &&
           strcmp(text_or_empty(crashhook_image_path(image)), text_or_empty(path)) == 0;
}

// holds_image looks for one row: the API sorts images by address, Swift's map need not.
static bool holds_image(const struct crashhook_images *images, const json_t *row)
{
    for (size_t i = 0; i < crashhook_images_count(images); i++)
        if (is_image(crashhook_images_at(images, i), row))
            return true;
    return false;
}

static int check_images(const json_t *row)
{
    const json_t *wanted = json_object_get(row, "images");
    if (json_object_get(row, "rejected") != NULL ||
        json_object_get(row, "trap_on_encode") != NULL ||
        json_is_false(json_object_get(row, "swift_roundtrip")) || wanted == NULL)
        return 1;
    struct crashhook_backtrace *read =
        read_row("imageMap", json_string_value(json_object_get(row, "hex")));
    if (read == NULL)
        return -1;
    const struct crashhook_images *images = crashhook_backtrace_images(read);
    int result =
        images != NULL && crashhook_images_count(images) == json_array_size(wanted)
            ? 0
            : -1;
    for (size_t i = 0; result == 0 && i < json_array_size(wanted); i++)
        result = holds_image(images, json_array_get(wanted, i)) ? 0 : -1;
    crashhook_backtrace_destroy(read);
    return result;
}

static void every_backtrace_that_swift_wrote_is_read(void **state)
{
    (void)state;
    struct tally tally = check_rows("cbf.jsonl", check_cbf);
    assert_int_equal(tally.failed, 0);
    assert_int_equal(tally.checked, 213);
}

static void every_backtrace_that_swift_wrote_comes_back_from_our_json(void **state)
{
    (void)state;
    struct tally tally = check_rows("cbf.jsonl", check_written_again);
    assert_int_equal(tally.failed, 0);
    assert_int_equal(tally.checked, 213);
}

static void every_image_map_that_swift_wrote_is_read(void **state)
{
    (void)state;
    struct tally tally = check_rows("image-map.jsonl", check_images);
    print_message("%d image maps\n", tally.checked);
    assert_int_equal(tally.failed, 0);
    assert_true(tally.checked > 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backtrace_that_swift_wrote_is_read),
        cmocka_unit_test(every_backtrace_that_swift_wrote_comes_back_from_our_json),
        cmocka_unit_test(every_image_map_that_swift_wrote_is_read),
    };
    return cmocka_run_group_tests_name("backtrace/swift_cases", tests, NULL, NULL);
}
