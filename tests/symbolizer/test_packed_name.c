// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/cache/packed_name.h"

#include <stdlib.h>

#include "support/test.h"

static const char twice[] =
    "std::map<a::name::of::a::type::that::is::long, b>::insert(std::map<"
    "a::name::of::a::type::that::is::long, b>::value_type const&)";

// unpacks_to_itself returns true if a name is the same after packing and unpacking.
static bool unpacks_to_itself(const char *name, size_t size, size_t *out_packed)
{
    struct text packed = { 0 };
    char *unpacked = malloc(size + 1);
    packed_name_write(name, size, &packed);
    struct cursor c = cursor_over(packed.bytes, packed.size);
    bool same = unpacked != NULL && packed_name_read(&c, unpacked, size) &&
                memcmp(unpacked, name, size) == 0 && unpacked[size] == 0 &&
                cursor_left(&c) == 0;
    *out_packed = packed.size;
    free(unpacked);
    text_deinit(&packed);
    return same;
}

static void packed_name_says_a_repeated_type_once(void **state)
{
    (void)state;
    size_t packed;
    assert_true(unpacks_to_itself(twice, strlen(twice), &packed));
    assert_true(packed < strlen(twice));
}

static void packed_name_of_any_length_unpacks_to_itself(void **state)
{
    (void)state;
    static char name[PACKED_NAME_MAX];
    size_t packed;
    size_t same = 0;
    size_t asked = 0;
    for (size_t i = 0; i < sizeof(name); i++) // a period, and what breaks it
        name[i] = i % 997 == 0 ? (char)('A' + i / 997 % 26) : twice[i % 61];
    for (size_t size = PACKED_NAME_MIN; size <= sizeof(name); size += 1 + size / 7) {
        asked++;
        same += unpacks_to_itself(name, size, &packed);
    }
    same += unpacks_to_itself(name, sizeof(name), &packed);
    assert_int_equal(same, asked + 1);
    assert_true(packed < sizeof(name) / 2);
}

// reads returns true if size bytes, in an allocation of their size, are taken for a
// packed name of a length.
static bool reads(const void *bytes, size_t size, size_t length)
{
    uint8_t *copy = malloc(size);
    char *out = malloc(length + 1);
    if (copy == NULL || out == NULL)
        abort();
    memcpy(copy, bytes, size);
    struct cursor c = cursor_over(copy, size);
    bool read = packed_name_read(&c, out, length);
    free(copy);
    free(out);
    return read;
}

static void packed_name_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct text packed = { 0 };
    size_t taken = 0;
    packed_name_write(twice, strlen(twice), &packed);
    for (size_t size = 1; size < packed.size; size++)
        taken += reads(packed.bytes, size, strlen(twice));
    bool whole = reads(packed.bytes, packed.size, strlen(twice));
    text_deinit(&packed);
    assert_int_equal(taken, 0);
    assert_true(whole);
}

static void packed_name_that_copies_what_is_not_there_is_refused(void **state)
{
    (void)state;
    // literals, copied, distance; two letters
    static const uint8_t sound[] = { 2, 0, 2, 0, 2, 0, 'a', 'b' };
    static const uint8_t before_the_first[] = { 2, 0, 2, 0, 3, 0, 'a', 'b' };
    static const uint8_t over_itself[] = { 2, 0, 2, 0, 1, 0, 'a', 'b' };
    static const uint8_t past_the_last[] = { 2, 0, 2, 0, 2, 0, 'a', 'b' };
    static const uint8_t nothing[] = { 0, 0, 0, 0, 0, 0, 'a', 'b' };
    assert_true(reads(sound, sizeof(sound), 4));
    assert_false(reads(before_the_first, sizeof(before_the_first), 4));
    assert_false(reads(over_itself, sizeof(over_itself), 4));
    assert_false(reads(past_the_last, sizeof(past_the_last), 3));
    assert_false(reads(past_the_last, sizeof(past_the_last), 1));
    assert_false(reads(nothing, sizeof(nothing), 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_name_says_a_repeated_type_once),
        cmocka_unit_test(packed_name_of_any_length_unpacks_to_itself),
        cmocka_unit_test(packed_name_cut_anywhere_is_refused),
        cmocka_unit_test(packed_name_that_copies_what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests_name("symbolizer/packed_name", tests, NULL, NULL);
}
