// SPDX-License-Identifier: Apache-2.0
#include "languages/hotspot_layout.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/fake_memory.h"
#include "support/test.h"

// A description with some members, an entry of 48 bytes each as vmStructs.hpp has them,
// and a list of types.
enum {
    BASE = 0x10000,
    STRIDE = 48,
    AT_TYPES = 0x400,
    AT_NAMES = 0x600,
    AT_VERSION = 0xff0,
    TARGET_BYTES = 0x1000,
};

static uint8_t target[TARGET_BYTES];
static size_t names;
static struct fake_region region = { BASE, target, sizeof(target) };
static struct fake_memory memory = { .regions = &region, .region_count = 1 };
static struct memory_reader reader;
static struct hotspot_layout layout;
static const struct hotspot_table members = {
    .begin = BASE, .stride = STRIDE, .type = 0, .field = 8, .value = 32, .address = 40
};
static const struct hotspot_table types = {
    .begin = BASE + AT_TYPES, .stride = 32, .type = 0, .value = 24, .types = true
};

static void put(size_t at, uint64_t value)
{
    memcpy(target + at, &value, sizeof(value));
}

static uint64_t put_name(const char *name)
{
    size_t at = names;
    memcpy(target + at, name, strlen(name) + 1);
    names += strlen(name) + 1;
    return BASE + at;
}

static void put_member(size_t number, const char *type, const char *field,
                       uint64_t value, uint64_t address)
{
    put(number * STRIDE, put_name(type));
    put(number * STRIDE + 8, put_name(field));
    put(number * STRIDE + 32, value);
    put(number * STRIDE + 40, address);
}

static int build(void **state)
{
    (void)state;
    reader = fake_memory_reader(&memory);
    region.bytes = target;
    region.size = sizeof(target);
    memset(target, 0, sizeof(target));
    memset(&layout, 0xff, sizeof(layout));
    names = AT_NAMES;
    put_member(0, "CodeBlob", "_size", 12, 0);
    put_member(1, "CodeBlob", "_frame_size", 28, 0);
    put_member(2, "Abstract_VM_Version", "_vm_major_version", 0, BASE + AT_VERSION);
    put_member(3, "Shop", "_frame_size", 99, 0);
    put(AT_TYPES, put_name("ConstMethod"));
    put(AT_TYPES + 24, 48);
    return 0;
}

static void members_statics_and_sizes_are_found_by_their_names(void **state)
{
    (void)state;
    assert_int_equal(hotspot_layout_take(&reader, &members, &layout), CH_OK);
    assert_int_equal(hotspot_layout_take(&reader, &types, &layout), CH_OK);
    assert_int_equal(layout.word[HOTSPOT_BLOB_FRAME], 28);
    assert_int_equal(layout.word[HOTSPOT_VERSION], BASE + AT_VERSION);
    assert_int_equal(layout.word[HOTSPOT_CONST_SIZE], 48);
}

// announced counts the places that were announced to the source.
static size_t announced;

static void announce(void *source, const uint64_t *addresses, size_t count)
{
    (void)source;
    for (size_t i = 0; i < count; i++)
        announced += addresses[i] >= BASE + AT_NAMES && addresses[i] < BASE + names;
}

static void names_are_announced_before_they_are_read(void **state)
{
    (void)state;
    announced = 0;
    reader.fetch = announce;
    assert_int_equal(hotspot_layout_take(&reader, &members, &layout), CH_OK);
    assert_int_equal(announced, 7); // of four types, and of the wanted ones' members
}

static void a_version_that_is_not_known_is_refused(void **state)
{
    (void)state;
    for (uint64_t version = 8; version < 30; version++) {
        memset(&layout, 0, sizeof(layout));
        layout.word[HOTSPOT_VERSION] = BASE + AT_VERSION;
        put(AT_VERSION, version);
        assert_int_equal(hotspot_layout_check(&reader, &layout),
                         version == 17 || version == 21 || version == 25
                             ? CH_OK
                             : CH_ERR_UNSUPPORTED);
    }
}

// check_without checks a description of a version that lacks one word.
static enum ch_status check_without(uint64_t version, size_t word)
{
    memset(&layout, 0, sizeof(layout));
    put(AT_VERSION, version);
    layout.word[HOTSPOT_VERSION] = BASE + AT_VERSION;
    layout.word[word] = UINT64_MAX;
    return hotspot_layout_check(&reader, &layout);
}

