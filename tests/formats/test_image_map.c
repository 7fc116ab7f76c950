// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/image_map.h"

#include <stdio.h>

#include "support/bytes.h"
#include "support/test.h"

// 64-bit, platform "L", 2 images: /usr/lib/a/x at 0x1000+0x10, then its neighbour
// /usr/lib/a/y at 0x2000+0x10. The first spells /a/x out and so defines /a as 32.
static const uint8_t two_images[] = {
    0x02, 0x01, 'L',  0x02,                                      // header
    0x08, 0x10, 0x00, 0x10, 0x02, 0xbe, 0xef,                    // base, end, build ID
    0x81, 0x04, '/',  'a',  '/',  'x',  0x00,                    // path
    0x08, 0x20, 0x00, 0x10, 0x00, 0x81, 0xa0, 0x02, '/', 'y', 0, // base, end, path
};

static void image_map_expands_prefixes_an_earlier_path_defined(void **state)
{
    (void)state;
    struct image_map_reader r;
    struct image_map_image first;
    struct image_map_image second;
    char first_path[32] = "";
    char second_path[32] = "";

    enum ch_status status = image_map_reader_init(&r, two_images, sizeof(two_images));
    if (status == CH_OK)
        status = image_map_next(&r, &first);
    if (status == CH_OK)
        snprintf(first_path, sizeof(first_path), "%.*s", (int)first.path_size,
                 first.path);
    if (status == CH_OK)
        status = image_map_next(&r, &second);
    if (status == CH_OK)
        snprintf(second_path, sizeof(second_path), "%.*s", (int)second.path_size,
                 second.path);
    image_map_reader_deinit(&r);

    assert_int_equal(status, CH_OK);
    assert_string_equal(first_path, "/usr/lib/a/x");
    assert_string_equal(second_path, "/usr/lib/a/y");
    assert_int_equal(first.build_id_size, 2);
    assert_int_equal(second.base, 0x2000);
    assert_int_equal(second.end_of_text, 0x2010);
    assert_null(second.build_id);
}

static void image_map_writes_what_it_reads(void **state)
{
    (void)state;
    static const uint8_t id[] = { 0xbe, 0xef };
    static const struct image_map_image images[] = {
        { "/usr/lib/a/x", 12, id, 2, 0x1000, 0x1010 },
        { "/usr/lib/a/y", 12, NULL, 0, 0x2000, 0x2010 },
    };
    struct text out = { 0 };
    struct image_map_writer w;

    enum ch_status status = image_map_writer_init(&w, &out, 64, "L", 2);
    for (size_t i = 0; i < 2 && status == CH_OK; i++)
        status = image_map_write(&w, &images[i]);
    enum ch_status third = image_map_write(&w, &images[0]);
    image_map_writer_deinit(&w);
    bool same =
        out.size == sizeof(two_images) && memcmp(out.bytes, two_images, out.size) == 0;
    text_deinit(&out);

    assert_int_equal(status, CH_OK);
    assert_int_equal(third, CH_ERR_LIMIT);
    assert_true(same);
}

static void image_map_refuses_an_image_that_ends_before_it_begins(void **state)
{
    (void)state;
    static const struct image_map_image backward = { .base = 2, .end_of_text = 1 };
    struct text out = { 0 };
    struct image_map_writer w;

    enum ch_status init = image_map_writer_init(&w, &out, 32, "", 1);
    enum ch_status status = image_map_write(&w, &backward);
    image_map_writer_deinit(&w);
    text_deinit(&out);
    assert_int_equal(init, CH_OK);
    assert_int_equal(status, CH_ERR_MALFORMED);
}

// read_paths drains a map and says how it ended and how many paths were known.
static enum ch_status read_paths(const void *bytes, size_t size, size_t *out_known)
{
    struct image_map_reader r;
    struct image_map_image image;
    size_t known = 0;
    enum ch_status status = image_map_reader_init(&r, bytes, size);

    while (status == CH_OK) {
        status = image_map_next(&r, &image);
        known += status == CH_OK && image.path != NULL;
    }
    image_map_reader_deinit(&r);
    *out_known = known;
    return status;
}

static void image_map_leaves_a_path_unknown_whose_prefix_nobody_defined(void **state)
{
    (void)state;
    // code 31, then a second image whose path is /b
    static const uint8_t unknown[] = { 0x02, 0x00, 0x02, 0x00, 0x40, 0x10,
                                       0x00, 0x9f, 0x00, 0x00, 0x50, 0x10,
                                       0x00, 0x02, '/',  'b',  0x00 };
    size_t known;
    assert_int_equal(read_paths(unknown, sizeof(unknown), &known), CH_END);
    assert_int_equal(known, 1);
}

