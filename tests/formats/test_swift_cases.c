// SPDX-License-Identifier: Apache-2.0
//
// What Swift 6.2 encoded and decoded, against our codecs: cases/formats/swift.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "formats/interchange/cbf.h"
#include "formats/interchange/image_map.h"
#include "support/bytes.h"
#include "support/test.h"

enum { BYTES_MAX = 1 << 16, FRAMES_SHOWN = 1 << 17 };

// A row_check_fn checks one row and returns 0 when it holds.
typedef int row_check_fn(const json_t *row);

// check_rows applies check to each row of a file: how many failed, -1 without rows.
static int check_rows(const char *name, row_check_fn *check)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/swift/%s", CASES, name);
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    int failures = -1;
    while (file != NULL && getline(&line, &capacity, file) > 0) {
        json_t *row = json_loads(line, 0, NULL);
        bool failed = row == NULL || check(row) != 0;
        if (failed)
            print_message("%s: %s\n", name,
                          json_string_value(json_object_get(row, "name")));
        failures += failed + (failures < 0);
        json_decref(row);
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return failures;
}

static size_t get_hex(const json_t *row, const char *key, uint8_t *out)
{
    const char *hex = json_string_value(json_object_get(row, key));
    size_t size = 0;
    if (hex == NULL || hex_decode(hex, strlen(hex), out, BYTES_MAX, &size) != CH_OK)
        return 0;
    return size;
}

static uint64_t get_number(const json_t *value)
{
    return strtoull(json_string_value(value), NULL, 0);
}

static enum cbf_op kind_of(const json_t *frame)
{
    const char *kind = json_string_value(json_array_get(frame, 0));
    enum cbf_op op = CBF_TRUNC;
    while (op < CBF_REP && strcmp(kind, cbf_op_name(op)) != 0)
        op++;
    return op;
}

static size_t times_of(const json_t *frame)
{
    return json_array_size(frame) > 2
               ? (size_t)json_integer_value(json_array_get(frame, 2))
               : 1;
}

// append_frame adds the notation of one frame, the row's own: "pc 0x55\n".
static void append_frame(struct text *text, enum cbf_op kind, uint64_t value)
{
    if (kind == CBF_TRUNC)
        text_append_string(text, "trunc\n");
    else
        text_appendf(text, "%s 0x%" PRIx64 "\n", cbf_op_name(kind), value);
}

// list_expected writes the row's frames up to the first trunc, after which Swift
// drops everything.
static void list_expected(const json_t *frames, struct text *out)
{
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame)
    {
        enum cbf_op kind = kind_of(frame);
        uint64_t value = kind == CBF_TRUNC ? 0 : get_number(json_array_get(frame, 1));
        for (size_t n = times_of(frame); n > 0; n--)
            append_frame(out, kind, value);
        if (kind == CBF_TRUNC)
            return;
    }
}

// list_decoded writes the frames of bytes. Where they are not complete or malformed a
// trunc follows, as from Swift's decoder.
static void list_decoded(const uint8_t *bytes, size_t size, struct text *out)
{
    struct cbf_reader reader;
    struct cbf_frame frame;
    size_t count = 0;
    enum ch_status status = cbf_reader_init(&reader, bytes, size);
    if (status != CH_OK)
        return;
    while ((status = cbf_next_frame(&reader, &frame)) == CH_OK) {
        for (uint64_t n = 0; n < frame.times && count < FRAMES_SHOWN; n++, count++)
            append_frame(out, frame.kind, frame.value);
    }
    if (status != CH_END || !reader.complete)
        append_frame(out, CBF_TRUNC, 0);
}

static int compare_and_free(struct text *expected, struct text *got, bool prefix)
{
    size_t size = prefix && got->size > expected->size ? expected->size : got->size;
    int differs = size != expected->size ||
                  (size != 0 && memcmp(expected->bytes, got->bytes, size) != 0);
    text_deinit(expected);
    text_deinit(got);
    return differs;
}

static size_t encode_row(const json_t *row, enum cbf_dialect dialect, uint8_t *out)
{
    struct cbf_writer writer;
    unsigned bits = (unsigned)json_integer_value(json_object_get(row, "bits"));
    enum ch_status status = cbf_writer_init(&writer, bits, dialect, out, BYTES_MAX);
    size_t i;
    json_t *frame;
    json_array_foreach(json_object_get(row, "frames"), i, frame)
    {
        enum cbf_op kind = kind_of(frame);
        uint64_t value = kind == CBF_TRUNC ? 0 : get_number(json_array_get(frame, 1));
        for (size_t n = times_of(frame); n > 0 && status == CH_OK; n--)
            status = cbf_write_frame(&writer, kind, value);
    }
    cbf_write_end(&writer);
    return status == CH_OK ? writer.size : 0;
}