static void a_description_that_lacks_something_of_its_version_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOTSPOT_WORDS; i++) {
        bool until_21 = i < HOTSPOT_WORDS_SINCE_25;
        bool since_25 = i < HOTSPOT_WORDS_UNTIL_21 || i >= HOTSPOT_WORDS_SINCE_25;
        assert_int_equal(check_without(17, i), until_21 ? CH_ERR_UNSUPPORTED : CH_OK);
        assert_int_equal(check_without(21, i), until_21 ? CH_ERR_UNSUPPORTED : CH_OK);
        assert_int_equal(check_without(25, i), since_25 ? CH_ERR_UNSUPPORTED : CH_OK);
    }
}

static void a_member_that_was_renamed_is_found_by_either_name(void **state)
{
    (void)state;
    static const char *const fields[] = { "_flags", "_flags._flags" };
    for (size_t i = 0; i < 2; i++) {
        put_member(3, "ConstMethod", fields[i], 28 + i, 0);
        assert_int_equal(hotspot_layout_take(&reader, &members, &layout), CH_OK);
        assert_int_equal(layout.word[HOTSPOT_CONST_FLAGS], 28 + i);
    }
}

static void an_offset_that_cannot_be_is_malformed(void **state)
{
    (void)state;
    put(STRIDE + 32, HOTSPOT_OFFSET_MAX + 1);
    assert_int_equal(hotspot_layout_take(&reader, &members, &layout), CH_ERR_MALFORMED);
    struct hotspot_table wide = members;
    wide.stride = 1 << 20;
    assert_int_equal(hotspot_layout_take(&reader, &wide, &layout), CH_ERR_MALFORMED);
    wide.stride = 0;
    assert_int_equal(hotspot_layout_take(&reader, &wide, &layout), CH_ERR_MALFORMED);
}

static void a_list_that_does_not_end_is_given_up(void **state)
{
    (void)state;
    struct hotspot_table endless = types;
    uint8_t *bytes = calloc(HOTSPOT_ENTRIES_MAX + 1, 8);
    assert_non_null(bytes);
    memset(bytes, 1, 8 * ((size_t)HOTSPOT_ENTRIES_MAX + 1));
    const struct fake_region regions[] = {
        { 0x100000, bytes, 8 * ((size_t)HOTSPOT_ENTRIES_MAX + 1) },
        { UINT64_C(0x0101010101010101), "x", 2 },
    };
    struct fake_memory large = { .regions = regions, .region_count = 2 };
    const struct memory_reader from = fake_memory_reader(&large);
    endless.begin = 0x100000;
    endless.stride = 8;
    enum ch_status status = hotspot_layout_take(&from, &endless, &layout);
    free(bytes);
    assert_int_equal(status, CH_ERR_LIMIT);
}

static void a_description_that_is_cut_is_never_complete(void **state)
{
    (void)state;
    for (size_t size = 0; size < names - 16; size += 8) {
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, target, size);
        region.bytes = cut;
        region.size = size;
        enum ch_status status = hotspot_layout_take(&reader, &members, &layout);
        if (status == CH_OK)
            status = hotspot_layout_take(&reader, &types, &layout);
        free(cut);
        assert_int_equal(status, CH_ERR_FAULT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(members_statics_and_sizes_are_found_by_their_names,
                               build),
        cmocka_unit_test_setup(names_are_announced_before_they_are_read, build),
        cmocka_unit_test_setup(a_version_that_is_not_known_is_refused, build),
        cmocka_unit_test_setup(
            a_description_that_lacks_something_of_its_version_is_refused, build),
        cmocka_unit_test_setup(a_member_that_was_renamed_is_found_by_either_name,
                               build),
        cmocka_unit_test_setup(an_offset_that_cannot_be_is_malformed, build),
        cmocka_unit_test_setup(a_list_that_does_not_end_is_given_up, build),
        cmocka_unit_test_setup(a_description_that_is_cut_is_never_complete, build),
    };
    return cmocka_run_group_tests_name("agent/hotspot_layout", tests, NULL, NULL);
}