static void image_map_gives_an_image_whose_path_was_cut(void **state)
{
    (void)state;
    struct image_map_reader r;
    struct image_map_image image = { 0 };

    enum ch_status init = image_map_reader_init(&r, two_images, 14);
    enum ch_status first = image_map_next(&r, &image);
    enum ch_status second = image_map_next(&r, &image);
    image_map_reader_deinit(&r);
    assert_int_equal(init, CH_OK);
    assert_int_equal(first, CH_OK);
    assert_int_equal(image.base, 0x1000);
    assert_null(image.path);
    assert_int_equal(second, CH_ERR_TRUNCATED);
}

static void image_map_stops_at_a_path_that_expands_without_end(void **state)
{
    (void)state;
    // One image; /System/Library/PrivateFrameworks 1,000 times is 33,000 bytes.
    static uint8_t bomb[7 + 1000 + 1] = { 0x02, 0x00, 0x01, 0x00, 0x40, 0x10, 0x00 };
    size_t known;
    memset(bomb + 7, 0x85, 1000);
    assert_int_equal(read_paths(bomb, sizeof(bomb), &known), CH_ERR_LIMIT);
    assert_int_equal(known, 0);
}

static void image_map_finds_prefixes_whose_codes_need_two_bytes(void **state)
{
    (void)state;
    // 400 folders, then another image in the last of them: its code is 32 + 399.
    enum { FOLDERS = 400 };
    struct text out = { 0 };
    struct image_map_writer w;
    char path[32];
    enum ch_status status = image_map_writer_init(&w, &out, 64, "", FOLDERS + 1);
    for (int i = 0; i <= FOLDERS && status == CH_OK; i++) {
        int folder = i < FOLDERS ? i : FOLDERS - 1;
        int size = snprintf(path, sizeof(path), "/q%04d/a", folder);
        struct image_map_image image = { .path = path, .path_size = (size_t)size };
        status = image_map_write(&w, &image);
    }
    image_map_writer_deinit(&w);

    struct image_map_reader r;
    struct image_map_image image = { 0 };
    enum ch_status read = image_map_reader_init(&r, out.bytes, out.size);
    for (int i = 0; i <= FOLDERS && read == CH_OK; i++)
        read = image_map_next(&r, &image);
    bool found = image.path_size == strlen(path) &&
                 memcmp(image.path, path, image.path_size) == 0;
    image_map_reader_deinit(&r);
    text_deinit(&out);
    assert_int_equal(status, CH_OK);
    assert_int_equal(read, CH_OK);
    assert_true(found);
}

static void image_map_cuts_prefixes_at_backslashes_too(void **state)
{
    (void)state;
    static const struct image_map_image images[] = {
        { "D:\\a\\x", 6, NULL, 0, 0x10, 0x20 },
        { "D:\\a\\y", 6, NULL, 0, 0x10, 0x20 },
    };
    // The second path is code 33 ("D:\a"), then "\y".
    static const uint8_t second[] = { 0xa1, 0x02, '\\', 'y', 0x00 };
    struct text out = { 0 };
    struct image_map_writer w;
    size_t known = 0;

    enum ch_status status = image_map_writer_init(&w, &out, 64, "", 2);
    for (size_t i = 0; i < 2 && status == CH_OK; i++)
        status = image_map_write(&w, &images[i]);
    image_map_writer_deinit(&w);
    bool same =
        out.size > sizeof(second) &&
        memcmp(out.bytes + out.size - sizeof(second), second, sizeof(second)) == 0;
    if (status == CH_OK)
        status = read_paths(out.bytes, out.size, &known);
    text_deinit(&out);
    assert_int_equal(status, CH_END);
    assert_true(same);
    assert_int_equal(known, 2);
}

static int drain(const uint8_t *bytes, size_t size, void *context)
{
    size_t known;
    (void)context;
    enum ch_status status = read_paths(bytes, size, &known);
    return known > size || status == CH_OK || status == CH_ERR_NO_MEMORY;
}

static void image_map_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    assert_int_equal(bytes_cut_everywhere(two_images, sizeof(two_images), drain, NULL),
                     0);
    assert_int_equal(bytes_flip_every_bit(two_images, sizeof(two_images), drain, NULL),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_map_expands_prefixes_an_earlier_path_defined),
        cmocka_unit_test(image_map_writes_what_it_reads),
        cmocka_unit_test(image_map_refuses_an_image_that_ends_before_it_begins),
        cmocka_unit_test(image_map_leaves_a_path_unknown_whose_prefix_nobody_defined),
        cmocka_unit_test(image_map_gives_an_image_whose_path_was_cut),
        cmocka_unit_test(image_map_stops_at_a_path_that_expands_without_end),
        cmocka_unit_test(image_map_finds_prefixes_whose_codes_need_two_bytes),
        cmocka_unit_test(image_map_cuts_prefixes_at_backslashes_too),
        cmocka_unit_test(image_map_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/image_map", tests, NULL, NULL);
}