static int check_decoding(const json_t *row)
{
    static uint8_t bytes[BYTES_MAX];
    struct text expected = { 0 };
    struct text got = { 0 };
    size_t size = get_hex(row, "hex", bytes);
    bytes[size++] = 0x00; // the end that 6.2 leaves out
    list_expected(json_object_get(row, "frames"), &expected);
    list_decoded(bytes, size, &got);
    return compare_and_free(&expected, &got, false);
}

static void swift_backtraces_decode_to_their_frames(void **state)
{
    (void)state;
    assert_int_equal(check_rows("cbf.jsonl", check_decoding), 0);
}

static int check_swift_encoding(const json_t *row)
{
    static uint8_t expected[BYTES_MAX];
    static uint8_t got[BYTES_MAX];
    size_t size = get_hex(row, "hex", expected);
    return encode_row(row, CBF_SWIFT_6_2, got) != size ||
           memcmp(expected, got, size) != 0;
}

static void swift_backtraces_are_written_byte_for_byte(void **state)
{
    (void)state;
    assert_int_equal(check_rows("cbf.jsonl", check_swift_encoding), 0);
}

static int check_own_encoding(const json_t *row)
{
    static uint8_t swift[BYTES_MAX];
    static uint8_t got[BYTES_MAX];
    struct text expected = { 0 };
    struct text back = { 0 };
    size_t swift_size = get_hex(row, "hex", swift);
    size_t size = encode_row(row, CBF_SPECIFIED, got);
    list_expected(json_object_get(row, "frames"), &expected);
    list_decoded(got, size, &back);
    return compare_and_free(&expected, &back, false) || size > swift_size + 1;
}

static void swift_backtraces_in_our_form_are_one_byte_longer_at_most(void **state)
{
    (void)state;
    assert_int_equal(check_rows("cbf.jsonl", check_own_encoding), 0);
}

static int check_odd_decoding(const json_t *row)
{
    static uint8_t bytes[BYTES_MAX];
    struct text expected = { 0 };
    struct text got = { 0 };
    if (json_object_get(row, "hex") == NULL)
        return 0; // it makes Swift's encoder die; ours takes unsigned counts alone
    size_t size = get_hex(row, "hex", bytes);
    list_expected(json_object_get(row, "frames"), &expected);
    list_decoded(bytes, size, &got);
    return compare_and_free(&expected, &got,
                            json_is_true(json_object_get(row, "frames_are_prefix")));
}

static void odd_bytes_decode_as_far_as_swift_decodes_them(void **state)
{
    (void)state;
    assert_int_equal(check_rows("cbf-decode.jsonl", check_odd_decoding), 0);
}

static int drain_frames(const uint8_t *bytes, size_t size, void *context)
{
    struct cbf_reader reader;
    struct cbf_frame frame;
    size_t items = 0;
    (void)context;
    enum ch_status status = cbf_reader_init(&reader, bytes, size);
    for (; status == CH_OK && items <= size; items++)
        status = cbf_next_frame(&reader, &frame);
    return items > size;
}

static int check_damaged_backtrace(const json_t *row)
{
    static uint8_t bytes[BYTES_MAX];
    size_t size = get_hex(row, "hex", bytes);
    return bytes_cut_everywhere(bytes, size, drain_frames, NULL) +
           bytes_flip_every_bit(bytes, size, drain_frames, NULL);
}

static void damaged_backtraces_are_survived(void **state)
{
    (void)state;
    assert_int_equal(check_rows("cbf.jsonl", check_damaged_backtrace), 0);
    assert_int_equal(check_rows("cbf-decode.jsonl", check_damaged_backtrace), 0);
}

static bool is_address(const json_t *image, const char *key, uint64_t got)
{
    return get_number(json_object_get(image, key)) == got;
}

static bool same_image(const json_t *expected, const struct image_map_image *got)
{
    uint8_t id[4096];
    const json_t *path = json_object_get(expected, "path");
    size_t id_size = get_hex(expected, "build_id", id);
    return json_string_length(path) == got->path_size &&
           (got->path_size == 0 ||
            memcmp(json_string_value(path), got->path, got->path_size) == 0) &&
           id_size == got->build_id_size &&
           (id_size == 0 || memcmp(id, got->build_id, id_size) == 0) &&
           is_address(expected, "base", got->base) &&
           is_address(expected, "eot", got->end_of_text);
}

// differs_from_row compares the map in bytes with the row's images.
static int differs_from_row(const json_t *row, const uint8_t *bytes, size_t size)
{
    struct image_map_reader reader;
    struct image_map_image image;
    size_t i;
    json_t *expected;
    const json_t *platform = json_object_get(row, "platform");
    enum ch_status status = image_map_reader_init(&reader, bytes, size);
    bool same =
        status == CH_OK && reader.platform_size == json_string_length(platform) &&
        memcmp(reader.platform, json_string_value(platform), reader.platform_size) == 0;
    json_array_foreach(json_object_get(row, "images"), i, expected)
    {
        status = status == CH_OK ? image_map_next(&reader, &image) : status;
        same = same && status == CH_OK && same_image(expected, &image);
    }
    same = same && image_map_next(&reader, &image) == CH_END;
    image_map_reader_deinit(&reader);
    return !same;
}

// loses_paths returns true if the row shows Swift's mistake with codes from 320 on.
static bool loses_paths(const json_t *row)
{
    return json_is_false(json_object_get(row, "swift_roundtrip"));
}

static int check_map_decoding(const json_t *row)
{
    static uint8_t bytes[BYTES_MAX];
    const char *key = json_object_get(row, "in_hex") != NULL ? "in_hex" : "hex";
    size_t size = get_hex(row, key, bytes);
    struct image_map_reader reader;
    if (loses_paths(row))
        return 0;
    if (json_object_get(row, "rejected") == NULL)
        return differs_from_row(row, bytes, size);
    enum ch_status status = image_map_reader_init(&reader, bytes, size);
    image_map_reader_deinit(&reader);
    return status == CH_OK;
}

static void swift_maps_decode_to_their_images(void **state)
{
    (void)state;
    assert_int_equal(check_rows("image-map.jsonl", check_map_decoding), 0);
}

static enum ch_status encode_map(const json_t *row, struct text *out)
{
    struct image_map_writer writer;
    const json_t *images = json_object_get(row, "images");
    size_t i;
    json_t *json;
    enum ch_status status = image_map_writer_init(
        &writer, out, (unsigned)json_integer_value(json_object_get(row, "bits")),
        json_string_value(json_object_get(row, "platform")), json_array_size(images));
    json_array_foreach(images, i, json)
    {
        uint8_t id[4096];
        const json_t *path = json_object_get(json, "path");
        struct image_map_image image = {
            .path = json_string_value(path),
            .path_size = json_string_length(path),
            .build_id = id,
            .build_id_size = get_hex(json, "build_id", id),
            .base = get_number(json_object_get(json, "base")),
            .end_of_text = get_number(json_object_get(json, "eot")),
        };
        status = status == CH_OK ? image_map_write(&writer, &image) : status;
    }
    image_map_writer_deinit(&writer);
    return status;
}

static int check_map_encoding(const json_t *row)
{
    static uint8_t expected[BYTES_MAX];
    struct text got = { 0 };
    if (json_object_get(row, "images") == NULL)
        return 0;
    size_t size = get_hex(row, "hex", expected);
    bool failed = encode_map(row, &got) != CH_OK;
    if (!failed && loses_paths(row))
        failed = differs_from_row(row, (const uint8_t *)got.bytes, got.size);
    else if (!failed)
        failed = got.size != size || memcmp(got.bytes, expected, size) != 0;
    text_deinit(&got);
    return failed;
}

static void swift_maps_are_written_byte_for_byte_where_swift_is_right(void **state)
{
    (void)state;
    assert_int_equal(check_rows("image-map.jsonl", check_map_encoding), 0);
}

static int drain_images(const uint8_t *bytes, size_t size, void *context)
{
    struct image_map_reader reader;
    struct image_map_image image;
    size_t images = 0;
    (void)context;
    enum ch_status status = image_map_reader_init(&reader, bytes, size);
    while (status == CH_OK && images <= size) {
        status = image_map_next(&reader, &image);
        images++;
    }
    image_map_reader_deinit(&reader);
    return images > size;
}

static int check_damaged_map(const json_t *row)
{
    static uint8_t bytes[BYTES_MAX];
    const char *key = json_object_get(row, "in_hex") != NULL ? "in_hex" : "hex";
    size_t size = get_hex(row, key, bytes);
    return bytes_cut_everywhere(bytes, size, drain_images, NULL) +
           bytes_flip_every_bit(bytes, size, drain_images, NULL);
}

static void damaged_maps_are_survived(void **state)
{
    (void)state;
    assert_int_equal(check_rows("image-map.jsonl", check_damaged_map), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swift_backtraces_decode_to_their_frames),
        cmocka_unit_test(swift_backtraces_are_written_byte_for_byte),
        cmocka_unit_test(swift_backtraces_in_our_form_are_one_byte_longer_at_most),
        cmocka_unit_test(odd_bytes_decode_as_far_as_swift_decodes_them),
        cmocka_unit_test(damaged_backtraces_are_survived),
        cmocka_unit_test(swift_maps_decode_to_their_images),
        cmocka_unit_test(swift_maps_are_written_byte_for_byte_where_swift_is_right),
        cmocka_unit_test(damaged_maps_are_survived),
    };
    return cmocka_run_group_tests_name("formats/swift_cases", tests, NULL, NULL);
}
